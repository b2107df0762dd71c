//! Whether far fewer samples are flagged than chance explains.

use taste_stats::{beta_binomial, normal};

use crate::{Detector, Goal};

/// How rare a count is that is worth a word.
const RARE: f64 = 0.005;
/// Beyond this many samples a normal distribution takes the place of exact chances.
const EXACT: usize = 20_000;

impl Detector {
    /// Whether far fewer samples are flagged than of data like the calibration data: samples that look too ordinary, as
    /// stuck sensors and saturated outputs make them. False where the threshold was set by hand or novelty flags too.
    pub fn flags_too_few(&self, flagged: usize, samples: usize) -> bool {
        let decision = &self.manifest().decision;
        let (Some(threshold), Some(_), Goal::Harm) =
            (decision.threshold, decision.alpha, decision.goal)
        else {
            return false;
        };
        let scores = self.calibration();
        let above = scores.iter().filter(|&&s| f64::from(s) > threshold).count();
        let (n, m) = (scores.len() as f64, samples as f64);
        if above == 0 || samples == 0 {
            return false;
        }
        let share = above as f64 / (n + 1.0);
        let chance = if samples <= EXACT {
            let chances = beta_binomial::chances(samples, above as f64, n + 1.0 - above as f64);
            chances[..=flagged.min(samples)].iter().sum::<f64>()
        } else {
            let deviation = (share * (1.0 - share) * (1.0 / n + 1.0 / m)).sqrt();
            normal::upper((share - flagged as f64 / m) / deviation)
        };
        chance <= RARE
    }
}
