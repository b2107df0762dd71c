//! How well scores tell samples outside the training data from those inside. Larger scores are further out; NaN
//! counts as +∞. Counts are whole numbers, so results are exact to the last division.

use super::{nan_is_far, quantile::least_count};

/// Whose share is held fixed in a false positive rate. Publications differ; name it with every number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// Outside is positive: the highest threshold at or above which the wanted share of outside samples lies; the
    /// share of *inside* samples at or above it.
    OutsidePositive,
    /// Inside is positive: the lowest threshold at or below which the wanted share of inside samples lies; the share
    /// of *outside* samples at or below it.
    InsidePositive,
}

fn ascending(scores: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = scores.iter().copied().map(nan_is_far).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The chance that a sample outside has a larger score than one inside, ties counted half; none without samples on
/// either side.
pub fn auroc(inside: &[f64], outside: &[f64]) -> Option<f64> {
    let sorted = ascending(inside);
    let halves: u128 = outside
        .iter()
        .map(|&score| {
            let score = nan_is_far(score);
            let below = sorted.partition_point(|&s| s < score);
            let not_above = sorted.partition_point(|&s| s <= score);
            (below + not_above) as u128
        })
        .sum();
    let pairs = inside.len() as u128 * outside.len() as u128;
    (pairs > 0).then(|| halves as f64 / (2 * pairs) as f64)
}

/// The false positive rate where the true positive rate first reaches `wanted`, without interpolation; none without
/// samples on either side, or if `wanted` is not within 0..=1.
pub fn false_positive_rate(
    inside: &[f64],
    outside: &[f64],
    wanted: f64,
    convention: Convention,
) -> Option<f64> {
    if inside.is_empty() || outside.is_empty() || !(0.0..=1.0).contains(&wanted) {
        return None;
    }
    let (inside, outside) = (ascending(inside), ascending(outside));
    Some(match convention {
        Convention::OutsidePositive => {
            let kept = least_count(outside.len(), wanted).max(1);
            let threshold = outside[outside.len() - kept];
            let below = inside.partition_point(|&s| s < threshold);
            (inside.len() - below) as f64 / inside.len() as f64
        }
        Convention::InsidePositive => {
            let threshold = inside[least_count(inside.len(), wanted).max(1) - 1];
            outside.partition_point(|&s| s <= threshold) as f64 / outside.len() as f64
        }
    })
}

/// [`false_positive_rate`] at a true positive rate of 95 %.
pub fn fpr95(inside: &[f64], outside: &[f64], convention: Convention) -> Option<f64> {
    false_positive_rate(inside, outside, 0.95, convention)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn draw(count: usize, shift: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        // Rounded, so that there are ties.
        (0..count).map(|_| (4.0 * (random.normal() + shift)).round()).collect()
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
        assert_eq!((auroc(&[], &[1.0]), auroc(&[1.0], &[])), (None, None));
    }

    #[test]
    fn both_conventions_follow_their_words() {
        let (inside, outside) = (draw(200, 0.0, 3), draw(60, 1.5, 4));
        let share = |of: &[f64], holds: &dyn Fn(f64) -> bool| {
            of.iter().filter(|&&s| holds(s)).count() as f64 / of.len() as f64
        };
        for wanted in [0.05, 0.5, 0.9, 0.95, 1.0] {
            let thresholds = || inside.iter().chain(&outside).copied();
            let highest = thresholds()
                .filter(|t| share(&outside, &|s| s >= *t) >= wanted)
                .fold(f64::NEG_INFINITY, f64::max);
            let lowest = thresholds()
                .filter(|t| share(&inside, &|s| s <= *t) >= wanted)
                .fold(f64::INFINITY, f64::min);
            let rate = |c| false_positive_rate(&inside, &outside, wanted, c);
            let expected = share(&inside, &|s| s >= highest);
            assert_eq!(rate(Convention::OutsidePositive), Some(expected));
            let expected = share(&outside, &|s| s <= lowest);
            assert_eq!(rate(Convention::InsidePositive), Some(expected));
        }
    }

    #[test]
    fn the_conventions_differ() {
        let inside: Vec<f64> = (0..20).map(f64::from).collect();
        let outside = [5.0, 18.5, 30.0, 31.0];
        assert_eq!(fpr95(&inside, &outside, Convention::OutsidePositive), Some(0.75));
        assert_eq!(fpr95(&inside, &outside, Convention::InsidePositive), Some(0.25));
        assert_eq!(false_positive_rate(&inside, &outside, 1.5, Convention::InsidePositive), None);
        assert_eq!(fpr95(&[], &outside, Convention::InsidePositive), None);
    }
}
