//! What a detector file says about itself.

use serde::{Deserialize, Serialize};

use crate::{ErrorModel, Finding, Goal, KeptRows, Named, Part, Role, Settings};

/// The version of the layout of a detector file.
pub const FORMAT: u32 = 2;

/// Every choice that went into a detector, and what was found on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the layout.
    pub format: u32,
    /// The version of taste that wrote the file.
    pub taste: String,
    /// The model.
    pub model: ModelFacts,
    /// The method.
    pub method: MethodFacts,
    /// The choices that every method has in common.
    pub settings: Settings,
    /// The data and how they were divided.
    pub data: DataFacts,
    /// What the score is made of.
    pub parts: Vec<PartFacts>,
    /// The decision.
    pub decision: Decision,
    /// Of maps, if the file has them.
    pub map: Option<MapFacts>,
    /// How wrong the model is by score, where calibration samples had labels.
    #[serde(default)]
    pub errors: Option<ErrorModel>,
    /// Whether the file tells novelty beside the score.
    #[serde(default)]
    pub has_novelty: bool,
    /// Training rows that stay in the file.
    pub rows: Vec<KeptRows>,
    /// What the fit found out about itself.
    pub findings: Vec<Finding>,
}

impl Manifest {
    /// The settings of the fit, with what was decided since.
    pub fn settings_now(&self) -> Settings {
        let decision = &self.decision;
        let alpha = decision.alpha.unwrap_or(self.settings.alpha);
        let rule = decision.rule.parse().unwrap_or(self.settings.rule);
        Settings { alpha, goal: decision.goal, rule, ..self.settings.clone() }
    }
}

/// What is known of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The file it came from.
    pub file: String,
    /// The SHA-256 of that file, as `sha256sum` prints it.
    pub sha256: String,
    /// The input, by its name in the detector.
    pub input: String,
    /// The inputs that samples are spread over, in order, if there are several or they take whole numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// The entries of a sample that are whole numbers to the model: counts, ids, places of words in a dictionary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub whole: Vec<usize>,
    /// The output that the method looks at, by its name in the model.
    pub output: String,
    /// The same output by its name in the detector.
    pub prediction: String,
    /// The sizes of one sample.
    pub sample_shape: Vec<usize>,
    /// How many samples the file takes at once, if that is fixed.
    pub batch: Option<usize>,
    /// Entries of the output.
    pub outputs: usize,
    /// What the output was taken for: classes, binary (one probability), binary logit, labels or numbers.
    #[serde(default)]
    pub answer: String,
    /// How that is written: logits, probabilities or numbers.
    #[serde(default)]
    pub scale: String,
    /// What the output was taken for and what told it, in words.
    #[serde(default)]
    pub taken_for: String,
    /// How many samples at once stay within the memory that was allowed.
    pub chunk: usize,
}

impl ModelFacts {
    /// The inputs that samples are spread over, in order.
    pub fn fed(&self) -> Vec<String> {
        if self.inputs.is_empty() { vec![self.input.clone()] } else { self.inputs.clone() }
    }
}

/// What is known of the method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodFacts {
    /// Its name in the table of methods.
    pub name: String,
    /// How it is written, with every choice.
    pub written: String,
    /// The options that were given beside it.
    #[serde(default)]
    pub options: Named,
    /// What it says of the fit; what that is depends on the method.
    pub facts: serde_json::Value,
}

/// Where samples came from and what for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataFacts {
    /// The training data.
    pub train: String,
    /// The calibration data, if they were given apart.
    pub calibration: Option<String>,
    /// How files become samples.
    pub reading: taste_data::Options,
    /// Names of the entries of a sample, for tables.
    pub columns: Option<Vec<String>>,
    /// Samples that the method learnt from.
    pub fitted: usize,
    /// Samples that it did not learn from, as they have entries that are not finite.
    pub left_out: usize,
    /// Held-out samples that gave the spread of the method's values.
    pub tails: usize,
    /// Held-out samples that gave the calibration scores.
    pub calibrated: usize,
    /// Held-out samples whose entries or values were not finite.
    pub not_finite: usize,
    /// What the samples looked like, by column or channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<crate::Profile>,
}

/// A value beside the score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartFacts {
    /// Its name, under which the file has it as an output.
    pub name: String,
    /// What its columns are called.
    pub columns: Vec<String>,
    /// What it is to tests of batches and to explanations.
    #[serde(default)]
    pub role: Role,
    /// What was taken off, and how it varies.
    pub baseline: Option<Baseline>,
}

impl From<Part> for PartFacts {
    fn from(Part { name, columns, role, baseline, .. }: Part) -> Self {
        Self { name, columns, role, baseline }
    }
}

/// How the columns of a value varied on held-out samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The mean of every column, which was taken off unless the method says otherwise.
    pub means: Vec<f64>,
    /// Its standard error.
    pub errors: Vec<f64>,
    /// The standard deviation of every column.
    pub deviations: Vec<f64>,
}

impl Baseline {
    /// From moments of at least two rows.
    pub fn of(moments: &taste_stats::moments::Moments) -> Option<Self> {
        Some(Self {
            means: moments.mean()?.to_vec(),
            errors: moments.standard_error()?,
            deviations: moments.variance()?.into_iter().map(f64::sqrt).collect(),
        })
    }
}

/// When a sample is flagged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What samples are flagged for.
    #[serde(default)]
    pub goal: Goal,
    /// The false-positive rate; absent if the threshold was set by hand.
    pub alpha: Option<f64>,
    /// How the threshold was chosen: conformal, quantile or by hand.
    pub rule: String,
    /// Scores above it are flagged; none if the score does not flag.
    pub threshold: Option<f64>,
    /// A novelty above it is flagged; none if the novelty does not flag, or there is none.
    #[serde(default)]
    pub novelty_threshold: Option<f64>,
    /// By which share of themselves calibration scores were taken as larger, so that engines that round differently agree
    /// on samples that are alike.
    pub tolerance: f64,
}

impl Decision {
    /// Rounds thresholds to what a file holds.
    pub(crate) fn round(&mut self) {
        let rounded = |t: &mut f64| *t = f64::from(crate::file::single(*t));
        self.threshold.as_mut().map(rounded);
        self.novelty_threshold.as_mut().map(rounded);
    }

    /// With thresholds that do not follow from the calibration scores.
    pub(crate) fn by_hand(&self, threshold: Option<f64>, novelty_threshold: Option<f64>) -> Self {
        let goal = match (threshold, novelty_threshold) {
            (_, None) => Goal::Harm,
            (None, Some(_)) => Goal::Novelty,
            (Some(_), Some(_)) => Goal::Both,
        };
        Self {
            goal,
            alpha: None,
            rule: "by hand".to_owned(),
            threshold,
            novelty_threshold,
            tolerance: self.tolerance,
        }
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
    /// Whether large entries alone are unusual, not those far below zero.
    #[serde(default)]
    pub one_sided: bool,
}

impl MapFacts {
    /// Whether an entry is beyond the threshold.
    pub fn is_beyond(&self, entry: f32) -> bool {
        f64::from(if self.one_sided { entry } else { entry.abs() }) > self.threshold
    }
}
