//! Covariances that can be inverted.

use ndarray::{Array1, Array2};

/// A variance for every entry.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    /// Positive for every entry.
    pub(crate) variances: Array1<f64>,
    /// The entries that do not vary.
    pub(crate) constant: Vec<usize>,
    /// What stands for the variance of those: the median of the others.
    pub(crate) stand_in: f64,
}

impl Spread {
    /// Nothing if no entry varies.
    pub(crate) fn new(variances: &Array1<f64>, mean: &Array1<f64>) -> Option<Self> {
        // Below what single precision resolves.
        let varies = |i: usize| variances[i] > 1e-14 * mean[i] * mean[i] && variances[i] > 1e-60;
        let (varying, constant): (Vec<usize>, Vec<usize>) =
            (0..variances.len()).partition(|&i| varies(i));
        let mut sorted: Vec<f64> = varying.iter().map(|&i| variances[i]).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let stand_in = *sorted.get(sorted.len() / 2)?;
        let mut variances = variances.clone();
        for &i in &constant {
            variances[i] = stand_in;
        }
        Some(Self { variances, constant, stand_in })
    }

    /// Standard deviations, with the stand-in where nothing varies.
    pub(crate) fn deviations(&self) -> Array1<f64> {
        self.variances.mapv(f64::sqrt)
    }
}

/// No intensity that is computed lies below: single precision must be able to hold the inverse.
const LEAST: f64 = 1e-5;

/// Pulls correlations towards zero by `asked`, or by the intensity of oracle approximating shrinkage (Chen,
/// Wiesel, Eldar and Hero 2010) for correlations from `count` samples; variances stay. Returns the covariance
/// and the intensity. Entries that do not vary become independent of the others.
pub(crate) fn shrink(
    covariance: &Array2<f64>,
    spread: &Spread,
    count: usize,
    asked: Option<f64>,
) -> (Array2<f64>, f64) {
    let deviations = spread.deviations();
    let mut shrunk = covariance.clone();
    for &i in &spread.constant {
        shrunk.row_mut(i).fill(0.0);
        shrunk.column_mut(i).fill(0.0);
        shrunk[[i, i]] = spread.variances[i];
    }
    let correlation = |i: usize, j: usize, c: f64| c / (deviations[i] * deviations[j]);
    let squares: f64 = shrunk.indexed_iter().map(|((i, j), &c)| correlation(i, j, c).powi(2)).sum();
    let intensity = asked.unwrap_or_else(|| oas(squares, deviations.len(), count).max(LEAST));
    for ((i, j), c) in shrunk.indexed_iter_mut() {
        if i != j {
            *c *= 1.0 - intensity;
        }
    }
    (shrunk, intensity)
}

/// The intensity for a correlation matrix of `p` entries whose squares sum to `squares`.
fn oas(squares: f64, p: usize, count: usize) -> f64 {
    let (p, n) = (p as f64, count as f64);
    let above = (1.0 - 2.0 / p) * squares + p * p;
    let below = (n + 1.0 - 2.0 / p) * (squares - p);
    if below <= 0.0 { 1.0 } else { (above / below).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use ndarray::{arr1, arr2};

    use super::*;

    #[test]
    fn entries_that_do_not_vary_take_the_median_variance_and_stand_alone() {
        let spread = Spread::new(&arr1(&[4.0, 0.0, 1.0, 9.0]), &arr1(&[0.0, 5.0, 1.0, 2.0]));
        let spread = spread.expect("some vary");
        assert_eq!(spread.constant, [1]);
        assert_eq!(spread.variances.to_vec(), [4.0, 4.0, 1.0, 9.0]);
        assert!(Spread::new(&arr1(&[0.0, 1e-15]), &arr1(&[0.0, 1.0])).is_none());
        let covariance = arr2(&[[4.0, 0.0], [0.0, 0.0]]);
        let spread = Spread::new(&arr1(&[4.0, 0.0]), &arr1(&[0.0, 0.0])).expect("one varies");
        let (shrunk, _) = shrink(&covariance, &spread, 100, None);
        assert_eq!(shrunk, arr2(&[[4.0, 0.0], [0.0, 4.0]]));
    }

    #[test]
    fn more_samples_are_shrunk_less_and_variances_stay() {
        let covariance = arr2(&[[1.0, 1.2], [1.2, 4.0]]);
        let spread = Spread::new(&arr1(&[1.0, 4.0]), &arr1(&[0.0, 0.0])).expect("both vary");
        let (few, strong) = shrink(&covariance, &spread, 10, None);
        let (_, weak) = shrink(&covariance, &spread, 10_000, None);
        assert!(strong > 100.0 * weak && strong < 1.0 && weak >= LEAST);
        assert_eq!(few.diag().to_vec(), [1.0, 4.0]);
        let (asked, intensity) = shrink(&covariance, &spread, 10, Some(0.5));
        assert!((asked[[0, 1]] - 0.6).abs() < 1e-12 && (intensity - 0.5).abs() < 1e-12);
    }
}
