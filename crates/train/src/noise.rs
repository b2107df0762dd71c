//! How much noise samples get: x̃ = signal · x + spread · ε, at a level t that the network is conditioned on.

use taste_stats::random::Random;

use crate::Error;
use crate::error::request;

/// How ᾱ, the share of the data's variance that is left, falls over the steps of a diffusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Diffusion {
    /// β grows in a line from 1e-4 to 0.02 (Ho and others 2020).
    Linear,
    /// ᾱ is a squared cosine (Nichol and Dhariwal 2021).
    Cosine,
}

/// Which noise a network learns to see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    /// One deviation; the network is not conditioned on it.
    One(f64),
    /// Deviations from a lowest to a highest, evenly in their logarithm, which is the level.
    Range(f64, f64),
    /// The steps of a diffusion, of which there are so many; the level is the number of the step.
    Steps(Diffusion, usize),
}

/// Samples and noise in a noisy sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mix {
    pub(crate) signal: f64,
    pub(crate) spread: f64,
}

impl Noise {
    pub(crate) fn check(self) -> Result<(), Error> {
        let positive = |sigma: f64| sigma > 0.0 && sigma.is_finite();
        match self {
            Self::One(sigma) if positive(sigma) => Ok(()),
            Self::Range(low, high) if positive(low) && positive(high) && low < high => Ok(()),
            Self::Steps(_, steps) if (2..=1_000_000).contains(&steps) => Ok(()),
            Self::One(sigma) => {
                Err(request(format!("the deviation of the noise must be above 0, but is {sigma}")))
            }
            Self::Range(low, high) => Err(request(format!(
                "the deviations of the noise must rise from above 0, but go from {low} to {high}"
            ))),
            Self::Steps(_, steps) => Err(request(format!(
                "a diffusion has 2 to a million steps, but {steps} are asked for"
            ))),
        }
    }

    /// Whether the network is conditioned on the level.
    pub(crate) fn has_levels(self) -> bool {
        !matches!(self, Self::One(_))
    }

    /// A level at random.
    pub(crate) fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::One(_) => 0.0,
            Self::Range(low, high) => low.ln() + (high.ln() - low.ln()) * random.uniform(),
            Self::Steps(_, steps) => random.below(steps) as f64,
        }
    }

    /// The level with the least noise.
    pub(crate) fn lowest(self) -> f64 {
        match self {
            Self::One(_) | Self::Steps(..) => 0.0,
            Self::Range(low, _) => low.ln(),
        }
    }

    /// Levels from the least noise to the most, as evenly as they are drawn.
    pub(crate) fn levels(self, count: usize) -> Vec<f64> {
        let share = |i: usize| (i as f64 + 0.5) / count as f64;
        match self {
            Self::One(_) => vec![0.0],
            Self::Range(low, high) => {
                (0..count).map(|i| low.ln() + (high.ln() - low.ln()) * share(i)).collect()
            }
            Self::Steps(_, steps) => {
                let mut levels: Vec<f64> =
                    (0..count).map(|i| (share(i) * steps as f64).floor()).collect();
                levels.dedup();
                levels
            }
        }
    }

    /// A level with little noise, at which a score is looked at.
    pub(crate) fn low(self) -> f64 {
        match self {
            Self::Steps(_, steps) => (steps / 20) as f64,
            other => other.lowest(),
        }
    }

    /// The noise of a level. Over a range, noisy samples are scaled so that their variance stays near that of the
    /// samples.
    pub(crate) fn at(self, level: f64) -> Mix {
        match self {
            Self::One(sigma) => Mix { signal: 1.0, spread: sigma },
            Self::Range(..) => {
                let sigma = level.exp();
                let signal = 1.0 / (1.0 + sigma * sigma).sqrt();
                Mix { signal, spread: sigma * signal }
            }
            Self::Steps(diffusion, steps) => {
                let left = diffusion.left(level, steps);
                Mix { signal: left.sqrt(), spread: (1.0 - left).sqrt() }
            }
        }
    }
}

impl Mix {
    /// The deviation of the noise beside samples as they are.
    pub(crate) fn sigma(self) -> f64 {
        self.spread / self.signal
    }

    /// The least loss of a score that is linear in samples with these eigenvalues of the covariance.
    pub(crate) fn gaussian_loss(self, spectrum: &[f64]) -> f64 {
        let square = self.sigma().powi(2);
        spectrum.iter().map(|v| v / (v + square)).sum::<f64>() / spectrum.len().max(1) as f64
    }
}

impl Diffusion {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Cosine => "cosine",
        }
    }

    /// ᾱ after step `level`, counted from 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "levels are numbers of steps"
    )]
    fn left(self, level: f64, steps: usize) -> f64 {
        let last = (level.max(0.0) as usize).min(steps - 1);
        let cosine = |step: usize| {
            let angle = (step as f64 / steps as f64 + 0.008) / 1.008;
            (angle * std::f64::consts::FRAC_PI_2).cos().powi(2)
        };
        let beta = |step: usize| match self {
            Self::Linear => {
                let share = step as f64 / (steps - 1) as f64;
                1e-4 + (0.02 - 1e-4) * share
            }
            Self::Cosine => (1.0 - cosine(step + 1) / cosine(step)).min(0.999),
        };
        (0..=last).map(|step| 1.0 - beta(step)).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffusions_have_the_published_levels() {
        for (t, signal, spread) in [(0.0, 0.999_950, 0.01), (50.0, 0.984_861, 0.173_345)] {
            let mix = Noise::Steps(Diffusion::Linear, 1000).at(t);
            assert!((mix.signal - signal).abs() < 1e-6 && (mix.spread - spread).abs() < 1e-6);
        }
        let end = Noise::Steps(Diffusion::Cosine, 1000).at(999.0);
        assert!(end.signal < 0.01 && end.spread > 0.999);
    }

    #[test]
    fn a_gaussian_s_loss_is_what_is_left_of_the_noise() {
        // Two axes of variance 1 and 0: half of the noise of deviation 1 along the first is not seen, none along the
        // second.
        let mix = Noise::One(1.0).at(0.0);
        assert!((mix.gaussian_loss(&[1.0, 0.0]) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_range_keeps_the_variance_and_draws_within() {
        let noise = Noise::Range(0.05, 2.0);
        let mut random = Random::new(1);
        for _ in 0..100 {
            let level = noise.draw(&mut random);
            assert!((0.05f64.ln()..=2f64.ln()).contains(&level));
            let Mix { signal, spread } = noise.at(level);
            assert!((signal.powi(2) + spread.powi(2) - 1.0).abs() < 1e-12);
            assert!((spread / signal - level.exp()).abs() < 1e-12);
        }
        assert!(Noise::Range(2.0, 1.0).check().is_err());
        let levels = noise.levels(8);
        assert!(levels.is_sorted() && levels.len() == 8);
        assert_eq!(Noise::Steps(Diffusion::Linear, 4).levels(10), [0.0, 1.0, 2.0, 3.0]);
    }
}
