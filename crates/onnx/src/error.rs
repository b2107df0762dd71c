use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// What went wrong, in which file and at which tensor.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "read", "write", …
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The path leads to a folder, a pipe or a device.
    #[error("cannot read {}: it is {found}, not a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is instead.
        found: &'static str,
    },
    /// The model file is above [`Limits::max_file_bytes`](crate::Limits::max_file_bytes).
    #[error("{file} has {bytes} bytes, more than the limit of {limit}")]
    FileTooLarge {
        /// The model.
        file: String,
        /// Its size.
        bytes: u64,
        /// The limit in force.
        limit: u64,
    },
    /// The bytes are no ONNX model.
    #[error("{file} is not an ONNX model: {reason}")]
    NotOnnx {
        /// The file.
        file: String,
        /// How we know.
        reason: String,
    },
    /// The model has no graph.
    #[error("{file} holds no graph, so there is nothing to run in it")]
    NoGraph {
        /// The model.
        file: String,
    },
    /// A tensor cannot be decoded.
    #[error("{file}: tensor {tensor:?} {problem}")]
    Tensor {
        /// The model.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// Why.
        problem: TensorProblem,
    },
    /// The model does not fit one protobuf message.
    #[error(
        "{file} takes {bytes} bytes as one protobuf message, more than the limit of {limit}{hint}"
    )]
    MessageTooLarge {
        /// The model.
        file: String,
        /// What it would take.
        bytes: u64,
        /// The limit in force.
        limit: u64,
        /// What can be done about it; empty or starting with a semicolon.
        hint: &'static str,
    },
}

/// Why a tensor cannot be decoded; reads as the rest of a sentence that starts with its name.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TensorProblem {
    /// An element type that this crate does not decode.
    #[error("has elements of type {elem_type}, which is not supported")]
    UnsupportedType {
        /// The type's name, or its number.
        elem_type: String,
    },
    /// A negative dimension.
    #[error("has the negative dimension {dim}")]
    NegativeDim {
        /// The dimension.
        dim: i64,
    },
    /// The declared size is above [`Limits::max_tensor_bytes`](crate::Limits::max_tensor_bytes) or
    /// cannot be counted at all.
    #[error("of shape {dims} is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The declared shape.
        dims: String,
        /// The limit in force.
        limit: u64,
    },
    /// Shape and data disagree.
    #[error("of shape {dims} needs {wanted} {unit} but holds {found}")]
    WrongSize {
        /// The declared shape.
        dims: String,
        /// "bytes" or "elements".
        unit: &'static str,
        /// What the shape calls for.
        wanted: u64,
        /// What is there.
        found: u64,
    },
    /// More than one field holds data, so it is unclear which counts.
    #[error("holds its data twice: in {first} and in {second}")]
    Ambiguous {
        /// One field.
        first: &'static str,
        /// Another.
        second: &'static str,
    },
    /// A value that its element type cannot hold.
    #[error("holds {value} at position {position}, which is no {elem_type}")]
    OutOfRange {
        /// The value.
        value: String,
        /// Where, counted from 0.
        position: usize,
        /// The element type's name.
        elem_type: &'static str,
    },
    /// External data that cannot or must not be read.
    #[error("keeps its data in {location:?}, {reason}")]
    External {
        /// The location as the model states it.
        location: String,
        /// Why it is refused.
        reason: String,
    },
}

const SHOWN_CHARS: usize = 80;
const SHOWN_DIMS: usize = 8;

/// Names come from the file: keep them short enough for a one-line message.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

pub(crate) fn shown_dims(dims: &[i64]) -> String {
    let shown: Vec<String> = dims.iter().take(SHOWN_DIMS).map(ToString::to_string).collect();
    let rest = if dims.len() > SHOWN_DIMS { ", …" } else { "" };
    format!("[{}{rest}]", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_and_shapes_are_cut() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), SHOWN_CHARS + 1);
        assert_eq!(shown_dims(&[2, 3]), "[2, 3]");
        assert_eq!(shown_dims(&[1; 20]), "[1, 1, 1, 1, 1, 1, 1, 1, …]");
    }
}
