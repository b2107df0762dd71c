//! Tensors in a file, read one at a time.

mod element;
mod pickle;
mod safetensors;
mod torch;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{ErrorKind, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use ndarray::{ArrayD, IxDyn};

use crate::Error;
use element::Element;

/// What training wraps around a network, and puts in front of the names of its tensors.
const WRAPPERS: [&str; 2] = ["module.", "_orig_mod."];

/// Tensors by name. A file is never executed, and of its tensors only those are read that are asked for.
#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    entries: BTreeMap<String, Entry>,
}

/// Where a tensor lies.
#[derive(Clone, Debug)]
struct Entry {
    file: PathBuf,
    /// The first byte of what the offset counts from.
    start: u64,
    element: Element,
    /// The first element.
    offset: usize,
    shape: Vec<usize>,
    /// The distance of elements along every axis.
    strides: Vec<usize>,
}

impl Weights {
    /// Opens safetensors, one file or several with their index (`*.safetensors.index.json`), or what `torch.save`
    /// makes of a state dict.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (_, length) = regular(path)?;
        let opening = opening(path)?;
        let is_index = path.to_string_lossy().ends_with(".index.json");
        let mut entries = match opening {
            _ if is_index => safetensors::sharded(path)?,
            [b'P', b'K', 3, 4, ..] => torch::entries(path, length)?,
            [.., b'{'] => safetensors::entries(path, length)?,
            [0x80, 0x02, ..] => {
                return Err(fail(
                    path,
                    "it is in the format that PyTorch wrote before version 1.6; torch.load and torch.save in a newer \
                     version make a file that can be read",
                ));
            }
            _ => {
                return Err(fail(
                    path,
                    "it is neither a safetensors file nor a state dict written by torch.save",
                ));
            }
        };
        for wrapper in WRAPPERS {
            if entries.keys().all(|name| name.starts_with(wrapper)) {
                let bare = |(name, entry): (String, Entry)| (name[wrapper.len()..].into(), entry);
                entries = entries.into_iter().map(bare).collect();
            }
        }
        if entries.is_empty() {
            return Err(fail(path, "it holds no tensors"));
        }
        Ok(Self { path: path.to_owned(), entries })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The shape of a tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.entries.get(name).map(|e| &e.shape[..])
    }

    /// Gives every tensor another name, or leaves it out.
    pub(super) fn rename(&mut self, to: impl Fn(&str) -> Option<String>) {
        let mut renamed = BTreeMap::new();
        for (name, entry) in std::mem::take(&mut self.entries) {
            if let Some(name) = to(&name) {
                renamed.entry(name).or_insert(entry);
            }
        }
        self.entries = renamed;
    }

    /// Reads a tensor of floats.
    pub fn read(&self, name: &str) -> Result<ArrayD<f32>, Error> {
        let entry = self.entries.get(name);
        let entry = entry.ok_or_else(|| fail(&self.path, format!("there is no tensor {name}")))?;
        let broken = |message: String| fail(&entry.file, format!("tensor {name}: {message}"));
        let count = entry.reach().ok_or_else(|| broken("it is beyond memory".to_owned()))?;
        let width = entry.element.bytes();
        let from = entry.offset.checked_mul(width).and_then(|skip| u64::try_from(skip).ok());
        let from = from.and_then(|skip| entry.start.checked_add(skip));
        let length = count.checked_mul(width).and_then(|n| u64::try_from(n).ok());
        let (from, length) =
            from.zip(length).ok_or_else(|| broken("it is beyond memory".to_owned()))?;
        let mut file = File::open(&entry.file).map_err(|e| broken(e.to_string()))?;
        file.seek(SeekFrom::Start(from)).map_err(|e| broken(e.to_string()))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).map_err(|e| broken(e.to_string()))?;
        let values = entry.element.floats(&bytes).map_err(broken)?;
        if values.len() != count {
            return Err(broken("the file ends before its last element".to_owned()));
        }
        if let Some(bad) = values.iter().find(|v| !v.is_finite()) {
            return Err(broken(format!("it holds {bad}, and weights are finite numbers")));
        }
        if entry.strides == row_major(&entry.shape) {
            return ArrayD::from_shape_vec(IxDyn(&entry.shape), values)
                .map_err(|e| broken(e.to_string()));
        }
        Ok(ArrayD::from_shape_fn(IxDyn(&entry.shape), |at| {
            values[entry
                .strides
                .iter()
                .enumerate()
                .map(|(axis, stride)| at[axis] * stride)
                .sum::<usize>()]
        }))
    }
}

impl Entry {
    /// How many elements lie between the first and the last, both included.
    fn reach(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let steps = self.shape.iter().zip(&self.strides);
        let last = steps.map(|(&size, &stride)| (size - 1).checked_mul(stride));
        last.sum::<Option<usize>>()?.checked_add(1)
    }
}

/// The strides of a tensor whose elements lie side by side in order.
fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis].max(1));
    }
    strides
}

/// A sentence about a file.
pub(super) fn fail(path: &Path, message: impl Into<String>) -> Error {
    Error::Import { path: path.to_owned(), message: message.into() }
}

/// A file that is no folder and no pipe, with its length.
pub(super) fn regular(path: &Path) -> Result<(File, u64), Error> {
    let refused = |e: std::io::Error| {
        fail(
            path,
            match e.kind() {
                ErrorKind::NotFound => "there is no such file or folder".to_owned(),
                _ => format!("it can't be read: {e}"),
            },
        )
    };
    // Before opening: opening a pipe would block.
    let metadata = fs::metadata(path).map_err(refused)?;
    if !metadata.is_file() {
        return Err(fail(path, "it is not a file"));
    }
    Ok((File::open(path).map_err(refused)?, metadata.len()))
}

/// All bytes of a file that has at most so many.
pub(super) fn small_file(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let (file, length) = regular(path)?;
    if length > most {
        return Err(fail(path, format!("it has {length} bytes, and at most {most} are read")));
    }
    let mut bytes = Vec::new();
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|e| fail(path, format!("it can't be read: {e}")))?;
    Ok(bytes)
}

/// The first nine bytes, zeros where the file is shorter: the length of a safetensors header and its first character.
fn opening(path: &Path) -> Result<[u8; 9], Error> {
    let mut bytes = Vec::new();
    let (file, _) = regular(path)?;
    file.take(9)
        .read_to_end(&mut bytes)
        .map_err(|e| fail(path, format!("it can't be read: {e}")))?;
    let mut opening = [0; 9];
    opening[..bytes.len()].copy_from_slice(&bytes);
    Ok(opening)
}
