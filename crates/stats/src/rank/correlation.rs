use rayon::prelude::*;

use super::resample::percentiles;
use crate::{Error, error::refused, interval, interval::Interval, random::Random};

/// The rank correlation of pairs (Spearman 1904), ties with their mean rank; none with fewer than two pairs, with NaN
/// among them, or where one side does not vary.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.iter().chain(b).any(|v| v.is_nan()) {
        return None;
    }
    pearson(&ranks(a), &ranks(b))
}

/// The linear correlation of pairs (Pearson 1895); none where [`spearman`] has none.
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.iter().chain(b).any(|v| v.is_nan()) {
        return None;
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (a_mean, b_mean) = (mean(a), mean(b));
    let (mut both, mut a_alone, mut b_alone) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().map(|v| v - a_mean).zip(b.iter().map(|v| v - b_mean)) {
        both += x * y;
        a_alone += x * x;
        b_alone += y * y;
    }
    let scale = (a_alone * b_alone).sqrt();
    (scale > 0.0).then(|| (both / scale).clamp(-1.0, 1.0))
}

/// [`spearman`] with the percentile bootstrap over pairs.
pub fn spearman_interval(
    a: &[f64],
    b: &[f64],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Result<Interval, Error> {
    interval::rank(level, resamples)?;
    let estimate = spearman(a, b).ok_or_else(|| {
        refused(format!("{} pairs have no rank correlation", a.len().min(b.len())))
    })?;
    let drawn = |number: u64| {
        let mut random = Random::stream(seed, number);
        let places: Vec<usize> = a.iter().map(|_| random.below(a.len())).collect();
        let side = |of: &[f64]| places.iter().map(|&i| of[i]).collect::<Vec<_>>();
        spearman(&side(a), &side(b))
    };
    let draws = (0..resamples as u64).into_par_iter().filter_map(drawn);
    percentiles(estimate, level, taste_threads::within(|| draws.collect()))
}

/// The rank of every value from 1 on; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |&v: &f64| {
        let below = sorted.partition_point(|&s| s < v);
        let not_above = sorted.partition_point(|&s| s <= v);
        (below + not_above + 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_scipy() {
        let a = [0.38, 0.71, 0.65, 0.9, 0.65, 0.2, 0.44];
        let b = [0.1, 0.3, 0.05, 0.8, 0.3, 0.6, 0.0];
        let found = spearman(&a, &b).expect("pairs");
        assert!((found - 0.3).abs() < 1e-14, "{found}");
        let map = |v: &[f64]| v.iter().map(|x| (3.0 * x).exp()).collect::<Vec<_>>();
        assert_eq!(spearman(&map(&a), &b), Some(found));
        let turned = spearman(&a.map(|v| -v), &b).expect("pairs");
        assert!((found + turned).abs() < 1e-14);
    }

    #[test]
    fn linear_correlation_is_that_of_numpy() {
        let a = [0.38, 0.71, 0.65, 0.9, 0.65, 0.2, 0.44];
        let b = [0.1, 0.3, 0.05, 0.8, 0.3, 0.6, 0.0];
        let found = pearson(&a, &b).expect("pairs");
        assert!((found - 0.265_628_535_155_042_4).abs() < 1e-12, "{found}");
        let moved = pearson(&a.map(|v| 2.0 - 3.0 * v), &b).expect("pairs");
        assert!((found + moved).abs() < 1e-12);
        assert_eq!(pearson(&[1.0, 1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn what_does_not_vary_has_none() {
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0], &[1.0]), None);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[1.0, 2.0, 9.0]), Some(1.0));
        assert!(spearman_interval(&[1.0], &[1.0], 0.95, 99, 0).is_err());
    }

    #[test]
    fn intervals_hold_the_estimate() {
        let a: Vec<f64> = (0..30).map(f64::from).collect();
        let b: Vec<f64> = (0..30).map(|i| f64::from((i * 7) % 13 + i)).collect();
        let found = spearman_interval(&a, &b, 0.95, 199, 1).expect("pairs");
        assert!(found.low < found.estimate && found.estimate < found.high, "{found:?}");
    }
}
