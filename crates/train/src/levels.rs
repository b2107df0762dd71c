//! How a score does at every noise level.

use ndarray::{ArrayD, Axis, Slice};
use serde::Serialize;
use taste_engine::Backend;
use taste_stats::{moments::Summary, random::Random};

use crate::{
    Error, Fitted,
    noise::{Mix, Noise},
    predictor::Predictor,
};

/// Levels that are looked at.
const LEVELS: usize = 8;
/// Samples that each is looked at with, where there are several.
const SAMPLES: usize = 500;

/// The held-out loss at one noise level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The deviation of the noise beside that of standardised samples.
    pub sigma: f64,
    /// The step of a diffusion.
    pub step: Option<f64>,
    /// The mean loss.
    pub loss: f64,
    /// Its standard error.
    pub error: f64,
    /// The loss of the best Gaussian score.
    pub gaussian: Option<f64>,
}

impl Fitted {
    /// The loss on held-out samples from the least noise to the most; nothing without held-out samples.
    pub fn levels(&self, backend: &Backend, threads: usize) -> Result<Vec<Level>, Error> {
        let trained = self.trained();
        let mut predictor = Predictor::start(trained, backend, threads)?;
        let noise = predictor.noise;
        let levels = noise.levels(LEVELS);
        let most = if levels.len() > 1 { SAMPLES } else { usize::MAX };
        let count = trained.kept.shape()[0].min(most);
        if count < 2 {
            return Ok(Vec::new());
        }
        let clean = trained.kept.slice_axis(Axis(0), Slice::from(..count)).to_owned();
        let mut found = Vec::new();
        for (number, &level) in levels.iter().enumerate() {
            let mix = noise.at(level);
            let (noisy, drawn) = disturbed(&clean, mix, &mut Random::stream(1, number as u64));
            let gap = predictor.noise_in(&noisy, level)? - drawn;
            let losses = gap.outer_iter().map(|row| {
                let squares: f64 = row.iter().map(|&v| f64::from(v).powi(2)).sum();
                squares / row.len().max(1) as f64
            });
            let Some(losses) = Summary::of(&losses.collect::<Vec<f64>>()) else { continue };
            found.push(Level {
                sigma: mix.sigma(),
                step: matches!(noise, Noise::Steps(..)).then_some(level),
                loss: losses.mean,
                error: losses.standard_error(),
                gaussian: self.spectrum().map(|spectrum| mix.gaussian_loss(spectrum)),
            });
        }
        Ok(found)
    }
}

/// Samples with noise, and what was drawn for every entry.
#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
pub(crate) fn disturbed(
    clean: &ArrayD<f32>,
    Mix { signal, spread }: Mix,
    random: &mut Random,
) -> (ArrayD<f32>, ArrayD<f32>) {
    let drawn = clean.mapv(|_| random.normal() as f32);
    (clean * signal as f32 + &drawn * spread as f32, drawn)
}
