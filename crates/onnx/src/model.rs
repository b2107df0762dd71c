use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use prost::Message;
use prost::bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::error::{Error, TensorProblem, shortened};
use crate::limits::Limits;
use crate::proto::{ModelProto, TensorProto};
use crate::tensor::TensorData;
use crate::{decode, recognise};

const IN_MEMORY: &str = "model in memory";

/// A model, and where to find the external data it refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The message as read, free to be changed.
    pub proto: ModelProto,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) limits: Limits,
    /// What error messages call the model.
    pub(crate) label: String,
    /// The bytes that it was read from. Tensors share them, so that they cost no memory.
    pub(crate) source: Option<Bytes>,
}

impl Model {
    /// Wraps a message built in memory.
    #[must_use]
    pub fn new(proto: ModelProto) -> Self {
        let (limits, label) = (Limits::default(), IN_MEMORY.to_owned());
        Self { proto, folder: None, limits, label, source: None }
    }

    /// Sets the folder that external data is looked up in.
    #[must_use]
    pub fn with_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Sets the limits for decoding tensors and for writing.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Reads a model file with the default [`Limits`].
    ///
    /// # Errors
    /// If the file cannot be read, is too large, or is not an ONNX model with a graph.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_with(path, Limits::default())
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// As [`Model::open`].
    pub fn open_with(path: &Path, limits: Limits) -> Result<Self, Error> {
        let label = path.display().to_string();
        let bytes = read_file(path, &label, limits.max_file_bytes)?;
        Self::parse(&Bytes::from(bytes), folder_of(path), limits, label)
    }

    /// Reads a model from memory with the default [`Limits`]; `folder` is where its external data is.
    ///
    /// # Errors
    /// If the bytes are not an ONNX model with a graph.
    pub fn from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Self, Error> {
        Self::from_bytes_with(bytes, folder, Limits::default())
    }

    /// Reads a model from memory.
    ///
    /// # Errors
    /// As [`Model::from_bytes`], and if there are too many bytes.
    pub fn from_bytes_with(
        bytes: &[u8],
        folder: Option<&Path>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let label = IN_MEMORY.to_owned();
        check_size(&label, u64::try_from(bytes.len()).unwrap_or(u64::MAX), limits.max_file_bytes)?;
        Self::parse(&Bytes::copy_from_slice(bytes), folder.map(Path::to_owned), limits, label)
    }

    /// The folder that external data is looked up in.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The SHA-256 of the bytes that the model was read from, as `sha256sum` prints it; nothing for a model
    /// that was built in memory. Neither external data nor later changes count.
    #[must_use]
    pub fn sha256(&self) -> Option<String> {
        self.source.as_deref().map(sha256)
    }

    /// Decodes a tensor of this model, wherever its data is kept.
    ///
    /// # Errors
    /// If the element type is not supported, if shape and data disagree, if the tensor is above
    /// [`Limits::max_tensor_bytes`], or if its external data cannot or must not be read.
    pub fn tensor(&self, tensor: &TensorProto) -> Result<TensorData, Error> {
        decode::tensor(tensor, self.folder(), self.limits.max_tensor_bytes)
            .map_err(|problem| self.problem(tensor, problem))
    }

    pub(crate) fn problem(&self, tensor: &TensorProto, problem: TensorProblem) -> Error {
        Error::Tensor { file: self.label.clone(), tensor: shortened(&tensor.name), problem }
    }

    fn parse(
        bytes: &Bytes,
        folder: Option<PathBuf>,
        limits: Limits,
        label: String,
    ) -> Result<Self, Error> {
        // Decoding shares the buffer, so this keeps no second copy.
        let decoded = ModelProto::decode(bytes.clone());
        match decoded {
            Ok(proto) if proto.graph.is_some() => {
                Ok(Self { proto, folder, limits, label, source: Some(bytes.clone()) })
            }
            failed => Err(match (recognise::what_it_is(bytes), failed) {
                (Some(what), _) => Error::NotOnnx { file: label, reason: what.to_owned() },
                (None, Err(e)) => Error::NotOnnx { file: label, reason: shortened_reason(&e) },
                (None, Ok(_)) => Error::NoGraph { file: label },
            }),
        }
    }
}

/// The SHA-256 of bytes in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        for half in [byte >> 4, byte & 15] {
            digits.extend(char::from_digit(u32::from(half), 16));
        }
    }
    digits
}

/// The end of the message is what counts: before it, prost lists every message on the way down.
fn shortened_reason(error: &prost::DecodeError) -> String {
    const SHOWN: usize = 200;
    let text = error.to_string();
    match text.char_indices().rev().nth(SHOWN) {
        None => text,
        Some((start, _)) => format!("…{}", text.get(start..).unwrap_or_default()),
    }
}

fn folder_of(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    let here = parent.as_os_str().is_empty();
    Some(if here { PathBuf::from(".") } else { parent.to_owned() })
}

fn read_file(path: &Path, label: &str, limit: u64) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Io { action: "read", path: path.to_owned(), source };
    // Before opening: opening a pipe would block.
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        let found = if metadata.is_dir() { "a folder" } else { "a pipe or a device" };
        return Err(Error::NotAFile { path: path.to_owned(), found });
    }
    check_size(label, metadata.len(), limit)?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(usize::try_from(metadata.len()).unwrap_or(usize::MAX))
        .map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
    let file = File::open(path).map_err(failed)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    check_size(label, u64::try_from(bytes.len()).unwrap_or(u64::MAX), limit)?;
    Ok(bytes)
}

fn check_size(label: &str, bytes: u64, limit: u64) -> Result<(), Error> {
    if bytes <= limit {
        Ok(())
    } else {
        Err(Error::FileTooLarge { file: label.to_owned(), bytes, limit })
    }
}
