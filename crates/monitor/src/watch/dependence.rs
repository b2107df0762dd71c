//! Whether neighbours depend on each other: then nothing is guaranteed.

use serde::{Deserialize, Serialize};

/// Samples that correlation is measured within, so that a change of the level between blocks is none.
const BLOCK: usize = 256;
/// A correlation of neighbours that is worth a warning.
const WARNED: f64 = 0.1;
/// One from which on nothing is called guaranteed.
const BROKEN: f64 = 0.2;

/// The correlation of each sample's rank with the one before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Dependence {
    block: Vec<f64>,
    products: f64,
    squares: f64,
    samples: u64,
}

/// How much neighbours depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// Of a rank with the one before.
    pub value: f64,
    /// Its standard error if samples are independent.
    pub error: f64,
    /// What follows.
    pub verdict: Independence,
}

/// What a correlation of neighbours says of the guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Independence {
    /// Nothing speaks against it.
    Fine,
    /// Neighbours are alike: alarms come sooner than promised.
    Doubtful,
    /// They are so much alike that nothing is guaranteed.
    Broken,
}

impl Dependence {
    /// Takes the next rank as a share of all.
    pub(crate) fn push(&mut self, share: f64) {
        self.block.push(share);
        if self.block.len() < BLOCK {
            return;
        }
        let mean = self.block.iter().sum::<f64>() / BLOCK as f64;
        let squares: f64 = self.block.iter().map(|x| (x - mean) * (x - mean)).sum();
        let products: f64 = self.block.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
        // The mean of the block itself takes 1/n off the correlation.
        self.products += products + squares / BLOCK as f64;
        self.squares += squares;
        self.samples += BLOCK as u64;
        self.block.clear();
    }

    pub(crate) fn correlation(&self) -> Option<Correlation> {
        if self.samples == 0 {
            return None;
        }
        let value = if self.squares > 0.0 { self.products / self.squares } else { 0.0 };
        let error = 1.0 / (self.samples as f64).sqrt();
        let beyond_doubt = value > 2.0 * error;
        let verdict = match value {
            v if v > BROKEN && beyond_doubt => Independence::Broken,
            v if v > WARNED && beyond_doubt => Independence::Doubtful,
            _ => Independence::Fine,
        };
        Some(Correlation { value, error, verdict })
    }
}

#[cfg(test)]
mod tests {
    use taste_stats::{normal, random::Random};

    use super::*;

    #[test]
    fn neighbours_that_follow_each_other_are_found_and_a_change_of_level_is_not_one() {
        for (follows, jump, expected) in [
            (0.0, 0.0, Independence::Fine),
            (0.0, 1.5, Independence::Fine),
            (0.2, 0.0, Independence::Doubtful),
            (0.6, 0.0, Independence::Broken),
        ] {
            let (mut random, mut last) = (Random::new(3), 0.0f64);
            let mut dependence = Dependence::default();
            for t in 0..4096 {
                last = follows * last + (1.0 - follows * follows).sqrt() * random.normal();
                dependence.push(normal::cdf(last + if t < 2048 { 0.0 } else { jump }));
            }
            let found = dependence.correlation().expect("enough samples");
            assert_eq!(found.verdict, expected, "{follows} {jump}: {found:?}");
        }
    }
}
