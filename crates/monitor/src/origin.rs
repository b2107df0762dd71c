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
        /// What the file held when the rows before were counted, if it has grown since.
        grown_from: Option<[u8; 32]>,
    },
    /// Files that are a sample each; those that are known are not counted again.
    Files {
        /// One for every sample.
        files: Vec<FileId>,
    },
    /// Samples with ids of their own; those that are known are not counted again.
    Each {
        /// What to call where they came from.
        name: String,
        /// One for every sample.
        ids: Vec<String>,
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
    /// The same without the first samples.
    pub(crate) fn skip(self, count: usize) -> Self {
        let more = count as u64;
        match self {
            Self::Request { .. } => self,
            Self::Rows { file, first, grown_from } => {
                Self::Rows { file, first: first + more, grown_from }
            }
            Self::Files { mut files } => {
                files.drain(..count.min(files.len()));
                Self::Files { files }
            }
            Self::Each { name, mut ids } => {
                ids.drain(..count.min(ids.len()));
                Self::Each { name, ids }
            }
            Self::Unnamed { name, first } => Self::Unnamed { name, first: first + more },
        }
    }

    /// What a sample is called by its place.
    pub(crate) fn label(&self, position: usize) -> String {
        let place = position as u64;
        match self {
            Self::Request { id } => format!("request {id}, sample {place}"),
            Self::Rows { file, first, .. } => format!("{}, row {}", file.name, first + place),
            Self::Files { files } => {
                files.get(position).map_or_else(String::new, |f| f.name.clone())
            }
            Self::Each { name, ids } => {
                let id = ids.get(position).map_or("", String::as_str);
                format!("{name}, {id}")
            }
            Self::Unnamed { name, first } => format!("{name}, row {}", first + place),
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
