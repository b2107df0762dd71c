//! What can go wrong, as a kind and facts. Front ends word what to do about it.

use taste_graph::OpError;

/// Why a detector can't be fitted, read or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data.
    #[error(transparent)]
    Data(#[from] taste_data::Error),
    /// The model, or the engine that runs it.
    #[error(transparent)]
    Engine(#[from] taste_engine::Error),
    /// A graph that can't be built.
    #[error("{0}")]
    Graph(#[from] OpError),
    /// A number outside of what a statistic is defined for.
    #[error(transparent)]
    Stats(#[from] taste_stats::Error),
    /// A choice that can't be read.
    #[error(transparent)]
    Choice(#[from] taste_choice::Error),
    /// Too few samples are left for the calibration.
    #[error("{0}")]
    TooFew(Shortage),
    /// A setting that is out of range, or does not go with another.
    #[error("{message}")]
    Setting {
        /// Its name: `alpha`.
        name: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// The detector has no maps.
    #[error("this detector has no maps")]
    NoMaps,
    /// A method that keeps training rows, where none may stay in the file.
    #[error(
        "the method {method} keeps {rows} in the detector file, and no training rows may stay there"
    )]
    KeepsRows {
        /// The method.
        method: String,
        /// What it keeps.
        rows: String,
    },
    /// Data without labels, for a method that needs them.
    #[error("the method {method} needs labels, and the samples of {data} have none")]
    NoLabels {
        /// The method.
        method: String,
        /// The data.
        data: String,
    },
    /// Labels that are words, where nothing says which class each of them is.
    #[error(
        "{labels}: the labels are words ({}), and the classes of the detector have no names to look them up in: write the \
         numbers of the classes, from 0 on in the order of the model's outputs, or name them at the fit",
        words.join(", ")
    )]
    NoNames {
        /// Where the labels are.
        labels: String,
        /// The first of the words.
        words: Vec<String>,
    },
    /// Samples with missing entries of which the model makes no number.
    #[error("{problem}: {data}: {}, and of those the model makes no number", missing(entries, *samples))]
    Missing {
        /// What can't be done.
        problem: taste_stats::Error,
        /// The data set.
        data: String,
        /// The columns, and in how many samples each is missing.
        entries: Vec<(String, u64)>,
        /// How many samples there are.
        samples: u64,
    },
    /// A method on classes, and a model that has none.
    #[error(
        "the method {method} looks at the classes of a classifier, and the model was taken for {taken_for}"
    )]
    NoClasses {
        /// The method.
        method: String,
        /// What the model was taken for.
        taken_for: String,
    },
    /// Calibration data that the method learnt from.
    #[error(
        "{data}: {:.0} % of the calibration samples are training samples; a detector that is calibrated on what it was \
         fitted to flags too much of new data",
        100.0 * share
    )]
    InTraining {
        /// The calibration data.
        data: String,
        /// The share of them that are training samples.
        share: f64,
    },
    /// States of a pass that do not fit together: a part of the data was lost, or counted twice.
    #[error("the parts of the data do not add up: {0}")]
    Parts(String),
    /// A detector file that can't be read.
    #[error("{0}")]
    File(String),
    /// Someone who watches the progress asked to stop.
    #[error("stopped")]
    Cancelled,
    /// A request that does not fit the model, the method or the data.
    #[error("{0}")]
    Request(String),
}

/// Which columns are missing in how many samples, those first that are most.
fn missing(entries: &[(String, u64)], samples: u64) -> String {
    const NAMED: usize = 5;
    let mut sorted: Vec<&(String, u64)> = entries.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named =
        sorted.iter().take(NAMED).map(|(name, count)| format!("{name} is missing in {count}"));
    let mut named: Vec<String> = named.collect();
    if let Some(more) = sorted.len().checked_sub(NAMED).filter(|more| *more > 0) {
        named.push(format!("{more} more columns in some"));
    }
    format!("{} of {samples} samples", named.join(", "))
}

/// How many calibration samples there are, and how many are needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortage {
    /// The data set.
    pub data: String,
    /// The false-positive rate that was asked for.
    pub alpha: f64,
    /// Calibration samples that it needs at least.
    pub needed: usize,
    /// Calibration samples that there are.
    pub got: usize,
    /// Samples of the data set.
    pub available: usize,
    /// Samples to hold out that would do, if the data set has as many.
    pub hold_out: Option<usize>,
    /// Samples of a data set that would do.
    pub enough: usize,
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { data, alpha, needed, got, available, .. } = self;
        write!(
            f,
            "{data}: alpha = {alpha} needs at least {needed} calibration samples, and {got} of its {available} samples \
             serve for that; "
        )?;
        match self.hold_out {
            Some(samples) => {
                write!(f, "hold out {samples} samples or more, or choose a larger alpha")
            }
            None => {
                write!(f, "give about {} samples or more, or choose a larger alpha", self.enough)
            }
        }
    }
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Data that can't be read or do not fit.
    Data,
    /// A model that can't be read, differentiated or run.
    Model,
    /// A choice, or choices that do not go together.
    Choice,
    /// A detector file that can't be read.
    Detector,
    /// The work was stopped.
    Cancelled,
}

impl Error {
    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Data(_)
            | Self::TooFew(_)
            | Self::NoLabels { .. }
            | Self::NoNames { .. }
            | Self::Missing { .. }
            | Self::InTraining { .. }
            | Self::Parts(_) => ErrorKind::Data,
            Self::Engine(_) | Self::Graph(_) => ErrorKind::Model,
            Self::File(_) | Self::NoMaps => ErrorKind::Detector,
            Self::Cancelled => ErrorKind::Cancelled,
            _ => ErrorKind::Choice,
        }
    }
}

/// A setting that does not fit, in a sentence.
pub(crate) fn unfit(name: &'static str, message: String) -> Error {
    Error::Setting { name, message }
}

/// A request that does not fit, in a sentence.
pub fn refused(message: impl Into<String>) -> Error {
    Error::Request(message.into())
}
