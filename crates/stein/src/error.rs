//! What can go wrong, in words for the person who asked.

use taste_graph::OpError;

/// Why a score model can't be fitted, or a detector can't be built, read or run.
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
    /// A request that does not fit the model or the data.
    #[error("{0}")]
    Request(String),
}

/// A request that does not fit, in a sentence.
pub(crate) fn request(message: impl Into<String>) -> Error {
    Error::Request(message.into())
}
