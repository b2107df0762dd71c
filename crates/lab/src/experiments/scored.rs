//! Scores of a method on clean images and on all sets, and what follows from them.

use taste_detector::Detector;
use taste_stats::{
    random::Random,
    rank::{Convention, Ranked, auroc, spearman},
};
use taste_zoo::{benchmark::Judged, evaluation::group_of};

use super::numbers::average;
use crate::{Error, error::refused};

/// Groups of sets by their marks, and what pages call them.
pub(super) const GROUPS: [(&str, &str); 4] =
    [("A", "adversarial"), ("C", "CIFAR-10-C"), ("P", "CIFAR-10-P"), ("O", "other data")];

/// What a method says of clean images and of sets.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    pub(super) method: String,
    pub(super) clean: One,
    pub(super) sets: Vec<One>,
    /// Scores of the calibration images, of which none is in any set.
    pub(super) calibration: Vec<f64>,
    pub(super) seconds_per_sample: f64,
}

/// Scores of a set.
#[derive(Clone, Debug)]
pub(super) struct One {
    pub(super) name: String,
    pub(super) scores: Vec<f64>,
    pub(super) flagged: f64,
    /// Whether the network is wrong about each image, where labels are known.
    pub(super) wrong: Option<Vec<bool>>,
}

impl One {
    pub(super) fn group(&self) -> &str {
        group_of(&self.name).unwrap_or("")
    }

    pub(super) fn accuracy(&self) -> Option<f64> {
        let wrong = self.wrong.as_ref()?;
        Some(1.0 - wrong.iter().filter(|w| **w).count() as f64 / wrong.len().max(1) as f64)
    }
}

/// Which scores are far out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Large ones, on all sets.
    Fixed,
    /// The paper's own: both tails of the clean test images on attacks, large ones on all other sets.
    Paper,
}

impl Scored {
    pub(super) fn of(name: &str, judged: &Judged) -> Result<Self, Error> {
        let one = |set: &taste_zoo::evaluation::Gathered| {
            let column = &set.scores[0];
            let flags = column.flags.as_deref().unwrap_or_default();
            let flagged = flags.iter().filter(|f| **f).count() as f64 / flags.len().max(1) as f64;
            One {
                name: set.name.clone(),
                scores: column.values.clone(),
                flagged,
                wrong: set.errors.as_ref().map(|e| e.iter().map(|e| *e > 0.5).collect()),
            }
        };
        let mut all = judged.gathered.iter().map(one);
        let clean = all.next().ok_or_else(|| refused("no clean images were scored"))?;
        let sets = all.collect();
        let calibration = match &judged.detector {
            Some(path) => {
                Detector::open(path)?.calibration().iter().map(|s| f64::from(*s)).collect()
            }
            None => Vec::new(),
        };
        let seconds_per_sample = judged.seconds_per_sample;
        Ok(Self { method: name.to_owned(), clean, sets, calibration, seconds_per_sample })
    }

    pub(super) fn auroc(&self, set: &One, rule: Rule) -> f64 {
        let (clean, shifted) = self.under(set, rule);
        auroc(&clean, &shifted).unwrap_or(f64::NAN)
    }

    /// FPR95 with clean images positive (as the paper has it), and with shifted ones positive.
    pub(super) fn fpr95(&self, set: &One, rule: Rule) -> [f64; 2] {
        let (clean, shifted) = self.under(set, rule);
        let ranked = Ranked::new(&clean, &shifted);
        [Convention::InsidePositive, Convention::OutsidePositive]
            .map(|c| ranked.false_positive_rate(0.95, c).unwrap_or(f64::NAN))
    }

    fn under(&self, set: &One, rule: Rule) -> (Vec<f64>, Vec<f64>) {
        let (clean, shifted) = (self.clean.scores.clone(), set.scores.clone());
        if rule == Rule::Fixed || set.group() != "A" {
            return (clean, shifted);
        }
        let mut sorted = clean.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let both = |score: &f64| {
            let below = sorted.partition_point(|s| s < score);
            let not_above = sorted.partition_point(|s| s <= score);
            (((below + not_above) as f64 / 2.0) / count - 0.5).abs()
        };
        (clean.iter().map(both).collect(), shifted.iter().map(both).collect())
    }

    /// Sets of a group, or all.
    pub(super) fn in_group(&self, mark: Option<&str>) -> impl Iterator<Item = &One> {
        self.sets.iter().filter(move |set| mark.is_none_or(|mark| set.group() == mark))
    }

    /// The plain mean over sets.
    pub(super) fn mean(&self, mark: Option<&str>, of: impl Fn(&One) -> f64) -> f64 {
        average(&self.in_group(mark).map(of).collect::<Vec<_>>())
    }

