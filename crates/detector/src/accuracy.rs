//! How wrong a model is on samples without labels, judged by their scores: learnt on labelled calibration samples.

use serde::{Deserialize, Serialize};
use taste_stats::{logistic::Logistic, normal, quantile::median};

/// What is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The share of right answers of a classifier.
    Accuracy,
    /// The mean absolute error of a regressor.
    AbsoluteError,
}

/// The expected error of a sample as a function of its score: a logistic curve for classifiers, a line for regressors, in
/// log(1 + (score − low)/scale), so that scores far out do not decide alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorModel {
    /// What is estimated.
    pub measure: Measure,
    /// The smallest calibration score.
    pub low: f64,
    /// The largest; not in files of early builds.
    #[serde(default)]
    pub high: Option<f64>,
    /// The middle calibration score above the smallest.
    pub scale: f64,
    /// At the smallest score.
    pub intercept: f64,
    /// What it grows by; never below zero, as scores that are further out promise no better answers.
    pub slope: f64,
    /// The mean error on the calibration samples, and its variance between samples.
    pub mean: f64,
    /// The variance of the error between samples.
    pub variance: f64,
    /// Labelled calibration samples.
    pub samples: usize,
}

/// How wrong a model is on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// What is estimated.
    pub measure: Measure,
    /// The estimate.
    pub value: f64,
    /// A 95 % interval, which holds while errors depend on scores as they did on the calibration samples.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The same on the calibration samples, where labels are known.
    pub calibration: f64,
    /// The share of scores beyond all those that the errors were learnt from.
    pub beyond: f64,
}

impl Estimate {
    /// Whether most scores lie where nothing is known of errors, so that the estimate is a guess.
    pub fn is_guess(&self) -> bool {
        self.beyond > 0.5
    }
}

