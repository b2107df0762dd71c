//! What a detector file says about itself.

use serde::{Deserialize, Serialize};

/// The version of the layout of a detector file.
pub const FORMAT: u32 = 1;

/// Every choice that went into a detector, and what was found on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of taste that wrote the file.
    pub taste: String,
    /// The model.
    pub model: ModelFacts,
    /// The functions of the model that have residuals, as on the command line.
    pub target: String,
    /// The operator.
    pub operator: String,
    /// How residuals become one score.
    pub aggregate: String,
    /// Which scores are far out.
    pub tail: String,
    /// How second derivatives are computed, where the operator has them.
    pub method: Option<MethodFacts>,
    /// The score model, as it describes itself.
    pub score: serde_json::Value,
    /// The data and how they were divided.
    pub data: DataFacts,
    /// Mean residuals on held-out data, which are taken off.
    pub baseline: BaselineFacts,
    /// The decision.
    pub decision: Decision,
    /// Of maps, if the file has them.
    pub map: Option<MapFacts>,
    /// What the fit found out about itself.
    pub health: Vec<Finding>,
    /// The seed of every draw.
    pub seed: u64,
}

/// What is known of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The file it came from.
    pub file: String,
    /// The SHA-256 of the model as it was read.
    pub sha256: String,
    /// The input.
    pub input: String,
    /// The output that the target is a function of.
    pub output: String,
    /// The sizes of one sample.
    pub sample_shape: Vec<usize>,
    /// How many samples the file takes at once, if that is fixed.
    pub batch: Option<usize>,
    /// Entries of the output.
    pub outputs: usize,
    /// What the model was taken for, in words; empty if the target was named.
    #[serde(default)]
    pub taken_for: String,
    /// How many samples at once stay within the memory that was allowed.
    pub chunk: usize,
}

/// How second derivatives are computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodFacts {
    /// As on the command line.
    pub name: String,
    /// Why so.
    pub reason: String,
    /// Whether they are known to vanish almost everywhere.
    pub flat: bool,
}

/// Where samples came from and what for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataFacts {
    /// The training data.
    pub train: String,
    /// The calibration data, if they were given apart.
    pub calibration: Option<String>,
    /// How files become samples.
    pub reading: serde_json::Value,
    /// Names of the entries of a sample, for tables.
    pub columns: Option<Vec<String>>,
    /// Samples that the score model was fitted to.
    pub fitted: usize,
    /// Samples that it was not fitted to, as they have entries that are not finite.
    #[serde(default)]
    pub left_out: usize,
    /// Samples that gave the baseline.
    pub adjusted: usize,
    /// Samples that gave the calibration scores.
    pub calibrated: usize,
    /// Held-out samples whose entries or residuals were not finite.
    pub not_finite: usize,
}

/// Mean residuals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineFacts {
    /// `D_f` of every component.
    pub means: Vec<f64>,
    /// Its standard error.
    pub standard_errors: Vec<f64>,
    /// The standard deviation of the residual.
    pub deviations: Vec<f64>,
    /// The mean of the residual of the predicted class, or of the only function.
    pub single: f64,
}

/// When a sample is flagged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The share of false alarms; absent if the threshold was set by hand.
    pub alpha: Option<f64>,
    /// How the threshold was chosen: conformal, quantile or by hand.
    pub rule: String,
    /// Scores above it are flagged.
    pub threshold: f64,
}

impl Decision {
    /// With a threshold that does not follow from the calibration scores.
    pub(crate) fn by_hand(threshold: f64) -> Self {
        Self { alpha: None, rule: "by hand".to_owned(), threshold }
    }
}

/// What maps were like on calibration data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapFacts {
    /// The largest entry of a map, summed over channels, stays below this in all but a share α of samples.
    pub threshold: f64,
    /// The α of the threshold.
    pub alpha: f64,
    /// What colour scales end at: the 99.9 % quantile of the sizes of entries, on calibration data.
    pub scale: f64,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Something to act on.
    Warning,
}

/// One health check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at.
    pub check: String,
    /// How it came out.
    pub level: Level,
    /// The number behind it.
    pub value: f64,
    /// In words.
    pub message: String,
}