    pub(super) fn mean_auroc(&self, mark: Option<&str>, rule: Rule) -> f64 {
        self.mean(mark, |set| self.auroc(set, rule))
    }

    /// AUROC for "the network is wrong here", over all labelled images of some groups.
    pub(super) fn failures(&self, marks: &[&str]) -> Option<f64> {
        let (mut scores, mut wrong) = (Vec::new(), Vec::new());
        for set in self.sets.iter().filter(|set| marks.contains(&set.group())) {
            if let Some(own) = &set.wrong {
                scores.extend(&set.scores);
                wrong.extend(own);
            }
        }
        Ranked::of(&scores, &wrong).auroc()
    }

    /// Accuracy lost and AUROC, by labelled set.
    pub(super) fn harm(&self) -> Vec<(f64, f64)> {
        let clean = self.clean.accuracy().unwrap_or(f64::NAN);
        let pair = |set: &One| Some((clean - set.accuracy()?, self.auroc(set, Rule::Fixed)));
        self.sets.iter().filter_map(pair).collect()
    }

    /// The rank correlation of AUROC with accuracy lost.
    pub(super) fn awareness(&self) -> Option<f64> {
        let (loss, area): (Vec<f64>, Vec<f64>) = self.harm().into_iter().unzip();
        spearman(&loss, &area)
    }
}

/// The difference of mean AUROC between two methods over the sets of a group, with its interval at 95 % by drawing images
/// again: the same ones for both methods, and for clean images and all sets that are made of them.
pub(super) fn paired(
    a: &Scored,
    b: &Scored,
    mark: Option<&str>,
    draws: usize,
    seed: u64,
) -> [f64; 3] {
    let difference = |clean: &[usize], others: &dyn Fn(&One) -> Vec<usize>| {
        let mean = |of: &Scored| {
            let pick =
                |scores: &[f64], at: &[usize]| at.iter().map(|i| scores[*i]).collect::<Vec<_>>();
            let inside = pick(&of.clean.scores, clean);
            of.mean(mark, |set| {
                auroc(&inside, &pick(&set.scores, &others(set))).unwrap_or(f64::NAN)
            })
        };
        mean(a) - mean(b)
    };
    let all: Vec<usize> = (0..a.clean.scores.len()).collect();
    let estimate = difference(&all, &|set| (0..set.scores.len()).collect());
    let mut found: Vec<f64> = (0..draws as u64)
        .map(|number| {
            let mut random = Random::stream(seed, number);
            let clean: Vec<usize> = all.iter().map(|_| random.below(all.len())).collect();
            difference(&clean, &|set| {
                // Sets of other data have images of their own.
                if set.wrong.is_some() && set.scores.len() == clean.len() {
                    return clean.clone();
                }
                let mut own = Random::stream(seed ^ 0x5eed, number);
                (0..set.scores.len()).map(|_| own.below(set.scores.len())).collect()
            })
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    let end = |share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let place = (share * (found.len().max(1) - 1) as f64).round() as usize;
        found.get(place).copied().unwrap_or(f64::NAN)
    };
    [estimate, end(0.025), end(0.975)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, scores: Vec<f64>) -> One {
        let wrong = Some(scores.iter().map(|s| *s > 1.0).collect());
        One { name: name.to_owned(), scores, flagged: 0.0, wrong }
    }

    fn drawn(shift: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..200).map(|_| shift + random.normal()).collect()
    }

    fn scored(name: &str, shift: f64) -> Scored {
        Scored {
            method: name.to_owned(),
            clean: one("clean", drawn(0.0, 1)),
            sets: vec![one("A/far", drawn(shift, 2)), one("O/other", drawn(shift, 3))],
            calibration: Vec::new(),
            seconds_per_sample: 0.0,
        }
    }

    #[test]
    fn the_papers_rule_sees_both_tails_of_attacks_and_one_of_the_rest() {
        let low = scored("low", -3.0);
        assert!(low.auroc(&low.sets[0], Rule::Fixed) < 0.1);
        assert!(low.auroc(&low.sets[0], Rule::Paper) > 0.9);
        assert!(low.auroc(&low.sets[1], Rule::Paper) < 0.1);
    }

    #[test]
    fn paired_draws_tell_a_better_method_and_see_no_difference_to_itself() {
        let (good, poor) = (scored("good", 2.0), scored("poor", 0.3));
        let [estimate, low, high] = paired(&good, &poor, None, 99, 0);
        assert!(low > 0.1 && low < estimate && estimate < high, "{low} {estimate} {high}");
        assert!(paired(&good, &good, Some("A"), 19, 0).iter().all(|d| d.abs() < 1e-12));
    }
}
