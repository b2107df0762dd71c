//! Mean and covariance in one pass over the data, in double precision.

use ndarray::{Array1, Array2, Axis};
use serde_json::{Value, json};
use taste_data::Samples;

use super::{linear, rows, shrinkage::Spread};
use crate::{Error, error::request};

/// Entries that a chunk has at most.
const CHUNK_ENTRIES: usize = 1 << 20;

/// Second moments about the mean, summed over the samples.
#[derive(Clone, Debug)]
pub(super) enum Scatter {
    /// By entry.
    Diagonal(Array1<f64>),
    /// For every pair of entries.
    Full(Array2<f64>),
}

/// What one pass over the data gives.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    /// Samples with finite entries.
    pub(super) count: usize,
    /// Samples with other entries.
    pub(super) skipped: usize,
    pub(super) mean: Array1<f64>,
    pub(super) scatter: Scatter,
}

impl Moments {
    /// Goes through the samples; at least `least` must have finite entries.
    pub(super) fn of(samples: &dyn Samples, full: bool, least: usize) -> Result<Self, Error> {
        let dimension = samples.sample_shape().iter().product();
        if dimension == 0 {
            return Err(request(format!("{}: the samples have no entries", samples.name())));
        }
        let scatter = if full {
            Scatter::Full(Array2::zeros((dimension, dimension)))
        } else {
            Scatter::Diagonal(Array1::zeros(dimension))
        };
        let mut moments = Self { count: 0, skipped: 0, mean: Array1::zeros(dimension), scatter };
        for chunk in samples.chunks((CHUNK_ENTRIES / dimension).clamp(1, 4096))? {
            let (finite, skipped) = rows::finite(&chunk?, dimension);
            moments.skipped += skipped;
            moments.add(finite);
        }
        if moments.count < least {
            return Err(request(format!(
                "{}: the score model wants at least {least} samples with finite entries, got {} ({} more had \
                 entries that are not finite)",
                samples.name(),
                moments.count,
                moments.skipped
            )));
        }
        Ok(moments)
    }

    /// Joins the moments of some more rows (Chan, Golub and `LeVeque` 1983).
    fn add(&mut self, mut rows: Array2<f64>) {
        let Some(mean) = rows.mean_axis(Axis(0)) else { return };
        rows -= &mean;
        // What rounding left of the mean.
        if let Some(rest) = rows.mean_axis(Axis(0)) {
            rows -= &rest;
        }
        let (old, new) = (self.count as f64, rows.nrows() as f64);
        let delta = &mean - &self.mean;
        let factor = old * new / (old + new);
        match &mut self.scatter {
            Scatter::Diagonal(sums) => {
                *sums += &rows.map_axis(Axis(0), |column| column.dot(&column));
                sums.zip_mut_with(&delta, |s, d| *s += factor * d * d);
            }
            Scatter::Full(sums) => {
                *sums += &linear::gram(&rows);
                for (mut row, di) in sums.rows_mut().into_iter().zip(&delta) {
                    row.scaled_add(factor * di, &delta);
                }
            }
        }
        self.mean.scaled_add(new / (old + new), &delta);
        self.count += rows.nrows();
    }

    /// The variance of every entry; an error if none varies.
    pub(super) fn spread(&self, samples: &dyn Samples) -> Result<Spread, Error> {
        let sums = match &self.scatter {
            Scatter::Diagonal(sums) => sums.clone(),
            Scatter::Full(sums) => sums.diag().to_owned(),
        };
        Spread::new(&(sums / self.count as f64), &self.mean).ok_or_else(|| {
            request(format!(
                "{}: all samples are equal, so there is no density to fit",
                samples.name()
            ))
        })
    }

    /// The numbers that every fitted family reports.
    pub(super) fn describe(&self, spread: &Spread, columns: Option<&[String]>) -> Value {
        let mut report = json!({
            "dimension": self.mean.len(),
            "samples": self.count,
            "skipped": self.skipped,
        });
        if !spread.constant.is_empty() {
            const SHOWN: usize = 20;
            let name = |&i: &usize| match columns.and_then(|c| c.get(i)) {
                Some(name) => json!(name),
                None => json!(i),
            };
            report["constant_entries"] = json!({
                "count": spread.constant.len(),
                "first": spread.constant.iter().take(SHOWN).map(name).collect::<Vec<_>>(),
                "variance_used": spread.stand_in,
            });
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayD;
    use taste_data::InMemory;

    use super::*;
    use crate::score::testing::normal_samples;

    #[test]
    fn the_order_of_samples_does_not_matter() {
        let data = normal_samples(5000, 3, 7).mapv(|v| v * 0.1 + 100.0);
        let mut turned = data.clone();
        turned.invert_axis(Axis(0));
        let [a, b] = [data, turned].map(|d: ArrayD<f32>| {
            Moments::of(&InMemory::new("data", d), true, 2).expect("moments")
        });
        assert!((&a.mean - &b.mean).iter().all(|d| d.abs() < 1e-11));
        let (Scatter::Full(x), Scatter::Full(y)) = (&a.scatter, &b.scatter) else {
            panic!("asked for all pairs")
        };
        assert!((x - y).iter().all(|d| d.abs() < 1e-9 * x[[0, 0]]));
    }

    #[test]
    fn diagonal_moments_are_the_diagonal_of_the_full_ones() {
        let samples = InMemory::new("data", normal_samples(3000, 4, 3));
        let full = Moments::of(&samples, true, 2).expect("moments");
        let diagonal = Moments::of(&samples, false, 2).expect("moments");
        let (Scatter::Full(x), Scatter::Diagonal(y)) = (&full.scatter, &diagonal.scatter) else {
            panic!("as asked for")
        };
        assert!((&x.diag() - y).iter().all(|d| d.abs() < 1e-8));
    }

    #[test]
    fn rows_that_are_not_finite_are_counted_and_too_few_rows_refused() {
        let mut data = normal_samples(12, 2, 0);
        data[[3, 1]] = f32::NAN;
        data[[5, 0]] = f32::INFINITY;
        let samples = InMemory::new("small.npy", data);
        let moments = Moments::of(&samples, false, 10).expect("ten are left");
        assert_eq!((moments.count, moments.skipped), (10, 2));
        let message = Moments::of(&samples, false, 11).expect_err("too few").to_string();
        assert!(message.contains("small.npy: the score model wants at least 11"), "{message}");
    }
}
