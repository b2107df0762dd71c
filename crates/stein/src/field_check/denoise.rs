//! How well a score takes the noise out of samples, against the best Gaussian.

use ndarray::{Array1, Array2, Axis};
use serde::Serialize;
use taste_stats::{covariance::Covariance, linear};

use super::held::{Held, Noise, mean_and_error};

/// Samples of more entries are held against a Gaussian without correlations.
const MOST_ENTRIES: usize = 1024;

/// The loss E‖ε + σs‖² of an entry: 1 for a score of zero, and least for the right one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Denoising {
    /// Of the score.
    pub loss: f64,
    /// Of a Gaussian that half of the samples were fitted by, on the other half.
    pub gaussian: f64,
    /// How much larger that of the score is there.
    pub excess: f64,
    /// The standard error of the excess.
    pub error: f64,
}

impl Denoising {
    /// Whether the score is worse than a Gaussian by more than chance and by more than matters.
    pub(super) fn is_worse(&self) -> bool {
        self.excess > 4.0 * self.error && self.excess > 0.05 * self.gaussian
    }
}

/// Nothing where no noise was added, or not to every entry.
pub(super) fn denoising(held: &Held) -> Option<Denoising> {
    let noise = held.noise.as_ref().filter(|n| n.deviations.iter().all(|d| *d > 0.0))?;
    let half = held.len() / 2;
    if half < 2 {
        return None;
    }
    let own = losses(&held.s, noise);
    let (first, second): (Vec<usize>, Vec<usize>) = (0..held.len()).partition(|&i| i < half);
    let (first, second) = (held.select(&first), held.select(&second));
    let reference = losses(&gaussian(&first, &second.y)?, second.noise.as_ref()?);
    let excess = &own.slice(ndarray::s![half..]) - &reference;
    let (excess, error) = mean_and_error(&excess.view());
    Some(Denoising { loss: own.mean()?, gaussian: reference.mean()?, excess, error })
}

/// The loss of every sample.
fn losses(scores: &Array2<f64>, noise: &Noise) -> Array1<f64> {
    let rows = scores.outer_iter().zip(noise.over.outer_iter());
    let loss = rows.map(|(s, over)| {
        let terms = s.iter().zip(over).zip(&noise.deviations);
        terms.map(|((s, over), d)| (d * (s + over)).powi(2)).sum::<f64>() / s.len() as f64
    });
    loss.collect()
}

/// The score, at some samples, of the Gaussian that others have.
fn gaussian(fitted: &Held, at: &Array2<f64>) -> Option<Array2<f64>> {
    let mean = fitted.y.mean_axis(Axis(0))?;
    let below = &mean - at;
    // Without noise, samples may lie in a plane: it adds at least its own variance.
    let least = &fitted.noise.as_ref()?.deviations;
    if fitted.dimension() > MOST_ENTRIES {
        let variances = fitted.y.var_axis(Axis(0), 1.0);
        let precisions: Array1<f64> =
            variances.iter().zip(least).map(|(v, d)| v.max(d * d).recip()).collect();
        return Some(&below * &precisions);
    }
    let mut covariance = Covariance::new(fitted.dimension());
    covariance.add(fitted.y.clone()).ok()?;
    let mut matrix = covariance.matrix()?;
    // As if there were a few more samples of noise alone.
    let weight = fitted.dimension() as f64 / fitted.len() as f64;
    for (entry, d) in matrix.diag_mut().iter_mut().zip(least) {
        *entry += weight * d * d;
    }
    Some(below.dot(&linear::inverse(&matrix)?))
}
