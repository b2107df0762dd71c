//! A score model trained by denoising score matching.

use std::{fmt, ops::RangeInclusive, str::FromStr, sync::Arc};

use serde_json::{Value, json};
use taste_choice::{Arguments, Choice};
use taste_data::Samples;
use taste_detector::Stage;
use taste_graph::{Build, Id};
use taste_stein::fields::{Field, FieldFamily, FieldSpec, Learner, Learning};

use crate::{Decay, Error, Fitted, Progress, ScoreNetwork, Training};

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: "train",
        usage: "train[:sigma=0.2][,steps=N][,batch=N][,rate=0.002][,width=128]",
        about: "a network trained on the data by denoising score matching: convolutions for images, dense layers for \
                tables",
    },
    read,
};

/// Steps for images, unless something else is asked for.
pub const IMAGE_STEPS: usize = 1000;
const TABLE_STEPS: usize = 2000;
/// Images that a step sees, unless something else is asked for.
pub const IMAGE_BATCH: usize = 64;
const TABLE_BATCH: usize = 128;
/// The share of the samples that judges the network.
const HELD_OUT: f64 = 0.1;

/// A network trained by denoising score matching on the data of a detector: the paper's four convolutions for images,
/// smooth layers for tables. The data are standardised first.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldTraining {
    /// The deviation of the noise, where the data have deviation 1.
    pub sigma: f64,
    /// How many steps; by default 1,000 for images and 2,000 for tables.
    pub steps: Option<usize>,
    /// How many samples a step sees; by default 64 images or 128 rows.
    pub batch: Option<usize>,
    /// The rate of Adam, which falls along a cosine.
    pub rate: f64,
    /// The width of the two layers for tables.
    pub width: usize,
}

impl Default for FieldTraining {
    fn default() -> Self {
        Self { sigma: 0.2, steps: None, batch: None, rate: 2e-3, width: 128 }
    }
}

fn read(mut arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, taste_detector::Error> {
    let default = FieldTraining::default();
    let asked = FieldTraining {
        sigma: within(&mut arguments, "sigma", &(1e-4..=10.0))?.unwrap_or(default.sigma),
        steps: within(&mut arguments, "steps", &(1..=100_000_000))?,
        batch: within(&mut arguments, "batch", &(1..=65_536))?,
        rate: within(&mut arguments, "rate", &(1e-8..=1.0))?.unwrap_or(default.rate),
        width: within(&mut arguments, "width", &(1..=8192))?.unwrap_or(default.width),
    };
    arguments.finish()?;
    Ok(Arc::new(asked))
}

/// The number of a key, if it is there.
fn within<T: FromStr + fmt::Display + PartialOrd>(
    arguments: &mut Arguments<'_>,
    key: &str,
    range: &RangeInclusive<T>,
) -> Result<Option<T>, taste_choice::Error> {
    let wanted = format!("a number from {} to {}", range.start(), range.end());
    arguments.number(key, &wanted, |number| range.contains(number))
}

impl FieldTraining {
    fn train(&self, learner: &Learner<'_>, samples: &dyn Samples) -> Result<TrainedField, Error> {
        let shape = samples.sample_shape();
        let kind =
            if shape.len() == 3 { ScoreNetwork::Conv } else { ScoreNetwork::Mlp(self.width) };
        let network = kind.build(shape, None)?;
        let (steps, batch) =
            if shape.len() == 3 { (IMAGE_STEPS, IMAGE_BATCH) } else { (TABLE_STEPS, TABLE_BATCH) };
        let steps = self.steps.unwrap_or(steps);
        let progress = |at: &Progress<'_>| {
            let purpose = "steps for the score model";
            (learner.progress)(Stage { purpose, done: at.point.step, total: Some(at.steps) })
        };
        let fitted = Training::score(&network, self.sigma)
            .steps(steps)
            .batch(self.batch.unwrap_or(batch))
            .rate(self.rate)
            .warm_up(steps / 50)
            .decay(Decay::Cosine)
            .average(0.995)
            .clip(1.0)
            .held_out(HELD_OUT)
            .seed(learner.seed)
            .backend(learner.engine.backend.clone(), learner.engine.threads)
            .progress(&progress)
            .run_standardized(samples)?;
        Ok(TrainedField { asked: self.clone(), seed: learner.seed, fitted })
    }
}

impl FieldSpec for FieldTraining {
    fn learns(&self) -> bool {
        true
    }

    fn begin(&self, _: &Learner<'_>) -> Result<Learning, taste_detector::Error> {
        let asked = self.clone();
        Ok(Learning::Samples(Box::new(move |learner, samples| {
            Ok(Box::new(asked.train(learner, samples)?))
        })))
    }
}

/// A trained network together with how its input is standardised.
#[derive(Debug)]
struct TrainedField {
    asked: FieldTraining,
    seed: u64,
    fitted: Fitted,
}

impl Field for TrainedField {
    fn describe(&self) -> Value {
        let trained = self.fitted.trained();
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
            "gaussian_loss": self.fitted.gaussian_loss(),
            "skipped": trained.skipped(),
        })
    }

    fn noise(&self) -> Vec<f64> {
        self.fitted.noise()
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, taste_detector::Error> {
        Ok(self.fitted.build(b, y)?)
    }
}
