//! Mean and covariance of rows, in double precision and mergeable.

use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::{Error, error::refused, linear};

/// Count, mean and second moments of the rows seen so far (the pairwise update of Chan, Golub and `LeVeque` 1983).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Covariance {
    count: u64,
    mean: Vec<f64>,
    /// Σ (x − mean)(x − mean)ᵀ, row by row.
    scatter: Vec<f64>,
}

impl Covariance {
    /// Of rows with `width` entries, none seen so far.
    pub fn new(width: usize) -> Self {
        Self { count: 0, mean: vec![0.0; width], scatter: vec![0.0; width * width] }
    }

    /// Adds some rows, which are finite.
    pub fn add(&mut self, mut rows: Array2<f64>) -> Result<(), Error> {
        self.same_width(rows.ncols())?;
        let Some(mean) = rows.mean_axis(Axis(0)) else { return Ok(()) };
        rows -= &mean;
        // What rounding left of the mean.
        if let Some(rest) = rows.mean_axis(Axis(0)) {
            rows -= &rest;
        }
        let count = rows.nrows() as u64;
        self.join(count, &mean.to_vec(), linear::gram(&rows).iter().copied());
        Ok(())
    }

    /// Adds what others have seen.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        self.same_width(other.width())?;
        self.join(other.count, &other.mean, other.scatter.iter().copied());
        Ok(())
    }

    fn join(&mut self, count: u64, mean: &[f64], scatter: impl Iterator<Item = f64>) {
        if count == 0 {
            return;
        }
        let (old, new) = (self.count as f64, count as f64);
        let delta: Vec<f64> = mean.iter().zip(&self.mean).map(|(m, s)| m - s).collect();
        let factor = old * new / (old + new);
        let width = delta.len().max(1);
        for (at, (sum, add)) in self.scatter.iter_mut().zip(scatter).enumerate() {
            *sum += add + factor * delta[at / width] * delta[at % width];
        }
        for (mean, delta) in self.mean.iter_mut().zip(&delta) {
            *mean += delta * new / (old + new);
        }
        self.count += count;
    }

    fn same_width(&self, width: usize) -> Result<(), Error> {
        if width == self.width() {
            return Ok(());
        }
        Err(refused(format!("rows of {} entries were wanted, but one has {width}", self.width())))
    }

    /// How many entries a row has.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// How many rows were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean row.
    pub fn mean(&self) -> Array1<f64> {
        Array1::from(self.mean.clone())
    }

    /// Σ (x − mean)(x − mean)ᵀ / n; none without rows.
    pub fn matrix(&self) -> Option<Array2<f64>> {
        let n = self.count as f64;
        let entries = self.scatter.iter().map(|s| s / n).collect();
        (self.count > 0)
            .then(|| Array2::from_shape_vec((self.width(), self.width()), entries).ok())
            .flatten()
    }
}

/// The covariance about zero of rows, pulled towards a multiple of the identity, and by how much (Ledoit and Wolf 2004). Not
/// unit-free: columns should have one scale.
pub fn ledoit_wolf(rows: &Array2<f64>) -> (Array2<f64>, f64) {
    let (n, d) = (rows.nrows().max(1) as f64, rows.ncols().max(1) as f64);
    let mut covariance = linear::gram(rows) / n;
    let level = covariance.diag().sum() / d;
    let squares: f64 = covariance.iter().map(|c| c * c).sum();
    let distance = (squares - d * level * level) / d;
    let fourth: f64 = rows.outer_iter().map(|r| r.dot(&r).powi(2)).sum::<f64>() / n;
    let noise = (fourth - squares) / (n * d);
    let intensity = if distance <= 0.0 { 1.0 } else { (noise / distance).clamp(0.0, 1.0) };
    covariance *= 1.0 - intensity;
    covariance.diag_mut().mapv_inplace(|v| v + intensity * level);
    (covariance, intensity)
}

#[cfg(test)]
mod tests {
    use ndarray::s;

    use super::*;
    use crate::random::Random;

    fn rows(count: usize) -> Array2<f64> {
        let mut random = Random::new(7);
        Array2::from_shape_simple_fn((count, 3), || 100.0 + 0.1 * random.normal())
    }

    #[test]
    fn parts_that_are_merged_are_the_whole() {
        let all = rows(5000);
        let mut whole = Covariance::new(3);
        whole.add(all.clone()).expect("of one width");
        let mut merged = Covariance::new(3);
        for (from, to) in [(0, 1), (1, 1700), (1700, 1700), (1700, 5000)] {
            let mut part = Covariance::new(3);
            part.add(all.slice(s![from..to, ..]).to_owned()).expect("of one width");
            merged.merge(&part).expect("of one width");
        }
        let (a, b) = (whole.matrix().expect("rows"), merged.matrix().expect("rows"));
        assert!((&a - &b).iter().all(|d| d.abs() < 1e-12), "{a} {b}");
        assert!((whole.mean() - merged.mean()).iter().all(|d| d.abs() < 1e-11));
        assert_eq!(merged.count(), 5000);
        // 0.01 is the variance that was drawn.
        assert!((a[[0, 0]] - 0.01).abs() < 0.001 && a[[0, 1]].abs() < 0.001, "{a}");
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let all = rows(5000);
        let mut turned = all.clone();
        turned.invert_axis(Axis(0));
        let [a, b] = [all, turned].map(|rows| {
            let mut covariance = Covariance::new(3);
            for part in rows.axis_chunks_iter(Axis(0), 700) {
                covariance.add(part.to_owned()).expect("of one width");
            }
            covariance
        });
        assert!((a.mean() - b.mean()).iter().all(|d| d.abs() < 1e-11));
        let (x, y) = (a.matrix().expect("rows"), b.matrix().expect("rows"));
        assert!((&x - &y).iter().all(|d| d.abs() < 1e-9 * x[[0, 0]]), "{x} {y}");
    }

    #[test]
    fn shrinkage_follows_the_definition_and_fades_with_samples() {
        let mut random = Random::new(3);
        let mut draw = |n: usize| {
            Array2::from_shape_fn((n, 4), |(_, j)| random.normal() * [1.0, 2.0, 1.0, 0.5][j])
        };
        let rows = draw(30);
        let sample = rows.t().dot(&rows) / 30.0;
        let level = sample.diag().sum() / 4.0;
        let about = |m: &Array2<f64>| m.iter().map(|v| v * v).sum::<f64>();
        let distance = about(&(&sample - &(Array2::<f64>::eye(4) * level)));
        let noise: f64 = rows
            .outer_iter()
            .map(|r| {
                let column = r.insert_axis(Axis(1));
                about(&(column.dot(&column.t()) - &sample))
            })
            .sum::<f64>()
            / (30.0 * 30.0);
        let (shrunk, intensity) = ledoit_wolf(&rows);
        assert!((intensity - noise / distance).abs() < 1e-12, "{intensity}");
        let want = &sample * (1.0 - intensity) + Array2::<f64>::eye(4) * level * intensity;
        assert!((&shrunk - &want).iter().all(|d| d.abs() < 1e-12));
        assert!(ledoit_wolf(&draw(30_000)).1 < 0.01 * intensity);
    }

    #[test]
    fn rows_of_another_width_are_refused() {
        let mut three = Covariance::new(3);
        assert!(three.add(Array2::zeros((1, 2))).is_err());
        assert!(three.merge(&Covariance::new(2)).is_err());
        assert!(three.matrix().is_none());
    }
}
