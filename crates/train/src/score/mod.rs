//! Score models trained for a detector: the specification `train`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use taste_data::Samples;
use taste_engine::Backend;
use taste_graph::{Build, Id};
use taste_stein::score::{ScoreModel, Specification};

use crate::{Decay, Error, Fitted, Progress, ScoreNetwork, Trained, Training, error::request};

/// How the specification is written.
pub const USAGE: &str = "train[:sigma=0.2][,steps=N][,batch=N][,rate=0.002][,width=128]";

/// Steps for pictures and for tables, unless something else is asked for.
pub const PICTURE_STEPS: usize = 1000;
const TABLE_STEPS: usize = 2000;
/// Samples that a step sees.
pub const PICTURE_BATCH: usize = 64;
const TABLE_BATCH: usize = 128;
/// The share of the samples that judges the network.
const HELD_OUT: f64 = 0.1;

/// A network trained by denoising score matching on the data of a detector: the paper's four convolutions for images, smooth
/// layers for tables. The data are standardised first.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainScore {
    /// The deviation of the noise, where the data have deviation 1.
    pub sigma: f64,
    /// How many steps; by default 1,000 for pictures and 2,000 for tables.
    pub steps: Option<usize>,
    /// How many samples a step sees; by default 64 pictures or 128 rows.
    pub batch: Option<usize>,
    /// The rate of Adam, which falls along a cosine.
    pub rate: f64,
    /// The width of the two layers for tables.
    pub width: usize,
    /// The engine.
    pub backend: Backend,
    /// How many threads it uses.
    pub threads: usize,
}

impl Default for TrainScore {
    fn default() -> Self {
        Self {
            sigma: 0.2,
            steps: None,
            batch: None,
            rate: 2e-3,
            width: 128,
            backend: Backend::default(),
            threads: taste_threads::count(None),
        }
    }
}

impl FromStr for TrainScore {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let rest = match text.split_once(':') {
            None if text.trim() == "train" => "",
            Some((name, rest)) if name.trim() == "train" => rest,
            _ => return Err(request(format!("{text:?} is not written {USAGE}"))),
        };
        let mut asked = Self::default();
        for part in rest.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let unknown = || request(format!("{part:?} means nothing here: it is written {USAGE}"));
            let (key, value) = part.split_once('=').ok_or_else(unknown)?;
            let (key, value) = (key.trim(), value.trim());
            match key {
                "sigma" => asked.sigma = number(key, value, |v| (1e-4..=10.0).contains(v))?,
                "rate" => asked.rate = number(key, value, |v| (1e-8..=1.0).contains(v))?,
                "steps" => {
                    asked.steps = Some(number(key, value, |v| (1..=100_000_000).contains(v))?);
                }
                "batch" => asked.batch = Some(number(key, value, |v| (1..=65_536).contains(v))?),
                "width" => asked.width = number(key, value, |v| (1..=8192).contains(v))?,
                _ => return Err(unknown()),
            }
        }
        Ok(asked)
    }
}

/// Text as a number that fits.
fn number<T: FromStr + fmt::Display>(
    key: &str,
    text: &str,
    fits: impl Fn(&T) -> bool,
) -> Result<T, Error> {
    let found = text.parse().ok().filter(fits);
    found.ok_or_else(|| request(format!("{key}={text} is out of range: it is written {USAGE}")))
}

impl TrainScore {
    /// Trains on samples.
    pub fn train(&self, samples: &dyn Samples, seed: u64) -> Result<TrainedScore, Error> {
        self.train_watched(samples, seed, &|_| {})
    }

    fn train_watched(
        &self,
        samples: &dyn Samples,
        seed: u64,
        progress: &dyn Fn(&Progress),
    ) -> Result<TrainedScore, Error> {
        let shape = samples.sample_shape();
        let kind =
            if shape.len() == 3 { ScoreNetwork::Conv } else { ScoreNetwork::Mlp(self.width) };
        let network = kind.build(shape, None)?;
        let (steps, batch) = if shape.len() == 3 {
            (PICTURE_STEPS, PICTURE_BATCH)
        } else {
            (TABLE_STEPS, TABLE_BATCH)
        };
        let steps = self.steps.unwrap_or(steps);
        let fitted = Training::score(&network, self.sigma)
            .steps(steps)
            .batch(self.batch.unwrap_or(batch))
            .rate(self.rate)
            .warm_up(steps / 50)
            .decay(Decay::Cosine)
            .average(0.995)
            .clip(1.0)
            .held_out(HELD_OUT)
            .seed(seed)
            .backend(self.backend.clone(), self.threads)
            .progress(progress)
            .run_standardized(samples)?;
        Ok(TrainedScore { asked: self.clone(), seed, fitted })
    }

    /// As a score model for a detector, which tells how far its training is.
    pub fn watched(self, progress: impl Fn(&Progress) + Send + Sync + 'static) -> WatchedTraining {
        WatchedTraining { asked: self, progress: Box::new(progress) }
    }
}

/// A specification that tells how far its training is.
pub struct WatchedTraining {
    asked: TrainScore,
    progress: Box<dyn Fn(&Progress) + Send + Sync>,
}

impl fmt::Debug for WatchedTraining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asked.fmt(f)
    }
}

impl Specification for WatchedTraining {
    fn learns(&self) -> bool {
        true
    }

    fn fit(
        &self,
        samples: &dyn Samples,
        seed: u64,
    ) -> Result<Box<dyn ScoreModel>, taste_stein::Error> {
        Ok(Box::new(self.asked.train_watched(samples, seed, &*self.progress)?))
    }
}

/// A trained network together with how its input is standardised.
#[derive(Clone, Debug)]
pub struct TrainedScore {
    asked: TrainScore,
    seed: u64,
    fitted: Fitted,
}

impl TrainedScore {
    /// The run, on standardised samples.
    pub fn trained(&self) -> &Trained {
        self.fitted.trained()
    }

    /// The loss of the best Gaussian, for comparison with the held-out loss; nothing where there are too many entries.
    pub fn gaussian_loss(&self) -> Option<f64> {
        self.fitted.gaussian_loss()
    }
}

impl ScoreModel for TrainedScore {
    fn describe(&self) -> Value {
        let trained = self.trained();
        let held_out = trained.held_out();
        json!({
            "family": "train",
            "sigma": self.asked.sigma,
            "sigma_of": "standardised samples",
            "deviation": self.fitted.standard().describe(),
            "steps": trained.pace().steps,
            "batch": trained.pace().batch,
            "rate": self.asked.rate,
            "seed": self.seed,
            "weights": trained.parameters().count(),
            "held_out_loss": held_out.map(|h| h.loss),
            "stein_ratio": held_out.and_then(|h| h.stein).map(|s| s.ratio),
            "stein_ratio_error": held_out.and_then(|h| h.stein).map(|s| s.error),
            "gaussian_loss": self.gaussian_loss(),
            "skipped": trained.skipped(),
        })
    }

    fn noise(&self) -> Vec<f64> {
        self.fitted.noise()
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, taste_stein::Error> {
        Ok(self.fitted.build(b, y)?)
    }
}