impl ErrorModel {
    /// From the scores of labelled samples and how wrong the model is on each: 0 or 1, or the absolute error. Nothing with
    /// fewer than 20 samples, where a classifier made fewer than 10 mistakes, or where the errors of a regressor do not
    /// grow with its scores beyond doubt: there is nothing to learn from.
    pub fn fit(measure: Measure, scores: &[f64], errors: &[f64]) -> Option<Self> {
        const LEAST: usize = 20;
        const LEAST_MISTAKES: usize = 10;
        let known: Vec<(f64, f64)> = scores
            .iter()
            .zip(errors)
            .filter(|(s, e)| s.is_finite() && e.is_finite())
            .map(|(s, e)| (*s, *e))
            .collect();
        let mistakes = known.iter().filter(|k| k.1 > 0.5).count();
        let too_few = measure == Measure::Accuracy && mistakes < LEAST_MISTAKES;
        if known.len() < LEAST || too_few {
            return None;
        }
        let scores: Vec<f64> = known.iter().map(|k| k.0).collect();
        let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let high = Some(scores.iter().copied().fold(low, f64::max));
        let scale = median(&scores).map_or(1.0, |m| m - low).max(1e-12);
        let n = known.len() as f64;
        let mean = known.iter().map(|k| k.1).sum::<f64>() / n;
        let variance = known.iter().map(|k| (k.1 - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let mut found = Self {
            measure,
            low,
            high,
            scale,
            intercept: 0.0,
            slope: 0.0,
            mean,
            variance,
            samples: known.len(),
        };
        let x: Vec<f64> = scores.iter().map(|s| found.place(*s)).collect();
        (found.intercept, found.slope) = match measure {
            Measure::Accuracy => {
                let wrong: Vec<bool> = known.iter().map(|k| k.1 > 0.5).collect();
                let curve = Logistic::fit(&x, &wrong);
                if curve.slope >= 0.0 {
                    (curve.intercept, curve.slope)
                } else {
                    let share = mean.clamp(0.5 / n, 1.0 - 0.5 / n);
                    ((share / (1.0 - share)).ln(), 0.0)
                }
            }
            Measure::AbsoluteError => {
                let centre = x.iter().sum::<f64>() / n;
                let spread: f64 = x.iter().map(|x| (x - centre).powi(2)).sum();
                let along: f64 =
                    x.iter().zip(&known).map(|(x, k)| (x - centre) * (k.1 - mean)).sum();
                // Against its standard error without a relation.
                let doubt = 2.0 * (variance * spread).sqrt();
                if spread <= 0.0 || along <= doubt {
                    return None;
                }
                let slope = along / spread;
                (mean - slope * centre, slope)
            }
        };
        Some(found)
    }

    fn place(&self, score: f64) -> f64 {
        ((score - self.low).max(0.0) / self.scale).ln_1p()
    }

    /// The expected error of a sample; that of the worst for one without a score.
    pub fn expected(&self, score: f64) -> f64 {
        let score = if score.is_finite() { score } else { f64::MAX };
        let x = self.place(score).min(700.0);
        match self.measure {
            Measure::Accuracy => {
                Logistic { intercept: self.intercept, slope: self.slope }.chance(x)
            }
            Measure::AbsoluteError => (self.intercept + self.slope * x).max(0.0),
        }
    }

    /// The estimate for a batch.
    pub fn estimate(&self, scores: impl Iterator<Item = f64>) -> Option<Estimate> {
        let (mut n, mut sum, mut noise, mut beyond) = (0.0, 0.0, 0.0, 0.0);
        let high = self.high.unwrap_or(f64::INFINITY);
        for score in scores {
            let expected = self.expected(score);
            n += 1.0;
            sum += expected;
            beyond += f64::from(u8::from(!score.is_finite() || score > high));
            noise += match self.measure {
                Measure::Accuracy => expected * (1.0 - expected),
                Measure::AbsoluteError => self.variance,
            };
        }
        if n < 1.0 {
            return None;
        }
        let mean = sum / n;
        // What the answers of the batch vary by, and what the curve is known to.
        let error = (noise / (n * n) + self.variance / self.samples as f64).sqrt();
        let half = normal::quantile(0.975) * error;
        let beyond = beyond / n;
        Some(match self.measure {
            Measure::Accuracy => Estimate {
                measure: self.measure,
                value: 1.0 - mean,
                low: (1.0 - mean - half).max(0.0),
                high: (1.0 - mean + half).min(1.0),
                calibration: 1.0 - self.mean,
                beyond,
            },
            Measure::AbsoluteError => Estimate {
                measure: self.measure,
                value: mean,
                low: (mean - half).max(0.0),
                high: mean + half,
                calibration: self.mean,
                beyond,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use taste_stats::random::Random;

    use super::*;

    /// Scores, and errors that grow with them.
    fn drawn(count: usize, shift: f64, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
        let draw = |random: &mut Random| {
            let score = (random.normal() + shift).exp();
            let chance = score / (score + 9.0);
            (score, f64::from(u8::from(random.uniform() < chance)))
        };
        (0..count).map(|_| draw(random)).unzip()
    }

    #[test]
    fn intervals_cover_on_clean_batches_and_estimates_follow_a_shift() {
        let mut random = Random::new(4);
        let (mut covered, mut off) = (0, 0.0);
        for _ in 0..200 {
            let (scores, errors) = drawn(1500, 0.0, &mut random);
            let model = ErrorModel::fit(Measure::Accuracy, &scores, &errors).expect("enough");
            let (fresh, wrong) = drawn(200, 0.0, &mut random);
            let truth = 1.0 - wrong.iter().sum::<f64>() / 200.0;
            let found = model.estimate(fresh.into_iter()).expect("samples");
            covered += usize::from(found.low <= truth && truth <= found.high);
            let (moved, wrong) = drawn(200, 1.0, &mut random);
            let truth = 1.0 - wrong.iter().sum::<f64>() / 200.0;
            off +=
                (model.estimate(moved.into_iter()).expect("samples").value - truth).abs() / 200.0;
        }
        assert!((183..=199).contains(&covered), "{covered} of 200");
        assert!(off < 0.05, "{off}");
    }

    #[test]
    fn a_score_that_says_nothing_gives_the_mean_and_missing_scores_the_worst() {
        let scores: Vec<f64> = (0..100).map(|i| f64::from(i % 10)).collect();
        let errors: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i % 10 < 2))).collect();
        let model = ErrorModel::fit(Measure::Accuracy, &scores, &errors).expect("enough");
        let found = model.estimate(scores.iter().copied()).expect("samples");
        assert!((found.value - 0.8).abs() < 0.02, "{found:?}");
        let line: Vec<f64> = scores.iter().map(|s| 5.0 + s).collect();
        let model = ErrorModel::fit(Measure::AbsoluteError, &scores, &line).expect("enough");
        let found = model.estimate(scores.iter().copied()).expect("samples");
        assert!((found.value - 9.5).abs() < 1e-6, "{found:?}");
        assert!(model.expected(f64::NAN) > model.expected(9.0));
        assert!(ErrorModel::fit(Measure::Accuracy, &scores[..10], &errors[..10]).is_none());
    }

    #[test]
    fn scores_beyond_all_known_ones_are_a_guess() {
        let (scores, errors) = drawn(1500, 0.0, &mut Random::new(1));
        let model = ErrorModel::fit(Measure::Accuracy, &scores, &errors).expect("enough");
        let of = |scores: Vec<f64>| model.estimate(scores.into_iter()).expect("samples");
        assert!(!of(drawn(200, 1.0, &mut Random::new(2)).0).is_guess());
        assert!(of(drawn(200, 9.0, &mut Random::new(3)).0).is_guess());
        assert!(of(vec![f64::NAN, f64::NAN, 1.0]).is_guess());
    }

    #[test]
    fn few_mistakes_teach_nothing() {
        let scores: Vec<f64> = (0..100).map(f64::from).collect();
        let first = |mistakes: usize| (0..100).map(|i| f64::from(u8::from(i < mistakes))).collect();
        let of = |errors: Vec<f64>| ErrorModel::fit(Measure::Accuracy, &scores, &errors);
        assert!(of(first(0)).is_none() && of(first(9)).is_none());
        assert!(of(first(10)).is_some());
    }
}
