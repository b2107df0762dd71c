//! Hotelling's T² of vectors that are whitened already.

use ndarray::{Array1, ArrayView2};

use super::{check_sizes, over_splits};
use crate::{Error, draws, error::refused};

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthTest {
    /// ‖mean of the batch‖². Without a shift it is about the number of components over the number of rows.
    pub squared_length: f64,
    /// The share of splits in which it is at least as large.
    pub p_value: f64,
}

/// Whether the mean of a batch is further from zero than the means of splits of the pooled rows, whose entries must be
/// finite. With components of mean zero and covariance one, the statistic is Hotelling's T² over the number of rows.
pub fn squared_length(
    reference: &ArrayView2<'_, f64>,
    batch: &ArrayView2<'_, f64>,
    permutations: usize,
    seed: u64,
) -> Result<LengthTest, Error> {
    draws("permutations", permutations)?;
    check_sizes(reference.nrows(), batch.nrows())?;
    if reference.ncols() != batch.ncols() {
        return Err(refused("the rows of reference and batch have different lengths"));
    }
    if !reference.iter().chain(batch.iter()).all(|v| v.is_finite()) {
        return Err(refused("the mean of rows that are not all finite can't be compared"));
    }
    let batch_first = batch.nrows() <= reference.nrows();
    let (small, large) = if batch_first { (batch, reference) } else { (reference, batch) };
    let chosen = small.nrows();
    let total: Array1<f64> = small.rows().into_iter().chain(large.rows()).fold(
        Array1::zeros(batch.ncols()),
        |mut sum, row| {
            sum += &row;
            sum
        },
    );
    let length = |sum: &mut Array1<f64>, split: &[usize]| {
        sum.fill(0.0);
        for &row in split {
            *sum += &if row < chosen { small.row(row) } else { large.row(row - chosen) };
        }
        let of_batch = |(s, t): (&f64, &f64)| if batch_first { *s } else { t - s };
        let square: f64 = sum.iter().zip(&total).map(of_batch).map(|v| v * v).sum();
        square / (batch.nrows() as f64).powi(2)
    };
    let room = || Array1::zeros(batch.ncols());
    let actual = length(&mut room(), &(0..chosen).collect::<Vec<_>>());
    let rows = chosen + large.nrows();
    let (others, _) = over_splits((rows, chosen), (permutations, seed), room, length);
    let beyond = others.iter().filter(|&&v| v >= actual * (1.0 - 1e-9)).count();
    let p_value = (1 + beyond) as f64 / (1 + others.len()) as f64;
    Ok(LengthTest { squared_length: actual, p_value })
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::{binomial, random::Random};

    fn normal(rows: usize, shift: f64, random: &mut Random) -> Array2<f64> {
        Array2::from_shape_fn((rows, 3), |_| random.normal() + shift)
    }

    #[test]
    fn small_sets_are_counted_by_hand() {
        let (reference, batch) = (array![[0.0, 1.0], [1.0, 0.0]], array![[3.0, 4.0]]);
        let found = squared_length(&reference.view(), &batch.view(), 9, 0).expect("a test");
        assert!((found.squared_length - 25.0).abs() < 1e-12);
        assert!((found.p_value - 1.0 / 3.0).abs() < 1e-12);
        let turned =
            squared_length(&array![[3.0, 4.0], [1.0, 0.0]].view(), &reference.view(), 9, 0);
        let turned = turned.expect("a test");
        assert!((turned.squared_length - 0.5).abs() < 1e-12 && turned.p_value > 0.6);
    }

    #[test]
    fn the_level_is_kept_and_a_shift_is_found() {
        let mut random = Random::new(5);
        let trials = 600;
        let rejected = (0..trials)
            .filter(|&seed| {
                let sizes = if seed % 2 == 0 { (60, 15) } else { (15, 60) };
                let (r, b) = (normal(sizes.0, 0.0, &mut random), normal(sizes.1, 0.0, &mut random));
                squared_length(&r.view(), &b.view(), 99, seed).expect("a test").p_value <= 0.05
            })
            .count() as u64;
        let (low, high) = binomial::band(trials, 0.05, 1e-4);
        assert!((low..=high).contains(&rejected), "{rejected}");
        let (r, b) = (normal(400, 0.0, &mut random), normal(50, 0.5, &mut random));
        let found = squared_length(&r.view(), &b.view(), 199, 0).expect("a test");
        assert!((found.p_value - 0.005).abs() < 1e-12 && found.squared_length > 0.4);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |r: Array2<f64>, b: Array2<f64>| squared_length(&r.view(), &b.view(), 9, 0);
        assert!(refused(Array2::zeros((3, 2)), Array2::zeros((3, 1))).is_err());
        assert!(refused(Array2::zeros((1, 2)), Array2::zeros((3, 2))).is_err());
        assert!(refused(Array2::zeros((3, 2)), array![[f64::NAN, 0.0]]).is_err());
    }
}
