//! Where samples came from, so that none counts twice.

use serde::{Deserialize, Serialize};

/// Where samples came from. The record of their ranks holds it, so that what is counted and what is known to be counted
/// can't differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// A request with an id of its sender's; one that is known is not counted again.
    Request {
        /// The id.
        id: String,
    },
    /// Rows of a file; those that were counted are not counted again.
    Rows {
        /// The file.
        file: FileId,
        /// The number of the first row, from 0 on.
        first: u64,
    },
    /// Samples that can't be told from others: a repetition counts twice.
    Unnamed {
        /// What to call where they came from.
        name: String,
        /// The number of the first sample there, from 0 on.
        first: u64,
    },
}

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    /// Its path.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its contents.
    pub sha256: [u8; 32],
}

impl Origin {
    /// The same from a later sample on.
    pub(crate) fn from(self, skip: u64) -> Self {
        match self {
            Self::Request { .. } => self,
            Self::Rows { file, first } => Self::Rows { file, first: first + skip },
            Self::Unnamed { name, first } => Self::Unnamed { name, first: first + skip },
        }
    }

    /// What a sample is called by its place.
    pub(crate) fn label(&self, position: usize) -> String {
        let position = position as u64;
        match self {
            Self::Request { id } => format!("request {id}, sample {position}"),
            Self::Rows { file, first } => format!("{}, row {}", file.name, first + position),
            Self::Unnamed { name, first } => format!("{name}, row {}", first + position),
        }
    }
}

/// How far a file has been counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The size of the file when it was counted.
    pub bytes: u64,
    /// The SHA-256 of its contents then.
    pub sha256: [u8; 32],
    /// Rows that are counted.
    pub rows: u64,
    /// The record that counted the last of them.
    pub sequence: u64,
}
