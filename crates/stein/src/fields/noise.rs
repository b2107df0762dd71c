//! Smoothing: the score of the data with noise of variance σ² added to every entry. A mixture of Gaussians stays one, with σ² on the
//! diagonal of every covariance.
//!
//! The border of an image hardly ever varies; without noise, a fitted density is infinitely sure of it, and the score of
//! the slightest change there drowns all else.

use ndarray::Array1;
use serde_json::{Value, json};
use taste_choice::Arguments;
use taste_detector::Described;

use super::shrinkage::Spread;
use crate::Error;

/// The noise of images, in root mean square deviations of an entry.
const OF_IMAGES: f64 = 0.2;

/// How much noise was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise(Option<f64>);

impl Noise {
    /// None at all.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self(Some(0.0))
    }

    /// Reads `noise=SIGMA`.
    pub(super) fn read(arguments: &mut Arguments<'_>) -> Result<Self, Error> {
        let fits = |v: &f64| *v >= 0.0 && v.is_finite();
        Ok(Self(arguments.number("noise", "a deviation of 0 or more", fits)?))
    }

    /// σ² of every entry: as asked for; by default some for images, and none for tables. The columns of a table have units
    /// of their own, so σ counts their standard deviations there.
    pub(super) fn variances(
        self,
        data: &Described,
        spread: &Spread,
        report: &mut Value,
    ) -> Array1<f64> {
        let is_image = data.sample_shape.len() > 1;
        let deviation = self.0.unwrap_or_else(|| {
            let vary = |i: &usize| !spread.constant.contains(i);
            let sum: f64 =
                (0..spread.variances.len()).filter(vary).map(|i| spread.variances[i]).sum();
            let mean = sum / spread.variances.len() as f64;
            if is_image { OF_IMAGES * mean.sqrt() } else { 0.0 }
        });
        report["noise"] = json!(deviation);
        let variance = deviation * deviation;
        if is_image {
            return Array1::from_elem(spread.variances.len(), variance);
        }
        if variance > 0.0 {
            report["noise_unit"] = json!("standard deviations of each column");
        }
        &spread.variances * variance
    }
}

/// Variances with the noise added; entries that do not vary have the noise alone.
pub(super) fn smoothed(spread: &Spread, noise: &Array1<f64>) -> Array1<f64> {
    let mut variances = &spread.variances + noise;
    for &i in spread.constant.iter().filter(|&&i| noise[i] > 0.0) {
        variances[i] = noise[i];
    }
    variances
}
