use std::{io, path::PathBuf};

/// Why an experiment can't be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Data or a model that an experiment needs and that is not there.
    #[error("the experiment {experiment} needs {what}: {}", missing(path.as_ref()))]
    Missing {
        /// The experiment.
        experiment: &'static str,
        /// What it needs, in a few words.
        what: String,
        /// Where it was looked for; none if no folder was given.
        path: Option<PathBuf>,
    },
    /// A file that can't be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A detector that can't be fitted or run.
    #[error(transparent)]
    Detector(#[from] taste_detector::Error),
    /// A network that can't be trained.
    #[error(transparent)]
    Train(#[from] taste_train::Error),
    /// Data that can't be read.
    #[error(transparent)]
    Data(#[from] taste_data::Error),
    /// A model that can't be read or run.
    #[error(transparent)]
    Engine(#[from] taste_engine::Error),
    /// A model that can't be written.
    #[error(transparent)]
    Onnx(#[from] taste_onnx::Error),
    /// A statistic that is not defined.
    #[error(transparent)]
    Stats(#[from] taste_stats::Error),
    /// A figure that can't be drawn.
    #[error(transparent)]
    Figure(#[from] taste_report::Error),
    /// A name that no table has.
    #[error(transparent)]
    Choice(#[from] taste_choice::Error),
    /// Someone who watches asked to stop.
    #[error("stopped")]
    Cancelled,
    /// Data or settings that do not go with the experiment.
    #[error("{0}")]
    Request(String),
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Data or models that are missing or can't be read.
    Data,
    /// A folder that can't be written to.
    Output,
    /// A name or a setting.
    Choice,
    /// The work itself: a fit, a training, a figure.
    Work,
    /// The work was stopped.
    Cancelled,
}

impl Error {
    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Missing { .. } | Self::Data(_) => ErrorKind::Data,
            Self::File { .. } | Self::Onnx(_) => ErrorKind::Output,
            Self::Choice(_) | Self::Request(_) => ErrorKind::Choice,
            Self::Cancelled
            | Self::Detector(taste_detector::Error::Cancelled)
            | Self::Train(taste_train::Error::Cancelled) => ErrorKind::Cancelled,
            _ => ErrorKind::Work,
        }
    }
}

fn missing(path: Option<&PathBuf>) -> String {
    path.map_or_else(
        || "no folder of such was given".to_owned(),
        |path| format!("{} is not there", path.display()),
    )
}

/// A request that does not fit, in a sentence.
pub(crate) fn refused(message: impl Into<String>) -> Error {
    Error::Request(message.into())
}

/// An error of the file system, with the file.
pub(crate) fn at(path: &std::path::Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |cause| Error::File { path, cause }
}
