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
    /// A request that can't be met.
    #[error("{0}")]
    Request(String),
}

impl From<taste_stein::Error> for Error {
    fn from(error: taste_stein::Error) -> Self {
        match error {
            taste_stein::Error::Data(e) => Self::Data(e),
            taste_stein::Error::Engine(e) => Self::Engine(e),
            taste_stein::Error::Graph(e) => Self::Graph(e),
            other => Self::Request(other.to_string()),
        }
    }
}

impl From<Error> for taste_stein::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Data(e) => Self::Data(e),
            Error::Engine(e) => Self::Engine(e),
            Error::Graph(e) => Self::Graph(e),
            other => Self::Request(other.to_string()),
        }
    }
}

/// A request that can't be met, in a sentence.
pub(crate) fn request(message: impl Into<String>) -> Error {
    Error::Request(message.into())
}
