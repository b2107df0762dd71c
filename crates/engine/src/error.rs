//! What can go wrong, in words for the person who brought the model.

use std::fmt;

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
    /// A target or a Laplacian method can't be read from what was written.
    #[error(transparent)]
    Choice(#[from] taste_choice::Error),
    /// The request does not fit the model.
    #[error("{0}")]
    Request(String),
    /// No tensor of the model is what was asked for.
    #[error("{0}")]
    Tensor(String),
    /// A Laplacian method that does not apply to the model.
    #[error("method {method} does not apply: {reason}")]
    LaplacianMethod {
        /// The method.
        method: String,
        /// Why it does not apply.
        reason: String,
    },
    /// A Laplacian method that estimates one class, where those of all classes are asked for.
    #[error(
        "the Laplacians of all {classes} classes are asked for, and {method} estimates that of one: closed-form \
         computes all of them"
    )]
    EveryClass {
        /// How many there are.
        classes: usize,
        /// The method.
        method: String,
    },
    /// An output holds answers at many places of a sample.
    #[error(
        "output {output:?} has {sizes} numbers a sample: it answers at many places, as segmentation, detection and \
         sequence models do, and a detector watches one answer a sample"
    )]
    ManyPlaces {
        /// The output.
        output: String,
        /// The sizes of its axes.
        sizes: String,
    },
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
    /// A node that stays as it is in the graph, and that the embedded engine does not have.
    #[error(
        "node {node:?} ({operator}) has no rule here, so it is left to the engine, and the embedded one does not have it: \
         ONNX Runtime may"
    )]
    LeftToEngine {
        /// Its operator.
        operator: String,
        /// Its name.
        node: String,
    },
    /// An input takes samples of another shape.
    #[error("input {name:?} wants samples of shape {}, got {got}", sizes(wanted))]
    Shape {
        /// The input.
        name: String,
        /// The sizes of one sample; nothing stands for any size.
        wanted: Vec<Option<usize>>,
        /// What there is instead.
        got: Given,
    },
    /// An input has the wrong type or content, or is missing.
    #[error("input {name:?}: {message}")]
    Input {
        /// The input.
        name: String,
        /// What is wrong with it.
        message: String,
    },
}

/// What an [`Error`] is about, for callers that word a hint or choose what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file can't be read, or is no model.
    File,
    /// The model has parts that are not supported, or is broken.
    Model,
    /// The model leaves the shape of a sample open, and nobody gave it.
    OpenShape,
    /// What was asked for does not exist, or does not fit the model.
    Request,
    /// A tensor does not exist, or is no cut of the model.
    Tensor,
    /// All classes are asked for, and the Laplacian method estimates one.
    EveryClass,
    /// The output holds answers at many places.
    ManyPlaces,
    /// A derivative can't be built.
    Derivative,
    /// The engine can't be loaded, or fails.
    Backend,
    /// The embedded engine does not have an operator, and another may.
    LeftToEngine,
    /// The samples do not fit the model.
    Input,
}

impl Error {
    /// What it is about.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::File(_) => ErrorKind::File,
            Self::Import { cause: ImportError::OpenShape { .. }, .. } => ErrorKind::OpenShape,
            Self::Import { .. } => ErrorKind::Model,
            Self::Choice(_) | Self::Request(_) | Self::LaplacianMethod { .. } => ErrorKind::Request,
            Self::Tensor(_) => ErrorKind::Tensor,
            Self::EveryClass { .. } => ErrorKind::EveryClass,
            Self::ManyPlaces { .. } => ErrorKind::ManyPlaces,
            Self::Derive(_) => ErrorKind::Derivative,
            Self::Backend { .. } => ErrorKind::Backend,
            Self::LeftToEngine { .. } => ErrorKind::LeftToEngine,
            Self::Input { .. } | Self::Shape { .. } => ErrorKind::Input,
        }
    }
}

/// The shape of what an input was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// The sizes of one sample.
    Sample(Vec<usize>),
    /// The sizes of a whole array.
    Array(Vec<usize>),
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sample(shape) => write!(f, "{shape:?}"),
            Self::Array(shape) => write!(f, "an array of shape {shape:?}"),
        }
    }
}

pub(crate) fn sizes(shape: &[Option<usize>]) -> String {
    let shown: Vec<String> =
        shape.iter().map(|d| d.map_or_else(|| "?".to_owned(), |d| d.to_string())).collect();
    format!("[{}]", shown.join(", "))
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
