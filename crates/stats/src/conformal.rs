//! Split-conformal decisions: how a score ranks among those of data held out for calibration.
//!
//! Larger scores are further out. If a new sample is exchangeable with the calibration samples, its p-value is
//! at most α with a chance of at most α, whatever the distribution of scores. A score of NaN counts as +∞, on either
//! side, which keeps that so.

use std::{fmt, str::FromStr};

use super::{bisect, nan_is_far, quantile::Quantile, within_unit};
use crate::{Error, error::refused};

/// How the threshold follows from α.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The ⌈(n + 1)(1 − α)⌉-th smallest score: scores above it are those with a p-value of at most α.
    #[default]
    Conformal,
    /// The plain quantile at 1 − α, linear between scores, as in the paper on the method: for the usual α it flags a
    /// little more than α of new samples.
    Quantile,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "conformal" => Ok(Self::Conformal),
            "quantile" => Ok(Self::Quantile),
            _ => Err(format!("no rule {text:?}; there are conformal and quantile")),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conformal => "conformal",
            Self::Quantile => "quantile",
        })
    }
}

/// The scores of calibration samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    ascending: Vec<f64>,
}

impl Calibration {
    /// From scores in any order.
    pub fn new(scores: impl IntoIterator<Item = f64>) -> Self {
        let mut ascending: Vec<f64> = scores.into_iter().map(nan_is_far).collect();
        ascending.sort_unstable_by(f64::total_cmp);
        Self { ascending }
    }

    /// The scores from the smallest on, NaN replaced by +∞.
    pub fn scores(&self) -> &[f64] {
        &self.ascending
    }

    /// (1 + the number of calibration scores at or above this one) / (n + 1).
    pub fn p_value(&self, score: f64) -> f64 {
        let score = nan_is_far(score);
        let below = self.ascending.partition_point(|&s| s < score);
        share(1 + self.ascending.len() - below, self.ascending.len())
    }

    /// The score above which samples are flagged: always finite, or −∞.
    pub fn threshold(&self, alpha: f64, rule: Rule) -> Result<f64, Error> {
        within_unit("alpha", alpha)?;
        let n = self.ascending.len();
        let needed = match rule {
            Rule::Conformal => samples_needed(alpha),
            Rule::Quantile => 1,
        };
        if (n as u64) < needed {
            return Err(refused(format!(
                "alpha {alpha} needs at least {needed} calibration samples, but there are {n}"
            )));
        }
        let threshold = match rule {
            // Ranks are compared as p-values are, so that the two decisions agree to the last bit.
            Rule::Conformal => {
                let flagged = (1..=n).take_while(|&rank| share(rank, n) <= alpha).count();
                self.ascending[n - flagged]
            }
            Rule::Quantile => {
                Quantile::Linear.of_sorted(&self.ascending, 1.0 - alpha).unwrap_or(f64::INFINITY)
            }
        };
        if threshold < f64::INFINITY {
            return Ok(threshold);
        }
        let infinite = n - self.ascending.partition_point(|&s| s < f64::INFINITY);
        Err(refused(format!(
            "{infinite} of {n} calibration scores are NaN or infinite, too many for a threshold at \
             alpha {alpha}"
        )))
    }
}

fn share(rank: usize, n: usize) -> f64 {
    rank as f64 / (n as f64 + 1.0)
}

/// How many calibration samples the conformal rule needs: ⌈1/α⌉ − 1.
pub fn samples_needed(alpha: f64) -> u64 {
    bisect::first(u64::MAX, |n| 1.0 / (n as f64 + 1.0) <= alpha)
}

/// Whether a score lies above the threshold; NaN does.
pub fn flag(score: f64, threshold: f64) -> bool {
    nan_is_far(score) > threshold
}

/// The largest entry of a map, +∞ if one is NaN, −∞ if there are none.
pub fn largest(entries: impl IntoIterator<Item = f64>) -> f64 {
    entries.into_iter().map(nan_is_far).fold(f64::NEG_INFINITY, f64::max)
}

