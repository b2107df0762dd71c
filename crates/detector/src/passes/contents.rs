//! Whether two data sets hold the same samples, without keeping any: the smallest hashes of what they hold.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use taste_stats::random::mix;

/// Hashes that are kept.
const KEPT: usize = 1024;

/// The smallest hashes of the samples of a data set: a uniform draw of what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contents {
    smallest: BTreeSet<u64>,
    samples: u64,
}

impl Contents {
    pub(super) fn add<'a>(&mut self, sample: impl Iterator<Item = &'a f32>) {
        let hash = sample.fold(0u64, |sum, v| mix(sum ^ u64::from(v.to_bits())));
        self.smallest.insert(hash);
        self.samples += 1;
        self.cut();
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.smallest.extend(other.smallest);
        self.samples += other.samples;
        self.cut();
    }

    fn cut(&mut self) {
        while self.smallest.len() > KEPT {
            self.smallest.pop_last();
        }
    }

    /// Up to where all hashes are known.
    fn end(&self) -> u64 {
        let last = self.smallest.last().filter(|_| self.smallest.len() >= KEPT);
        last.copied().unwrap_or(u64::MAX)
    }

    /// Whether few samples repeat. Where many do, as in tables of a few categories, equal ones say nothing.
    pub(crate) fn is_mostly_distinct(&self) -> bool {
        let known = (self.end() as f64 + 1.0) / (u64::MAX as f64 + 1.0);
        self.smallest.len() as f64 / known > 0.8 * self.samples as f64
    }

    /// The share of this set's distinct samples that another has as well; none without samples.
    pub(crate) fn share_in(&self, other: &Self) -> Option<f64> {
        let end = self.end().min(other.end());
        let own: Vec<&u64> = self.smallest.range(..=end).collect();
        let common = own.iter().filter(|h| other.smallest.contains(h)).count();
        (!own.is_empty()).then(|| common as f64 / own.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl Iterator<Item = u32>) -> Contents {
        let mut contents = Contents::default();
        samples.for_each(|s| contents.add([s as f32, 1.0].iter()));
        contents
    }

    #[test]
    fn shares_are_those_of_the_samples_however_the_data_were_cut() {
        let large = of(0..50_000);
        assert_eq!(of(0..100).share_in(&of(0..100)), Some(1.0));
        assert_eq!(of(100_000..100_500).share_in(&large), Some(0.0));
        let half = of(40_000..60_000).share_in(&large).expect("samples");
        assert!((half - 0.5).abs() < 0.1, "{half}");
        let mut parts = of(25_000..50_000);
        parts.merge(of(0..25_000));
        assert_eq!(parts, large);
        assert_eq!(Contents::default().share_in(&large), None);
        assert!(large.is_mostly_distinct() && !of((0..500).map(|i| i % 16)).is_mostly_distinct());
    }
}
