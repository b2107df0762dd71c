//! How well scores tell positive samples from negative ones: samples outside the training data from those inside, or the
//! model's mistakes from its right answers. Larger scores should belong to positive samples; NaN counts as +∞. Everything
//! follows from counts of equal scores, so results are exact to the last division and ties have no order.

mod correlation;
mod delong;
mod false_positives;
mod pixels;
mod precision;
mod resample;
mod risk;
mod roc;

pub use correlation::{pearson, spearman, spearman_interval};
pub use false_positives::{Convention, false_positive_rate, fpr95};
pub use pixels::{Grid, PixelMetric, Pixels};
pub use resample::Draw;

use super::nan_is_far;

/// Samples of two classes in the order of their scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Ascending.
    levels: Vec<Level>,
}

/// How many samples share a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    negative: u64,
    positive: u64,
}

impl Level {
    fn both(self) -> u64 {
        self.negative + self.positive
    }
}

impl Ranked {
    /// Scores of negative and of positive samples.
    pub fn new(negative: &[f64], positive: &[f64]) -> Self {
        let no = negative.iter().map(|&score| (score, false));
        Self::sorted(no.chain(positive.iter().map(|&score| (score, true))).collect())
    }

    /// Scores, and which samples are positive.
    pub fn of(scores: &[f64], positive: &[bool]) -> Self {
        Self::sorted(scores.iter().copied().zip(positive.iter().copied()).collect())
    }

    fn sorted(mut samples: Vec<(f64, bool)>) -> Self {
        for (score, _) in &mut samples {
            *score = nan_is_far(*score);
        }
        samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let level = |same: &[(f64, bool)]| {
            let positive = same.iter().filter(|(_, positive)| *positive).count() as u64;
            Level { negative: same.len() as u64 - positive, positive }
        };
        // Ascending, and zeros of either sign are equal.
        let levels = samples.chunk_by(|a, b| a.0 >= b.0).map(level).collect();
        Self { levels }
    }

    /// How many negative samples.
    pub fn negatives(&self) -> u64 {
        self.levels.iter().map(|level| level.negative).sum()
    }

    /// How many positive samples.
    pub fn positives(&self) -> u64 {
        self.levels.iter().map(|level| level.positive).sum()
    }

    /// The classes and the order turned round: the former negative samples are to be found by small scores.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let turned = |l: &Level| Level { negative: l.positive, positive: l.negative };
        Self { levels: self.levels.iter().rev().map(turned).collect() }
    }

    /// The chance that a positive sample has a larger score than a negative one, ties counted half; none without
    /// samples of both classes.
    pub fn auroc(&self) -> Option<f64> {
        let (mut below, mut halves) = (0, 0);
        for level in &self.levels {
            halves += u128::from(level.positive) * u128::from(2 * below + level.negative);
            below += level.negative;
        }
        let pairs = u128::from(below) * u128::from(self.positives());
        (pairs > 0).then(|| halves as f64 / (2 * pairs) as f64)
    }
}

/// [`Ranked::auroc`] of samples inside, which are negative, and outside.
pub fn auroc(inside: &[f64], outside: &[f64]) -> Option<f64> {
    Ranked::new(inside, outside).auroc()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Rounded, so that there are ties.
    pub(super) fn draw(count: usize, shift: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| (4.0 * (random.normal() + shift)).round()).collect()
    }

    /// What every statistic says.
    pub(super) fn all(ranked: &Ranked) -> Vec<Option<f64>> {
        let rate = |c| ranked.false_positive_rate(0.95, c);
        vec![
            ranked.auroc(),
            ranked.average_precision(),
            rate(Convention::OutsidePositive),
            rate(Convention::InsidePositive),
            ranked.risk_coverage(),
            ranked.generalised_risk_coverage(),
        ]
    }

    #[test]
    fn areas_count_pairs() {
        let (inside, outside) = (draw(70, 0.0, 1), draw(50, 0.8, 2));
        let mut pairs = 0.0;
        for o in &outside {
            for i in &inside {
                pairs += if o > i { 1.0 } else { f64::from(o >= i) / 2.0 };
            }
        }
        let area = auroc(&inside, &outside).expect("samples");
        assert!((area - pairs / 3500.0).abs() < 1e-15);
        assert!((area + auroc(&outside, &inside).expect("samples") - 1.0).abs() < 1e-15);
        assert_eq!(auroc(&[1.0, 2.0], &[f64::NAN, f64::INFINITY]), Some(1.0));
        assert_eq!(auroc(&[f64::NAN], &[f64::INFINITY]), Some(0.5));
        assert_eq!(auroc(&[0.0], &[-0.0]), Some(0.5));
        assert_eq!((auroc(&[], &[1.0]), auroc(&[1.0], &[])), (None, None));
    }

    #[test]
    fn values_are_those_of_scikit_learn() {
        let inside: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 19) / 4.0).collect();
        let outside: Vec<f64> = (0..25).map(|i| f64::from(i * 11 % 23) / 4.0 + 1.5).collect();
        let ranked = Ranked::new(&inside, &outside);
        let rate = |c| ranked.false_positive_rate(0.95, c);
        for (found, expected) in [
            (ranked.auroc(), 0.8005),
            (ranked.average_precision(), 0.760_556_168_733_069_1),
            (ranked.reversed().average_precision(), 0.858_830_249_271_425_7),
            (rate(Convention::OutsidePositive), 0.675),
            (rate(Convention::InsidePositive), 0.56),
        ] {
            let found = found.expect("samples");
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn order_and_monotone_maps_change_nothing() {
        let (inside, outside) = (draw(80, 0.0, 5), draw(60, 0.7, 6));
        let expected = all(&Ranked::new(&inside, &outside));
        assert!(expected.iter().all(Option::is_some));
        let turned = |s: &[f64]| s.iter().rev().copied().collect::<Vec<_>>();
        assert_eq!(all(&Ranked::new(&turned(&inside), &turned(&outside))), expected);
        for map in [|s: f64| s.exp(), |s: f64| 3.0 * s - 100.0, |s: f64| s.powi(3)] {
            let mapped = |s: &[f64]| s.iter().copied().map(map).collect::<Vec<_>>();
            assert_eq!(all(&Ranked::new(&mapped(&inside), &mapped(&outside))), expected);
        }
        let scores = [inside.clone(), outside.clone()].concat();
        let positive: Vec<bool> = (0..140).map(|i| i >= 80).collect();
        assert_eq!(Ranked::of(&scores, &positive), Ranked::new(&inside, &outside));
    }

    #[test]
    fn the_complement_is_the_reverse() {
        let (inside, outside) = (draw(80, 0.0, 5), draw(60, 0.7, 6));
        let negated = |s: &[f64]| s.iter().map(|v| -v).collect::<Vec<_>>();
        let ranked = Ranked::new(&inside, &outside);
        assert_eq!(ranked.reversed(), Ranked::new(&negated(&outside), &negated(&inside)));
        assert_eq!(ranked.reversed().auroc(), ranked.auroc());
        let swapped = Ranked::new(&outside, &inside).auroc().expect("samples");
        assert!((ranked.auroc().expect("samples") + swapped - 1.0).abs() < 1e-15);
    }
}
