//! What can go wrong, in words for the person who brought the model.

use taste_graph::OpError;
use taste_ops::ImportError;

/// Why a model can't be opened, derived, compiled or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file can't be read.
    #[error(transparent)]
    File(#[from] taste_onnx::Error),
    /// The model can't be imported.
    #[error("{model}: {cause}")]
    Import {
        /// The file, or a name for the model.
        model: String,
        /// What is wrong with it.
        cause: ImportError,
    },
    /// The request does not fit the model.
    #[error("{0}")]
    Request(String),
    /// A derivative can't be built.
    #[error("{0}")]
    Derive(OpError),
    /// The backend can't be loaded, or refuses the graph.
    #[error("{backend}: {message}")]
    Backend {
        /// Which backend.
        backend: &'static str,
        /// What it says.
        message: String,
    },
    /// An input has the wrong shape, type or content.
    #[error("input {name:?}: {message}")]
    Input {
        /// The input.
        name: String,
        /// What is wrong with it.
        message: String,
    },
}

impl From<OpError> for Error {
    fn from(cause: OpError) -> Self {
        Self::Derive(cause)
    }
}

/// A request that does not fit, in a sentence.
pub(crate) fn request(message: impl Into<String>) -> Error {
    Error::Request(message.into())
}
