//! What came of an attack on many samples.

use serde::{Deserialize, Serialize};

use super::task::Seen;

/// Counts over samples, and what was noticed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How many samples.
    pub samples: usize,
    /// How many the model was right about before.
    pub right_before: usize,
    /// How many it is right about after.
    pub right_after: usize,
    /// Of an attack in parts, how many the model was right about after each part.
    pub stages: Vec<(String, usize)>,
    /// How far every sample was moved that the model was right about before and is wrong about after.
    pub misled: Vec<f32>,
    /// The largest change of any sample.
    pub farthest: f64,
    /// How many gradients were zero where an attack started.
    pub flat: usize,
    /// Whether every output looked like probabilities, where no softmax was seen.
    pub looks_like_probabilities: bool,
}

impl Outcome {
    /// How many samples the model was right about before and is wrong about after.
    pub fn misled(&self) -> usize {
        self.misled.len()
    }

    /// The share of samples that the model is right about, before and after.
    pub fn accuracies(&self) -> (f64, f64) {
        let share = |count: usize| count as f64 / self.samples.max(1) as f64;
        (share(self.right_before), share(self.right_after))
    }

    /// The median change of samples that were misled.
    pub fn median(&self) -> Option<f64> {
        let mut lengths: Vec<f64> = self.misled.iter().map(|v| f64::from(*v)).collect();
        lengths.sort_by(f64::total_cmp);
        let middle = lengths.len() / 2;
        match lengths.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(lengths[middle]),
            _ => Some(0.5 * (lengths[middle - 1] + lengths[middle])),
        }
    }

    /// What a user should know before they rely on it, in sentences.
    pub fn warnings(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.flat > 0 {
            found.push(format!(
                "{} gradient{} of the loss {} zero where an attack started: gradients that vanish make a model look more \
                 robust than it is; the attack square needs none",
                self.flat,
                if self.flat == 1 { "" } else { "s" },
                if self.flat == 1 { "was" } else { "were" },
            ));
        }
        if self.looks_like_probabilities {
            found.push(
                "the outputs look like probabilities, and losses are made for logits: name the output that holds logits, or \
                 results may look more robust than the model is"
                    .to_owned(),
            );
        }
        let last_two = self.stages.iter().rev().take(2).collect::<Vec<_>>();
        if let [(last, after), (_, before)] = last_two[..]
            && last == "square"
            && *before > *after
            && (before - after) as f64 > 0.002 * self.samples as f64
        {
            found.push(format!(
                "square misled {} samples that attacks with gradients did not: gradients may be masked",
                before - after
            ));
        }
        found
    }

    /// Adds what came of other samples.
    pub(super) fn add(&mut self, other: Self) {
        let first = self.samples == 0;
        self.looks_like_probabilities =
            other.looks_like_probabilities && (first || self.looks_like_probabilities);
        self.samples += other.samples;
        self.right_before += other.right_before;
        self.right_after += other.right_after;
        self.flat += other.flat;
        self.farthest = self.farthest.max(other.farthest);
        self.misled.extend(other.misled);
        if first {
            self.stages = other.stages;
        } else {
            for (own, more) in self.stages.iter_mut().zip(other.stages) {
                own.1 += more.1;
            }
        }
    }

    pub(super) fn note(&mut self, seen: Seen) {
        self.flat = seen.flat;
        self.stages = seen.stages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_add_up() {
        let stages = |a, b| vec![("apgd-ce".to_owned(), a), ("square".to_owned(), b)];
        let one = Outcome {
            samples: 4,
            right_before: 3,
            right_after: 1,
            stages: stages(2, 1),
            misled: vec![1.0, 3.0],
            farthest: 3.0,
            flat: 0,
            looks_like_probabilities: true,
        };
        let mut all = Outcome::default();
        assert_eq!(all.median(), None);
        all.add(one.clone());
        assert_eq!(all, one);
        let more = Outcome { misled: vec![8.0], looks_like_probabilities: false, flat: 2, ..one };
        all.add(more);
        assert_eq!((all.samples, all.right_before, all.right_after), (8, 6, 2));
        assert_eq!(all.stages, stages(4, 2));
        assert_eq!((all.median(), all.misled()), (Some(3.0), 3));
        assert_eq!(all.accuracies(), (0.75, 0.25));
        assert!(!all.looks_like_probabilities);
        let warnings = all.warnings();
        assert!(warnings[0].starts_with("2 gradients of the loss were zero"), "{warnings:?}");
        assert!(warnings[1].starts_with("square misled 2 samples"), "{warnings:?}");
    }
}
