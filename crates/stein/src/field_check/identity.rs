//! Expectations that should vanish.

use ndarray::{Array2, ArrayView1, Axis};
use serde::Serialize;

use super::held::mean_and_error;

/// Several expectations that should vanish, in standard errors.
#[derive(Clone, Debug, Serialize)]
pub struct Identity {
    /// How many there are.
    pub functions: usize,
    /// The root of the mean square: 1 if all vanish.
    pub typical: f64,
    /// The largest.
    pub largest: f64,
    /// Which one.
    pub at: usize,
}

impl Identity {
    /// Of ratios to standard errors; what is not finite is passed over.
    pub(super) fn of(ratios: &[f64]) -> Self {
        let finite: Vec<(usize, f64)> =
            ratios.iter().map(|z| z.abs()).enumerate().filter(|(_, z)| z.is_finite()).collect();
        let count = finite.len().max(1) as f64;
        let largest = finite.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let (at, largest) = largest.unwrap_or((0, 0.0));
        let typical = (finite.iter().map(|(_, z)| z * z).sum::<f64>() / count).sqrt();
        Self { functions: finite.len(), typical, largest, at }
    }

    /// That the mean of every column is zero.
    pub(super) fn of_columns(rows: &Array2<f64>) -> Self {
        Self::of(&ratios(rows))
    }

    /// Whether the largest is no larger than chance makes it, or than `idle` deviations of its function over `samples`.
    pub(super) fn holds(&self, idle: f64, samples: usize) -> bool {
        let chance = 3.0 + (2.0 * (self.functions.max(1) as f64).ln()).sqrt();
        self.largest < chance.max(idle * (samples as f64).sqrt())
    }
}

fn ratios(rows: &Array2<f64>) -> Vec<f64> {
    let ratio = |column: ArrayView1<'_, f64>| {
        let (mean, error) = mean_and_error(&column);
        mean / error
    };
    rows.columns().into_iter().map(ratio).collect()
}

/// The means of many entries at once: each may be within chance where all of them together are not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joint {
    /// The mean square of the means, in standard errors: 1 if all are zero.
    square: f64,
    /// As many independent entries would vary as much together.
    freedom: f64,
    samples: f64,
}

impl Joint {
    pub(super) fn of(rows: &Array2<f64>) -> Self {
        /// Pairs of rows are this far apart, or less.
        const PAIRS: usize = 4;
        let n = rows.nrows();
        let ratios: Vec<f64> = ratios(rows).into_iter().filter(|z| z.is_finite()).collect();
        let width = ratios.len().max(1) as f64;
        // The square of a t-distributed ratio is larger on average.
        let wide = (n as f64 - 1.0) / (n as f64 - 3.0).max(1.0);
        let square = ratios.iter().map(|z| z * z).sum::<f64>() / width / wide;
        let deviations = rows.std_axis(Axis(0), 0.0);
        let mut unit = rows - &rows.mean_axis(Axis(0)).unwrap_or_else(|| deviations.clone());
        for mut row in unit.outer_iter_mut() {
            row.zip_mut_with(&deviations, |v, d| *v = if *d > 0.0 { *v / d } else { 0.0 });
        }
        // For independent rows u and v, E(u·v)² is the sum of all squared correlations.
        let (mut sum, mut pairs) = (0.0, 0usize);
        for apart in 1..=PAIRS.min(n - 1) {
            for i in 0..n - apart {
                sum += unit.row(i).dot(&unit.row(i + apart)).powi(2);
                pairs += 1;
            }
        }
        let squares = (sum / pairs.max(1) as f64).max(width);
        Self { square, freedom: width * width / squares, samples: n as f64 }
    }

    /// The root mean square, in standard errors.
    pub(super) fn typical(&self) -> f64 {
        self.square.sqrt()
    }

    /// Whether the means are zero but for chance, or for less than matters. `fitted` is the number of samples that the model
    /// was fitted to, for each of these: its own means vary with them.
    pub(super) fn holds(&self, fitted: Option<f64>) -> bool {
        /// In standard deviations of a normal variable.
        const CHANCE: f64 = 4.5;
        /// The mean of an entry, in deviations of the entry, that matters to no one.
        const IDLE: f64 = 0.02;
        let square = self.square / (1.0 + fitted.map_or(0.0, f64::recip));
        // The cube root of a mean square is nearly normal (Wilson and Hilferty 1931).
        let width = 2.0 / (9.0 * self.freedom);
        let z = (square.cbrt() - (1.0 - width)) / width.sqrt();
        z < CHANCE || (square - 1.0) / self.samples < IDLE * IDLE
    }
}
