//! Means and variances of vectors, in one pass and in parts.

use ndarray::ArrayView2;

use serde::{Deserialize, Serialize};

use crate::{Error, error::refused};

/// What an interval for a mean needs to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The variance of one value, unbiased.
    pub variance: f64,
    /// How many values.
    pub count: u64,
}

impl Summary {
    /// Of some finite values, in two passes; none for fewer than two.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        (values.len() > 1).then(|| Self {
            mean,
            variance: squares / (count - 1.0),
            count: values.len() as u64,
        })
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        (self.variance / self.count as f64).sqrt()
    }
}

/// Count, mean and variance of every component of the rows seen so far (the pairwise update of Chan and others, 1983). A row with a
/// component that is not finite is counted apart and not added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    count: u64,
    not_finite: u64,
    mean: Vec<f64>,
    /// Sums of squares about the mean.
    squares: Vec<f64>,
}

impl Moments {
    /// Of rows with `width` components, none seen so far.
    pub fn new(width: usize) -> Self {
        Self { count: 0, not_finite: 0, mean: vec![0.0; width], squares: vec![0.0; width] }
    }

    /// Adds a row.
    pub fn push<T: Copy + Into<f64>>(&mut self, row: &[T]) -> Result<(), Error> {
        self.same_width(row.len())?;
        self.add(row.iter().map(|&v| v.into()));
        Ok(())
    }

    /// Adds the rows of an array.
    pub fn push_rows<T: Copy + Into<f64>>(
        &mut self,
        rows: &ArrayView2<'_, T>,
    ) -> Result<(), Error> {
        self.same_width(rows.ncols())?;
        for row in rows.rows() {
            self.add(row.iter().map(|&v| v.into()));
        }
        Ok(())
    }

    fn add(&mut self, row: impl Iterator<Item = f64> + Clone) {
        if !row.clone().all(f64::is_finite) {
            self.not_finite += 1;
            return;
        }
        self.count += 1;
        let share = 1.0 / self.count as f64;
        for ((mean, squares), value) in self.mean.iter_mut().zip(&mut self.squares).zip(row) {
            let step = value - *mean;
            *mean += step * share;
            *squares += step * (value - *mean);
        }
    }