/// Calibration by the largest entry of every map. Under its threshold, the chance that *any* entry of a new map is
/// flagged is at most α.
pub fn max_calibrated<M: IntoIterator<Item = f64>>(
    maps: impl IntoIterator<Item = M>,
) -> Calibration {
    Calibration::new(maps.into_iter().map(largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{binomial, random::Random};

    /// Every sequence of `length` of the given scores.
    fn sequences(scores: &[f64], length: usize) -> Vec<Vec<f64>> {
        (0..length).fold(vec![vec![]], |shorter, _| {
            let longer = |s: &Vec<f64>| scores.iter().map(|&v| [&s[..], &[v]].concat()).collect();
            shorter.iter().flat_map::<Vec<Vec<f64>>, _>(longer).collect()
        })
    }

    #[test]
    fn a_score_is_flagged_just_if_its_p_value_is_at_most_alpha() {
        let values = [f64::NEG_INFINITY, -1.0, 0.0, 2.0, f64::INFINITY, f64::NAN];
        let news = [-2.0, -1.0, -0.5, -0.0, 0.0, 1.0, 2.0, 3.0].into_iter().chain(values);
        let news: Vec<f64> = news.collect();
        let mut compared = 0;
        for n in 0..=5 {
            for scores in sequences(&values, n) {
                let calibration = Calibration::new(scores.iter().copied());
                for alpha in (1..=119).map(|i| f64::from(i) / 120.0).chain([0.1, 0.05, 0.3, 0.7]) {
                    let Ok(threshold) = calibration.threshold(alpha, Rule::Conformal) else {
                        continue;
                    };
                    for &new in &news {
                        let p = calibration.p_value(new);
                        assert_eq!(flag(new, threshold), p <= alpha, "{scores:?} {alpha} {new}");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 1_000_000);
    }

    #[test]
    fn thresholds_are_the_ranks_that_the_formula_names() {
        for n in 1u32..=400 {
            let calibration = Calibration::new((1..=n).map(f64::from));
            for percent in 1u32..100 {
                // ⌈(n + 1)(1 − α)⌉ in whole numbers.
                let rank = ((n + 1) * (100 - percent)).div_ceil(100);
                let found = calibration.threshold(f64::from(percent) / 100.0, Rule::Conformal);
                match found {
                    Ok(threshold) => {
                        assert_eq!(Some(threshold), Some(f64::from(rank)), "{n} {percent}");
                    }
                    Err(_) => assert!(rank > n, "{n} {percent}"),
                }
            }
        }
    }

    #[test]
    fn p_values_count_ties_and_nan_as_further_out() {
        let calibration = Calibration::new([1.0, 3.0, f64::NAN, 2.0, 2.0]);
        let p = |score| calibration.p_value(score) * 6.0;
        let found = [p(0.0), p(2.0), p(2.5), p(4.0), p(f64::NAN)].map(f64::round);
        assert_eq!(found.to_vec(), [6.0, 5.0, 3.0, 2.0, 2.0]);
        assert_eq!(Some(Calibration::new([]).p_value(1.0)), Some(1.0));
    }

    #[test]
    fn errors_say_what_is_needed() {
        let few = Calibration::new((0..18).map(f64::from));
        let message = few.threshold(0.05, Rule::Conformal).expect_err("too few").to_string();
        assert!(message.contains("at least 19") && message.contains("are 18"), "{message}");
        assert_eq!([0.05, 0.1, 0.3, 0.01].map(samples_needed), [19, 9, 3, 99]);
        assert_eq!(few.threshold(0.5, Rule::Quantile).ok(), Some(8.5));
        assert!(Calibration::new([]).threshold(0.5, Rule::Quantile).is_err());
        for alpha in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(few.threshold(alpha, Rule::Conformal).is_err());
        }
        let broken = Calibration::new((0..30).map(|i| if i < 3 { f64::NAN } else { 1.0 }));
        let message = broken.threshold(0.05, Rule::Conformal).expect_err("infinite").to_string();
        assert!(message.starts_with("3 of 30"), "{message}");
    }

    #[test]
    fn false_alarms_are_as_rare_as_alpha_says() {
        // Over calibration and test data together, a flag has the chance ⌊α(n + 1)⌋/(n + 1).
        let (trials, n, alpha) = (20_000, 24, 0.1);
        let mut random = Random::new(11);
        let mut flagged = 0;
        for _ in 0..trials {
            let calibration = Calibration::new((0..n).map(|_| random.normal()));
            let threshold = calibration.threshold(alpha, Rule::Conformal).expect("enough");
            flagged += u64::from(flag(random.normal(), threshold));
        }
        let (low, high) = binomial::band(trials, 2.0 / 25.0, 1e-6);
        assert!((low..=high).contains(&flagged), "{flagged}");
    }

    #[test]
    fn maps_are_judged_by_their_largest_entry() {
        let maps = (0..9).map(|i| [f64::from(i), -1.0, 0.5]);
        let calibration = max_calibrated(maps.chain([[f64::NAN, 0.0, 0.0]]));
        assert_eq!(calibration.scores()[..2], [0.5, 1.0]);
        assert_eq!(calibration.scores().last(), Some(&f64::INFINITY));
        assert_eq!(calibration.threshold(0.2, Rule::Conformal).ok(), Some(8.0));
    }

    #[test]
    fn rules_are_written_as_they_are_read() {
        for rule in [Rule::Conformal, Rule::Quantile] {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert!("median".parse::<Rule>().is_err());
    }
}
