//! Numbers that stand for many.

use serde::Serialize;
use taste_engine::Value;

/// How many values are shown as they are.
const SHOWN: usize = 5;

/// Minimum, mean and maximum of values that pass by once.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Stats {
    pub(crate) count: u64,
    pub(crate) min: Option<f64>,
    pub(crate) mean: Option<f64>,
    pub(crate) max: Option<f64>,
    /// Values that are NaN or infinite, which the others leave out.
    pub(crate) not_finite: u64,
    pub(crate) first: Vec<f64>,
}

impl Stats {
    fn push(&mut self, v: f64) {
        if self.first.len() < SHOWN {
            self.first.push(v);
        }
        self.count += 1;
        if !v.is_finite() {
            self.not_finite += 1;
            return;
        }
        self.min = Some(self.min.map_or(v, |m| m.min(v)));
        self.max = Some(self.max.map_or(v, |m| m.max(v)));
        let mean = self.mean.unwrap_or(0.0);
        self.mean = Some(mean + (v - mean) / (self.count - self.not_finite) as f64);
    }

    /// Adds every entry.
    pub(crate) fn entries(&mut self, values: &Value) {
        values.to_f64().iter().for_each(|&v| self.push(v));
    }

    /// Adds the Euclidean norm over all axes after the first `kept`.
    pub(crate) fn norms(&mut self, values: &Value, kept: usize) {
        let width: usize = values.shape().iter().skip(kept).product();
        let entries: Vec<f64> = values.to_f64().iter().copied().collect();
        for part in entries.chunks(width.max(1)) {
            self.push(part.iter().map(|v| v * v).sum::<f64>().sqrt());
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, IxDyn};

    use super::*;

    #[test]
    fn parts_add_up() {
        let mut stats = Stats::default();
        let all =
            ArrayD::from_shape_vec(IxDyn(&[6]), vec![1.0, 5.0, f64::NAN, 0.0, 2.0, -3.0]).unwrap();
        stats.entries(&Value::F64(all));
        assert_eq!((stats.min, stats.mean, stats.max), (Some(-3.0), Some(1.0), Some(5.0)));
        assert_eq!((stats.count, stats.not_finite, stats.first.len()), (6, 1, 5));
        let mut norms = Stats::default();
        let rows = ArrayD::from_shape_vec(IxDyn(&[2, 2]), vec![3.0, 4.0, 0.0, 2.0]).unwrap();
        norms.norms(&Value::F64(rows), 1);
        assert_eq!(norms.first, [5.0, 2.0]);
    }
}
