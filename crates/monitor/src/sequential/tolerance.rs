//! What a stream may do without that counting as a change.

use serde::{Deserialize, Serialize};
use taste_stats::normal;

use super::normaliser::Binned;
use crate::Error;

/// What is tolerated: the null hypothesis is that a score beyond x is at most g(P(calibration score beyond x)) likely, given
/// the past, for a concave g. The kinds are composed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// The share of samples that may be anything: g(u) = ε + (1 − ε)u.
    pub junk: f64,
    /// How optimistic the calibration is: g(u) = u^θ, from 0 to 1; 1 is not at all.
    pub optimism: f64,
    /// The shift in standard deviations that does not matter: g(u) = Φ(Φ⁻¹(u) + m).
    pub least_effect: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { junk: 0.0, optimism: 1.0, least_effect: 0.0 }
    }
}

impl Tolerance {
    /// Whether nothing is tolerated.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Fails where a value is out of its range.
    pub fn check(&self) -> Result<(), Error> {
        let setting = |name, wanted, found| Err(Error::Setting { name, wanted, found });
        match *self {
            Self { junk, .. } if !(0.0..1.0).contains(&junk) => {
                setting("share that may be anything", "at least 0 and below 1", junk)
            }
            Self { optimism, .. } if !(optimism > 0.0 && optimism <= 1.0) => {
                setting("optimism of the calibration", "above 0 and at most 1", optimism)
            }
            Self { least_effect, .. } if !(0.0..=10.0).contains(&least_effect) => {
                setting("least effect", "from 0 to 10 standard deviations", least_effect)
            }
            _ => Ok(()),
        }
    }

    /// g and its slope at a share strictly between 0 and 1.
    fn at(&self, share: f64) -> (f64, f64) {
        let (mut value, mut slope) = (share, 1.0);
        if self.least_effect > 0.0 {
            let (m, z) = (self.least_effect, normal::quantile(value));
            slope *= libm::exp(-m * z - 0.5 * m * m);
            value = normal::cdf(z + m);
        }
        if self.optimism < 1.0 {
            slope *= self.optimism * libm::pow(value, self.optimism - 1.0);
            value = libm::pow(value, self.optimism);
        }
        (self.junk + (1.0 - self.junk) * value, slope * (1.0 - self.junk))
    }

    /// The largest mean, over all that is tolerated, of a bet that falls with the rank, as the mean of another bet without
    /// tolerance: Σ b P(R) ≤ Σ b̃ S, with the tangents of g at the edges of the bins.
    pub(super) fn worst(&self, bet: Binned<'_>) -> Vec<f64> {
        let Some(&last) = bet.values.last() else { return Vec::new() };
        let all: f64 = bet.widths.iter().sum();
        // The bet is a sum of steps: `last` for every rank, and a step down behind each bin.
        let mut edge = 0.0;
        let steps: Vec<(f64, f64)> = bet
            .values
            .windows(2)
            .zip(bet.widths)
            .map(|(pair, width)| {
                edge += width;
                let share = edge / all;
                let (down, (value, slope)) = (pair[0] - pair[1], self.at(share));
                (down * (value - slope * share), down * slope)
            })
            .collect();
        let level = last + steps.iter().map(|s| s.0).sum::<f64>();
        let mut above = 0.0;
        let mut worst: Vec<f64> = std::iter::once(level)
            .chain(steps.iter().rev().map(|step| {
                above += step.1;
                level + above
            }))
            .collect();
        worst.reverse();
        worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_nothing_tolerated_is_the_bet_itself() {
        let (values, widths) = ([4.0, 2.0, 1.0, 0.5], [5.0, 10.0, 50.0, 36.0]);
        let bet = Binned { values: &values, widths: &widths };
        for (found, expected) in Tolerance::default().worst(bet).iter().zip(values) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn tangents_lie_on_the_curve_and_above_it() {
        let kinds = [
            Tolerance { junk: 0.02, ..Tolerance::default() },
            Tolerance { optimism: 0.8, ..Tolerance::default() },
            Tolerance { least_effect: 0.25, ..Tolerance::default() },
            Tolerance { junk: 0.01, optimism: 0.9, least_effect: 0.1 },
        ];
        for tolerance in kinds {
            for at in [0.001, 0.1, 0.5, 0.9] {
                let (value, slope) = tolerance.at(at);
                let step = 1e-6 * at;
                let (low, high) = (tolerance.at(at - step).0, tolerance.at(at + step).0);
                assert!(
                    ((high - low) / (2.0 * step) / slope - 1.0).abs() < 1e-5,
                    "{tolerance:?} {at}"
                );
                for other in [0.0005, 0.05, 0.3, 0.7, 0.99] {
                    let tangent = value + slope * (other - at);
                    assert!(tolerance.at(other).0 <= tangent + 1e-12, "{tolerance:?} {at} {other}");
                }
            }
        }
    }
}
