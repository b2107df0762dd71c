//! Means with their standard errors.

use ndarray::{ArrayD, ArrayView1, Axis};
use taste_stats::moments::Summary;

/// How many standard errors are no surprise: 7 in a million by chance, and the seeds are fixed.
pub(crate) const SURPRISE: f64 = 4.5;

/// A number known up to a standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) error: f64,
}

impl Estimate {
    /// The mean of independent values.
    pub(crate) fn of(values: &[f64]) -> Self {
        let summary = Summary::of(values).expect("several values");
        Self { mean: summary.mean, error: summary.standard_error() }
    }

    /// The mean of independent values in single precision.
    pub(crate) fn of_column(values: &ArrayView1<'_, f32>) -> Self {
        Self::of(&values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>())
    }

    /// Means over the first axis, entry by entry.
    pub(crate) fn of_entries(values: &ArrayD<f32>) -> Vec<Self> {
        let rows = values.shape()[0];
        let flat = values.to_shape((rows, values.len() / rows)).expect("rows of entries");
        flat.axis_iter(Axis(1)).map(|column| Self::of_column(&column)).collect()
    }

    /// A number that is known exactly.
    pub(crate) fn exactly(mean: f64) -> Self {
        Self { mean, error: 0.0 }
    }

    /// The sum of independent estimates, each times a factor.
    pub(crate) fn combined(terms: &[(f64, Self)]) -> Self {
        Self {
            mean: terms.iter().map(|(c, t)| c * t.mean).sum(),
            error: terms.iter().map(|(c, t)| (c * t.error).powi(2)).sum::<f64>().sqrt(),
        }
    }

    /// Fails unless it is the other number, up to chance.
    pub(crate) fn assert_is(self, other: Self, what: &str) {
        let off = Self::combined(&[(1.0, self), (-1.0, other)]);
        assert!(off.surprise() <= SURPRISE, "{what}: {self:?} and {other:?}");
    }

    /// Fails unless it vanishes, up to chance.
    pub(crate) fn assert_vanishes(self, what: &str) {
        assert!(self.surprise() <= SURPRISE, "{what}: {self:?}");
    }

    /// Fails unless it stands out from zero by so much that chance is no explanation.
    pub(crate) fn assert_stands_out(self, what: &str) {
        assert!(self.surprise() > 2.0 * SURPRISE, "{what} does not stand out: {self:?}");
    }

    /// The distance from zero in standard errors.
    pub(crate) fn surprise(self) -> f64 {
        self.mean.abs() / self.error
    }
}
