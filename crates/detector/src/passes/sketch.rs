//! Whether two data sets hold the same samples, without keeping any: the smallest hashes of what they hold.

use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use taste_stats::random::mix;

use crate::Error;

/// Calibration data of which at least this share are training samples are refused.
const MOST_IN_TRAINING: f64 = 0.5;

/// Hashes that are kept.
const KEPT: usize = 1024;

/// The smallest hashes of the samples of a data set: a uniform draw of what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sketch {
    smallest: BTreeSet<u64>,
    samples: u64,
}

impl Sketch {
    pub(crate) fn add<'a>(&mut self, sample: impl Iterator<Item = &'a f32>) {
        let hash = sample.fold(0u64, |sum, v| mix(sum ^ u64::from(v.to_bits())));
        self.smallest.insert(hash);
        self.samples += 1;
        self.cut();
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.smallest.extend(&other.smallest);
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
    fn is_mostly_distinct(&self) -> bool {
        let known = (self.end() as f64 + 1.0) / (u64::MAX as f64 + 1.0);
        self.smallest.len() as f64 / known > 0.8 * self.samples as f64
    }

    /// The share of this set's distinct samples that another has as well; none without samples.
    fn share_in(&self, other: &Self) -> Option<f64> {
        let end = self.end().min(other.end());
        let own: Vec<&u64> = self.smallest.range(..=end).collect();
        let common = own.iter().filter(|h| other.smallest.contains(h)).count();
        (!own.is_empty()).then(|| common as f64 / own.len() as f64)
    }

    /// The share of these calibration samples that are training samples as well; an error if that is most of them. Zero
    /// where samples repeat.
    pub(crate) fn apart_from(&self, training: &Self, name: &str) -> Result<f64, Error> {
        let is_telling = self.is_mostly_distinct() && training.is_mostly_distinct();
        let share = self.share_in(training).filter(|_| is_telling).unwrap_or(0.0);
        if share < MOST_IN_TRAINING {
            return Ok(share);
        }
        Err(Error::InTraining { data: name.to_owned(), share })
    }

    /// As text.
    pub(crate) fn pack(&self) -> String {
        let bytes: Vec<u8> = self.smallest.iter().flat_map(|h| h.to_le_bytes()).collect();
        format!("{}:{}", self.samples, BASE64_STANDARD.encode(bytes))
    }

    /// From [`Self::pack`].
    pub(crate) fn unpack(text: &str) -> Option<Self> {
        let (samples, data) = text.split_once(':')?;
        let bytes = BASE64_STANDARD.decode(data).ok()?;
        let (words, rest) = bytes.as_chunks::<8>();
        let smallest = words.iter().map(|w| u64::from_le_bytes(*w)).collect();
        rest.is_empty().then_some(Self { smallest, samples: samples.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl Iterator<Item = u32>) -> Sketch {
        let mut sketch = Sketch::default();
        samples.for_each(|s| sketch.add([s as f32, 1.0].iter()));
        sketch
    }

    #[test]
    fn shares_are_those_of_the_samples_however_the_data_were_cut() {
        let large = of(0..50_000);
        assert_eq!(of(0..100).share_in(&of(0..100)), Some(1.0));
        assert_eq!(of(100_000..100_500).share_in(&large), Some(0.0));
        let half = of(40_000..60_000).share_in(&large).expect("samples");
        assert!((half - 0.5).abs() < 0.1, "{half}");
        let mut parts = of(25_000..50_000);
        parts.merge(&of(0..25_000));
        assert_eq!(parts, large);
        assert_eq!(Sketch::default().share_in(&large), None);
        assert_eq!(Sketch::unpack(&large.pack()), Some(large.clone()));
        assert!(large.is_mostly_distinct() && !of((0..500).map(|i| i % 16)).is_mostly_distinct());
    }
}
