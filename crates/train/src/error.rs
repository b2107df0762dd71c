//! What can go wrong, in words for the person who brought the data.

use std::path::PathBuf;

use taste_graph::OpError;

/// Why a network can't be built or trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data can't be read.
    #[error(transparent)]
    Data(#[from] taste_data::Error),
    /// The engine refuses the graph, or fails.
    #[error(transparent)]
    Engine(#[from] taste_engine::Error),
    /// A graph that can't be built.
    #[error("{0}")]
    Graph(#[from] OpError),
    /// A checkpoint that can't be read, written or gone on from.
    #[error("checkpoint {}: {message}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Published weights, or what describes them, that can't be read.
    #[error("{}: {message}", path.display())]
    Import {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The samples, their labels or targets do not fit the network.
    #[error("{name}: {message}")]
    Samples {
        /// The data set.
        name: String,
        /// What does not fit.
        message: String,
    },
    /// The loss left the finite numbers.
    #[error(
        "the loss is {loss} at step {step}: training has diverged; a smaller rate (now {rate}), gradients clipped \
         at a smaller norm or data on a scale near 1 prevent that"
    )]
    Diverged {
        /// The step, from 1 on.
        step: usize,
        /// The loss there.
        loss: f64,
        /// The rate asked for.
        rate: f64,
    },
    /// What score models and detectors share.
    #[error(transparent)]
    Detector(#[from] taste_detector::Error),
    /// Someone who watches the progress asked to stop.
    #[error("stopped")]
    Cancelled,
    /// A request that can't be met.
    #[error("{0}")]
    Request(String),
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Data that can't be read or do not fit the network.
    Data,
    /// A network that can't be built, differentiated or run.
    Model,
    /// Published weights that can't be read.
    Weights,
    /// A checkpoint that can't be read, written or gone on from.
    Checkpoint,
    /// A choice, or choices that do not go together.
    Choice,
    /// Training has left the finite numbers.
    Diverged,
    /// The work was stopped.
    Cancelled,
}

impl Error {
    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Data(_) | Self::Samples { .. } => ErrorKind::Data,
            Self::Engine(_) | Self::Graph(_) => ErrorKind::Model,
            Self::Import { .. } => ErrorKind::Weights,
            Self::Checkpoint { .. } => ErrorKind::Checkpoint,
            Self::Diverged { .. } => ErrorKind::Diverged,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Request(_) => ErrorKind::Choice,
            Self::Detector(error) => match error.kind() {
                taste_detector::ErrorKind::Data => ErrorKind::Data,
                taste_detector::ErrorKind::Model => ErrorKind::Model,
                taste_detector::ErrorKind::Cancelled => ErrorKind::Cancelled,
                _ => ErrorKind::Choice,
            },
        }
    }
}

impl From<Error> for taste_detector::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Data(e) => Self::Data(e),
            Error::Samples { name, message } => {
                Self::Data(taste_data::Error::new(name, taste_data::Problem::Format(message)))
            }
            Error::Engine(e) => Self::Engine(e),
            Error::Graph(e) => Self::Graph(e),
            Error::Detector(e) => e,
            Error::Cancelled => Self::Cancelled,
            other => Self::Request(other.to_string()),
        }
    }
}

/// A request that can't be met, in a sentence.
pub(crate) fn request(message: impl Into<String>) -> Error {
    Error::Request(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detector_hears_what_kind_of_thing_went_wrong() {
        use taste_detector::ErrorKind as Heard;
        let samples = || Error::Samples { name: "x.npy".to_owned(), message: "none".to_owned() };
        let graph = || Error::Graph(OpError::invalid("a loop"));
        for (make, own, heard) in [
            (&samples as &dyn Fn() -> Error, ErrorKind::Data, Heard::Data),
            (&graph, ErrorKind::Model, Heard::Model),
            (&|| Error::Cancelled, ErrorKind::Cancelled, Heard::Cancelled),
            (&|| taste_detector::Error::Cancelled.into(), ErrorKind::Cancelled, Heard::Cancelled),
            (&|| request("no"), ErrorKind::Choice, Heard::Choice),
        ] {
            assert_eq!(make().kind(), own);
            let error = taste_detector::Error::from(make());
            assert_eq!((error.kind(), error.to_string()), (heard, make().to_string()));
        }
    }
}
