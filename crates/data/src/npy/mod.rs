//! `NumPy`'s file format for one array.
//!
//! ```no_run
//! use taste_data::npy::{Elements, Reader, Writer};
//!
//! let mut source = Reader::open("x.npy".as_ref())?;
//! let mut target = Writer::<f32>::create("half.npy".as_ref(), source.shape())?;
//! for start in (0..source.shape()[0]).step_by(256) {
//!     if let Elements::F32(rows) = source.rows(start, (start + 256).min(source.shape()[0]))? {
//!         target.append(&(rows / 2.0).view())?;
//!     }
//! }
//! target.finish()?;
//! # Ok::<(), taste_data::npy::Error>(())
//! ```

mod columns;
mod header;
mod read;
mod write;

use std::{
    io,
    path::{Path, PathBuf},
};

use taste_files::message;

pub(crate) use columns::ByColumns;
pub use header::DType;
pub(crate) use header::{Header, MAGIC};
pub use read::{Elements, Reader};
pub(crate) use read::{Preamble, decode};
pub use write::{Element, Writer};

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct Error {
    path: PathBuf,
    problem: Problem,
}

impl Error {
    pub(crate) fn new(path: &Path, problem: impl Into<Problem>) -> Self {
        Self { path: path.to_owned(), problem: problem.into() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong with it.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The file, and what is wrong with it.
    pub(crate) fn into_parts(self) -> (PathBuf, Problem) {
        (self.path, self.problem)
    }
}

/// What can be wrong; reads as the rest of a sentence that starts with the file's name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A folder, a pipe or a device.
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
    /// A file that can't be written where it should be.
    #[error("{0}")]
    NotWritable(String),
    /// Other bytes than an npy file starts with.
    #[error("not an npy file{0}")]
    NotNpy(&'static str),
    /// A version of the format from the future.
    #[error("npy version {0}.{1} is not known; 1.0, 2.0 and 3.0 are")]
    Version(u8, u8),
    /// The header breaks its grammar.
    #[error("broken npy header: {0}")]
    Header(String),
    /// An element type that is not supported.
    #[error(
        "elements of type {0} are not supported: floats of 2 to 8 bytes, integers and booleans are"
    )]
    Unsupported(String),
    /// A shape whose size can't be counted.
    #[error("the shape {} has more elements than can be counted", message::shape(.0))]
    TooLarge(Vec<u64>),
    /// Shape and data disagree.
    #[error("the shape {} of {dtype} needs {wanted} bytes after the header, and there are {found}{}", message::shape(shape),
            if found < wanted { ": the file is cut off" } else { "" })]
    WrongSize {
        /// The declared shape.
        shape: Vec<u64>,
        /// The declared element type.
        dtype: DType,
        /// What they call for.
        wanted: u64,
        /// What is there.
        found: u64,
    },
    /// Rows that are not there, or an array without rows.
    #[error("no rows {start} to {end} in an array of shape {}", message::shape(shape))]
    NoSuchRows {
        /// The first.
        start: usize,
        /// The one after the last.
        end: usize,
        /// The shape.
        shape: Vec<usize>,
    },
    /// Rows that do not fit the array that is written.
    #[error(
        "rows of shape {} do not fit into an array of shape {} that has {done} rows already",
        message::shape(got),
        message::shape(shape)
    )]
    Misfit {
        /// What was appended.
        got: Vec<usize>,
        /// The shape of the whole.
        shape: Vec<usize>,
        /// How many rows there are.
        done: usize,
    },
    /// Fewer rows than promised.
    #[error("{done} rows were written of an array of shape {}", message::shape(shape))]
    Unfinished {
        /// How many rows there are.
        done: usize,
        /// The shape of the whole.
        shape: Vec<usize>,
    },
}
