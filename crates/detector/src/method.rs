//! What a detector is: a method that turns a model into a score, and learns what it needs in passes over data.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use taste_choice::{Arguments, Entry};
use taste_data::Samples;
use taste_graph::Id;

use crate::{
    Error, Finding, Job, Split,
    passes::{Gathered, Watch},
    refused,
};

/// A way to tell samples that differ from the training data. Larger scores are further out, for every method.
pub trait Method: fmt::Debug + Send + Sync {
    /// Its name in the table of methods.
    fn name(&self) -> &str;

    /// How it is written, with every choice that was made: what [`Family::read`] would read again.
    fn written(&self) -> String {
        self.name().to_owned()
    }

    /// The options beside its name that [`Family::read`] would read again.
    fn options(&self) -> Named {
        Named::new()
    }

    /// What it needs of the data.
    fn needs(&self) -> Needs;

    /// Adds what it can to the graph, and says what to gather, or what the score is.
    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error>;
}

/// What a method needs of the data, and what it leaves in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub struct Needs {
    /// Whether it learns from training samples, which then can't calibrate.
    pub learns: bool,
    /// Whether it learns the spread of its values from held-out samples, which then can't calibrate either.
    pub tails: bool,
    /// Whether training samples need labels.
    pub labels: bool,
    /// Whether it makes use of labels where there are some.
    pub uses_labels: bool,
    /// Whether it looks at the features before the last linear layer, or at a tensor that is named.
    pub features: bool,
    /// Whether samples have to be images.
    pub images: bool,
    /// Whether it looks at classes, so that a regressor or yes-or-no answers are nothing to it.
    pub classes: bool,
    /// What it keeps of training rows in the file, if it keeps any.
    pub keeps: Option<&'static str>,
}

/// What comes next.
pub enum Step {
    /// A pass over the samples of a split.
    Pass {
        /// What the samples are for: `samples for the baseline`.
        purpose: String,
        /// Which samples.
        split: Split,
        /// What is gathered.
        watches: Vec<Watch>,
        /// What to do with it.
        then: Box<AfterPass>,
    },
    /// The samples of a split themselves, as often as the method likes: only where all data are at hand.
    Samples {
        /// What the samples are for.
        purpose: String,
        /// Which samples.
        split: Split,
        /// What to do with them.
        then: Box<AfterSamples>,
    },
    /// The score is known.
    Done(Box<Statistic>),
}

/// What a method does with what a pass gathered.
pub(crate) type AfterPass = dyn FnOnce(&mut Job<'_>, &Gathered) -> Result<Step, Error> + Send;

/// What a method does with samples.
pub(crate) type AfterSamples = dyn FnOnce(&mut Job<'_>, &dyn Samples) -> Result<Step, Error> + Send;

impl Step {
    /// A pass over the samples of a split.
    pub fn pass(
        purpose: impl Into<String>,
        split: Split,
        watches: Vec<Watch>,
        then: impl FnOnce(&mut Job<'_>, &Gathered) -> Result<Self, Error> + Send + 'static,
    ) -> Self {
        Self::Pass { purpose: purpose.into(), split, watches, then: Box::new(then) }
    }
}

impl From<Statistic> for Step {
    fn from(statistic: Statistic) -> Self {
        Self::Done(Box::new(statistic))
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass { purpose, split, watches, .. } => f
                .debug_struct("Pass")
                .field("purpose", purpose)
                .field("split", split)
                .field("watches", watches)
                .finish_non_exhaustive(),
            Self::Samples { purpose, split, .. } => f
                .debug_struct("Samples")
                .field("purpose", purpose)
                .field("split", split)
                .finish_non_exhaustive(),
            Self::Done(statistic) => f.debug_tuple("Done").field(statistic).finish(),
        }
    }
}

/// What a method has added to the graph in the end.
#[derive(Clone, Debug)]
pub struct Statistic {
    /// One number a sample (N): larger matters more to the model.
    pub score: Id,
    /// How far from the training data, whether that matters or not (N), if the method tells both.
    pub novelty: Option<Id>,
    /// What the score is made of, for people and for tests of batches.
    pub parts: Vec<Part>,
    /// Where a sample differs.
    pub map: Option<Map>,
    /// What is worth knowing of the fit, for the manifest.
    pub facts: serde_json::Value,
    /// What the method found out about itself.
    pub findings: Vec<Finding>,
    /// Training rows that stay in the file.
    pub rows: Vec<KeptRows>,
}

impl Statistic {
    /// A score without parts.
    pub fn new(score: Id) -> Self {
        Self {
            score,
            novelty: None,
            parts: Vec::new(),
            map: None,
            facts: serde_json::Value::Null,
            findings: Vec::new(),
            rows: Vec::new(),
        }
    }
}

/// A value beside the score, an output of the file under its name.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// N, or N × columns.
    pub id: Id,
    /// What it is to tests of batches and to explanations.
    pub role: Role,
    /// What its columns are called in tests of batches.
    pub columns: Vec<String>,
    /// What was taken off each column, and how they vary, if that is known.
    pub baseline: Option<crate::Baseline>,
}

/// What a part is to tests of batches and to explanations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A value beside the score.
    #[default]
    Plain,
    /// A residual: its mean is zero without a shift.
    Residual,
    /// Terms that add up to the score: the reasons.
    Evidence,
    /// Terms that add up to the novelty.
    Novelty,
    /// What the terms were made of, in their own units.
    Component,
    /// Drifts with mean zero and covariance one without a shift: n‖mean‖² of a batch is Hotelling's T².
    Drift,
}

/// Parts of a value by entry of the sample.
#[derive(Clone, Debug)]
pub struct Map {
    /// In the shape of the samples; images may have one channel for all.
    pub id: Id,
    /// The mean of every entry on held-out samples; none where that is zero.
    pub means: Vec<f32>,
    /// The standard deviation of every entry on held-out samples, if entries are to be compared.
    pub deviations: Vec<f32>,
    /// Whether large entries alone are unusual, not those far below zero.
    pub one_sided: bool,
}

/// Training rows that stay in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRows {
    /// What they are: `features of training samples`.
    pub what: String,
    /// How many.
    pub count: usize,
    /// Entries of each.
    pub width: usize,
}

/// What a table says of a method beside what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Who it comes from.
    pub paper: &'static str,
    /// Passes over the training samples that a fit takes before the calibration, each at one forward pass of the model.
    pub fit: &'static str,
    /// What the score of a sample costs, in forward passes of the model.
    pub score: &'static str,
}

/// An entry of the table of methods.
pub trait Family: Entry + Send + Sync {
    /// What a table says of it beside what it is.
    fn about(&self) -> About;

    /// The options beyond its arguments that it understands, by name.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reads the arguments behind its name, and the options that were given by name.
    fn read(&self, arguments: &mut Arguments<'_>, named: &Named) -> Result<Arc<dyn Method>, Error>;
}

/// Options that are given by name beside the method: a target, a score model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named(BTreeMap<String, String>);

impl Named {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives an option, in place of any of that name.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// An option, if it was given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Fails if an option was given that a method does not have.
    pub fn check(&self, family: &dyn Family) -> Result<(), Error> {
        let known = family.options();
        match self.0.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(refused(format!(
                "the method {} has no {}: leave it out, or choose another method",
                family.choice().name,
                name.replace('-', " ")
            ))),
        }
    }
}