    /// Adds what others have seen.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        self.same_width(other.width())?;
        self.not_finite += other.not_finite;
        if other.count == 0 {
            return Ok(());
        }
        let total = (self.count + other.count) as f64;
        let share = other.count as f64 / total;
        for i in 0..self.mean.len() {
            let step = other.mean[i] - self.mean[i];
            self.mean[i] += step * share;
            self.squares[i] += other.squares[i] + step * step * share * self.count as f64;
        }
        self.count += other.count;
        Ok(())
    }

    fn same_width(&self, width: usize) -> Result<(), Error> {
        let wanted = self.width();
        if width == wanted {
            Ok(())
        } else {
            Err(refused(format!("rows of {wanted} components were wanted, but one has {width}")))
        }
    }

    /// How many components a row has.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// How many rows were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many rows were left out because a component was not finite.
    pub fn not_finite(&self) -> u64 {
        self.not_finite
    }

    /// The mean of every component; none without rows.
    pub fn mean(&self) -> Option<&[f64]> {
        (self.count > 0).then_some(&self.mean)
    }

    /// The variance of every component, unbiased; none for fewer than two rows.
    pub fn variance(&self) -> Option<Vec<f64>> {
        let freedom = self.count.checked_sub(1).filter(|&f| f > 0)? as f64;
        Some(self.squares.iter().map(|s| s / freedom).collect())
    }

    /// The standard error of every component's mean; none for fewer than two rows.
    pub fn standard_error(&self) -> Option<Vec<f64>> {
        Some(self.variance()?.into_iter().map(|v| (v / self.count as f64).sqrt()).collect())
    }

    /// One component; none for fewer than two rows, or where there is no such component.
    pub fn component(&self, index: usize) -> Option<Summary> {
        let freedom = self.count.checked_sub(1).filter(|&f| f > 0)? as f64;
        let (&mean, squares) = (self.mean.get(index)?, self.squares.get(index)?);
        Some(Summary { mean, variance: squares / freedom, count: self.count })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use super::*;
    use crate::random::Random;

    fn rows(count: usize, offset: f32) -> Array2<f32> {
        let mut random = Random::new(7);
        Array2::from_shape_fn((count, 3), |(_, j)| {
            offset + (j + 1) as f32 * (random.below(1 << 20) as f32 / 1_048_576.0)
        })
    }

    fn seen(rows: &ArrayView2<'_, f32>) -> Moments {
        let mut moments = Moments::new(3);
        moments.push_rows(rows).expect("three components");
        moments
    }

    fn assert_close(a: &Moments, b: &Moments, tolerance: f64) {
        assert_eq!((a.count, a.not_finite), (b.count, b.not_finite));
        for (a, b) in a.mean.iter().zip(&b.mean).chain(a.squares.iter().zip(&b.squares)) {
            assert!((a - b).abs() <= tolerance * b.abs(), "{a} {b}");
        }
    }

    #[test]
    fn one_pass_equals_two() {
        // Around 2²⁰ single precision leaves 1/8 between neighbours, and squares have no digit of the spread left.
        for offset in [0.0, 1_048_576.0] {
            let rows = rows(1000, offset);
            let moments = seen(&rows.view());
            let errors = moments.standard_error().expect("rows");
            for (j, error) in errors.into_iter().enumerate() {
                let column: Vec<f64> = rows.column(j).iter().map(|&v| f64::from(v)).collect();
                let summary = Summary::of(&column).expect("rows");
                let found = moments.component(j).expect("rows");
                assert_eq!(found.count, 1000);
                assert!((found.mean - summary.mean).abs() < 1e-14 * summary.mean);
                assert!((found.variance / summary.variance - 1.0).abs() < 1e-9);
                assert!((error / summary.standard_error() - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn parts_can_be_merged_in_any_order() {
        let mut rows = rows(500, 100.0);
        rows[[3, 0]] = f32::NAN;
        rows[[410, 2]] = f32::INFINITY;
        let whole = seen(&rows.view());
        assert_eq!((whole.count(), whole.not_finite()), (498, 2));
        let parts = [
            seen(&rows.slice(s![..1, ..])),
            seen(&rows.slice(s![1..20, ..])),
            Moments::new(3),
            seen(&rows.slice(s![20.., ..])),
        ];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let mut merged = Moments::new(3);
            for i in order {
                merged.merge(&parts[i]).expect("three components");
            }
            assert_close(&merged, &whole, 1e-12);
        }
        let (mut left, mut right) = (parts[0].clone(), parts[1].clone());
        left.merge(&parts[1]).expect("three components");
        right.merge(&parts[3]).expect("three components");
        left.merge(&parts[3]).expect("three components");
        let mut nested = parts[0].clone();
        nested.merge(&right).expect("three components");
        assert_close(&left, &nested, 1e-12);
    }

    #[test]
    fn too_few_rows_have_no_variance() {
        let mut moments = Moments::new(2);
        assert!(moments.mean().is_none());
        moments.push(&[1.0f32, 2.0]).expect("two components");
        moments.push(&[1.0f32, f32::NAN]).expect("two components");
        assert_eq!(moments.mean(), Some(&[1.0, 2.0][..]));
        assert!(moments.variance().is_none() && moments.component(0).is_none());
        moments.push(&[3.0f64, 2.0]).expect("two components");
        assert_eq!(moments.variance(), Some(vec![2.0, 0.0]));
        assert!(moments.component(2).is_none());
    }

    #[test]
    fn rows_of_another_width_are_refused() {
        let mut moments = Moments::new(2);
        let error = moments.push(&[1.0f32]).expect_err("too short").to_string();
        assert!(error.contains("2 components") && error.ends_with("has 1"), "{error}");
        assert!(moments.merge(&Moments::new(3)).is_err());
        assert_eq!(moments, Moments::new(2));
    }
}
