//! Standardised coordinates, in which densities are fitted: the units of entries decide nothing about shrinkage,
//! bandwidths or priors.

use ndarray::{Array1, Array2};
use serde_json::Value;
use taste_detector::Described;
use taste_graph::{Build, Id};

use super::{
    noise::{Noise, smoothed},
    rows,
    shrinkage::Spread,
    summary::Summary,
};
use crate::Error;

/// z = (y − mean)/scale. Columns of a table that do not vary have no scale: they are left out, with z = 0.
#[derive(Clone, Debug)]
pub(super) struct Standard {
    pub(super) mean: Array1<f64>,
    /// Deviations, noise included; infinite for what is left out.
    pub(super) scale: Array1<f64>,
    /// The variance of the noise in y, by entry.
    noise: Array1<f64>,
}

impl Standard {
    /// From how samples vary, with the noise that was asked for.
    pub(super) fn new(
        summary: &Summary,
        spread: &Spread,
        data: &Described,
        asked: Noise,
        report: &mut Value,
    ) -> Self {
        let noise = asked.variances(data, spread, report);
        let mut scale = smoothed(spread, &noise).mapv(f64::sqrt);
        if data.sample_shape.len() == 1 {
            spread.constant.iter().for_each(|&i| scale[i] = f64::INFINITY);
        }
        Self { mean: summary.mean.clone(), scale, noise }
    }

    /// With scales `factor` times as large.
    pub(super) fn widened(mut self, factor: f64) -> Self {
        self.scale *= factor;
        self
    }

    /// 1/scale.
    fn inverse(&self) -> Array1<f64> {
        self.scale.mapv(f64::recip)
    }

    /// Samples as rows, in these coordinates.
    pub(super) fn rows(&self, y: &Array2<f64>) -> Array2<f64> {
        (y - &self.mean) * &self.inverse()
    }

    /// The variance of the noise in these coordinates; nothing if there is none.
    pub(super) fn noise(&self) -> Option<Array1<f64>> {
        let noise = &self.noise * &self.inverse().mapv(|v| v * v);
        noise.iter().any(|n| *n > 0.0).then_some(noise)
    }

    /// The deviation of the noise in y: one number if all entries have the same.
    pub(super) fn noise_deviations(&self) -> Vec<f64> {
        let first = self.noise[0];
        if self.noise.iter().all(|n| n.to_bits() == first.to_bits()) {
            return vec![first.sqrt()];
        }
        self.noise.iter().map(|n| n.sqrt()).collect()
    }

    /// z (N × D) of samples y.
    pub(super) fn forth(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let dimension = self.mean.len();
        let flat = rows::flat(b, y, dimension)?;
        let mean = rows::parameter(b, &[1, dimension], self.mean.to_vec())?;
        let centred = b.sub(flat, mean)?;
        let inverse = rows::parameter(b, &[1, dimension], self.inverse().to_vec())?;
        Ok(b.mul(centred, inverse)?)
    }

    /// A score in z (N × D) as one in y.
    pub(super) fn back(&self, b: &mut Build<'_>, score: Id, y: Id) -> Result<Id, Error> {
        let inverse = rows::parameter(b, &[1, self.mean.len()], self.inverse().to_vec())?;
        let scaled = b.mul(score, inverse)?;
        rows::like(b, scaled, y)
    }
}
