use std::path::PathBuf;

use serde::Serialize;

use crate::evaluation::{Evaluated, Gathered};

/// How all methods do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Benchmarked {
    /// Methods in the order in which they were named.
    pub methods: Vec<Judged>,
    /// Methods that could not be fitted or run.
    pub failed: Vec<Failed>,
}

/// How a method does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The method as it is written.
    pub method: String,
    /// What it is worth.
    #[serde(flatten)]
    pub found: Evaluated,
    /// How long the fit took.
    pub fit_seconds: f64,
    /// How long a clean sample took.
    pub seconds_per_sample: f64,
    /// Where its detector is kept.
    pub detector: Option<PathBuf>,
    /// The scores of all samples: clean ones first, then set by set.
    #[serde(skip)]
    pub gathered: Vec<Gathered>,
}

/// A method that does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The method as it is written.
    pub method: String,
    /// Why, in a sentence.
    pub reason: String,
}
