//! What can go wrong with data, in words for the person who brought them.

use std::path::Path;

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
}

impl Error {
    /// A sentence about a file.
    pub fn at(path: &Path, message: impl std::fmt::Display) -> Self {
        Self::File { path: path.display().to_string(), message: message.to_string() }
    }
}
