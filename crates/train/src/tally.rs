//! How often a classifier is right.

use serde::{Deserialize, Serialize};

/// How a classifier does on the samples of one class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassAccuracy {
    /// The class, counted from 0.
    pub class: usize,
    /// How many samples of it there were.
    pub samples: usize,
    /// The share of them that it is right about; nothing where there were none.
    pub accuracy: Option<f64>,
}

/// Samples that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    classes: Vec<Count>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    samples: usize,
    right: usize,
}

impl Count {
    fn accuracy(self) -> Option<f64> {
        (self.samples > 0).then(|| self.right as f64 / self.samples as f64)
    }
}

impl Tally {
    /// Notes a sample of a class, and the logits of all classes that it has.
    pub(crate) fn note(&mut self, class: usize, logits: impl ExactSizeIterator<Item = f64>) {
        let classes = self.classes.len().max(logits.len()).max(class + 1);
        self.classes.resize(classes, Count::default());
        let best = logits.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let count = &mut self.classes[class];
        count.samples += 1;
        count.right += usize::from(best.is_some_and(|(at, _)| at == class));
    }

    /// How many samples there were.
    pub(crate) fn samples(&self) -> usize {
        self.classes.iter().map(|c| c.samples).sum()
    }

    /// The share of right ones, if there are any samples.
    pub(crate) fn accuracy(&self) -> Option<f64> {
        let right = self.classes.iter().map(|c| c.right).sum();
        Count { samples: self.samples(), right }.accuracy()
    }

    /// The accuracy of every class.
    pub(crate) fn by_class(&self) -> Vec<ClassAccuracy> {
        let of = |(class, count): (usize, &Count)| ClassAccuracy {
            class,
            samples: count.samples,
            accuracy: count.accuracy(),
        };
        self.classes.iter().enumerate().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted_apart() {
        let mut tally = Tally::default();
        assert_eq!((tally.accuracy(), tally.by_class()), (None, vec![]));
        for (class, logits) in [
            (0, [2.0, 1.0, 0.0]),
            (0, [0.0, 3.0, 1.0]),
            (0, [5.0, 3.0, 1.0]),
            (2, [0.0, -1.0, 1.0]),
        ] {
            tally.note(class, logits.into_iter());
        }
        assert_eq!((tally.samples(), tally.accuracy()), (4, Some(0.75)));
        let found: Vec<_> = tally.by_class().iter().map(|c| (c.samples, c.accuracy)).collect();
        assert_eq!(found, [(3, Some(2.0 / 3.0)), (0, None), (1, Some(1.0))]);
    }
}
