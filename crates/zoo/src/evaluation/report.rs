//! What an evaluation says.

use std::collections::BTreeMap;

use serde::Serialize;
use taste_detector::{Detector, Error, Estimate, refused};

use crate::metrics::Measured;

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Task {
    /// The largest of several outputs is the answer.
    Classifier {
        /// How many outputs.
        classes: usize,
    },
    /// The only output tells the second of two classes from the first.
    Binary {
        /// Above it lies the second class.
        above: Threshold,
    },
    /// The only output is the answer.
    Regressor,
    /// Each of several outputs is an answer of its own.
    Several {
        /// How many outputs.
        answers: usize,
    },
}

/// Where the second of two classes begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Threshold {
    /// At one half: a probability.
    Half,
    /// At zero: a logit.
    Zero,
}

impl Task {
    /// Of the model in a detector, as its output was taken for.
    pub fn of(detector: &Detector) -> Self {
        let model = &detector.manifest().model;
        match (model.answer.as_str(), model.outputs) {
            ("binary", _) => Self::Binary { above: Threshold::Half },
            ("binary logit", _) => Self::Binary { above: Threshold::Zero },
            (_, 0 | 1) => Self::Regressor,
            ("numbers" | "labels", answers) => Self::Several { answers },
            (_, classes) => Self::Classifier { classes },
        }
    }

    /// How many classes there are, if the answer is one.
    pub fn classes(self) -> Option<usize> {
        match self {
            Self::Classifier { classes } => Some(classes),
            Self::Binary { .. } => Some(2),
            Self::Regressor | Self::Several { .. } => None,
        }
    }

    /// Fails where one label a sample can't tell whether the model is right.
    pub(super) fn check_judged(self, samples: &str) -> Result<(), Error> {
        match self {
            Self::Several { answers } => Err(refused(format!(
                "{samples}: the model gives {answers} answers a sample, which one label a sample can't judge: leave the \
                 labels out, or export the model with one answer"
            ))),
            _ => Ok(()),
        }
    }
}

/// How a detector does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluated {
    /// The method, as it is written.
    pub method: String,
    /// The share of clean samples that may be flagged; none if the threshold was set by hand.
    pub alpha: Option<f64>,
    /// What the model was taken for.
    pub model: Task,
    /// For a regressor: errors above this are mistakes, the 90 % quantile of the errors on clean samples.
    pub mistake_above: Option<f64>,
    /// Every score that the detector has: `score`, and `novelty` where there is one.
    pub scores: Vec<ScoreReport>,
}

/// How one score does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreReport {
    /// Its name.
    pub score: String,
    /// Clean samples.
    pub id: SetReport,
    /// Shifted samples, set by set.
    pub sets: Vec<SetReport>,
    /// Sets whose names have a group.
    pub groups: Vec<GroupReport>,
    /// All shifted sets.
    pub all: GroupReport,
}

/// How a score does on a set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetReport {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: Option<String>,
    /// How many samples.
    pub samples: usize,
    /// How many of them have no finite score; they count as furthest out.
    pub not_finite: usize,
    /// How many of them have a label.
    pub labelled: usize,
    /// The mean absolute error of a regressor.
    pub mean_absolute_error: Option<f64>,
    /// How wrong the model is, estimated from the scores alone.
    pub estimate: Option<Estimate>,
    /// Metrics by name, as far as they are defined.
    pub metrics: BTreeMap<&'static str, Measured>,
    /// Finite scores from the smallest to the largest, at most [`SetReport::QUANTILES`] at equal steps of their rank.
    #[serde(skip)]
    pub quantiles: Vec<f64>,
}

/// How a score does on several sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupReport {
    /// What the sets have in common.
    pub name: String,
    /// How many sets.
    pub sets: usize,
    /// The plain mean over sets of each metric, over those that have it.
    pub means: BTreeMap<&'static str, f64>,
    /// The mean over labelled sets of the mean absolute error.
    pub mean_absolute_error: Option<f64>,
    /// How many shifted samples with a label these sets have together.
    pub labelled: usize,
    /// Metrics of failure prediction over all of these samples, and `task-awareness` over the labelled sets.
    pub pooled: BTreeMap<&'static str, Measured>,
}

impl SetReport {
    /// How many scores of a set are kept.
    pub const QUANTILES: usize = 1001;

    /// The score that a share of the samples stays below.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        taste_stats::quantile::Quantile::Linear.of_sorted(&self.quantiles, share)
    }

    /// The scores that are kept, with as large a share of +∞ as samples have no finite score.
    pub fn kept(&self) -> impl Iterator<Item = f64> {
        let finite = self.samples - self.not_finite;
        let far = (self.not_finite * self.quantiles.len()).checked_div(finite);
        let far = far.unwrap_or(self.not_finite.min(Self::QUANTILES));
        self.quantiles.iter().copied().chain(std::iter::repeat_n(f64::INFINITY, far))
    }

    /// The value of a metric.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric).map(|m| m.value)
    }
}
