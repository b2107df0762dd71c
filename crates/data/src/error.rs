//! What can go wrong with data, in words for the person who brought them.

use std::{io, path::Path};

/// Why data can't be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An `.npy` file.
    #[error(transparent)]
    Npy(#[from] crate::npy::Error),
    /// A file or folder that can't be read as what it should be.
    #[error("{path}: {message}")]
    File {
        /// Which one.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// Output that the operating system does not take.
    #[error("{path}: it can't be written: {source}")]
    Write {
        /// Which file, or `standard output`.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// A sentence about a file.
    pub fn at(path: &Path, message: impl std::fmt::Display) -> Self {
        Self::File { path: path.display().to_string(), message: message.to_string() }
    }

    /// Output that can't be written.
    pub(crate) fn write(path: &str, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    /// Whether nobody reads the output any more, as when it is piped into `head`.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}
