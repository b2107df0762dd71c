//! Reading data kept outside the model file, without letting a model name files that are not its own.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Take};
use std::path::{Component, Path, PathBuf};

use crate::decode::Declared;
use crate::error::{TensorProblem, shortened, shown_dims};
use crate::proto::TensorProto;

/// The part of an external file that belongs to one tensor.
pub(crate) struct ExternalData {
    pub reader: Take<File>,
    location: String,
}

impl ExternalData {
    pub fn refused(&self, error: &dyn Display) -> TensorProblem {
        refused(&self.location, format!("which cannot be read: {error}"))
    }
}

/// Opens the data of a tensor at its beginning, bounded to its size.
pub(crate) fn open(
    tensor: &TensorProto,
    declared: &Declared,
    folder: Option<&Path>,
) -> Result<ExternalData, TensorProblem> {
    let location = entry(tensor, "location")?.unwrap_or_default();
    let refuse = |reason: String| refused(location, reason);
    let Some(wanted) = declared.bytes else {
        return Err(refuse("but strings cannot be external".to_owned()));
    };
    let offset = number(tensor, "offset", location)?.unwrap_or(0);
    let length = number(tensor, "length", location)?.unwrap_or(wanted);
    if length != wanted {
        let dims = shown_dims(&tensor.dims);
        return Err(TensorProblem::WrongSize { dims, unit: "bytes", wanted, found: length });
    }
    let path = inside(folder, location).map_err(&refuse)?;
    let unreadable = |e: std::io::Error| refuse(format!("which cannot be read: {e}"));
    // Before opening: opening a pipe would block.
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(refuse("which is not a file".to_owned()));
    }
    let size = metadata.len();
    if offset.checked_add(length).is_none_or(|end| end > size) {
        let end =
            format!("but {length} bytes from offset {offset} on reach beyond its {size} bytes");
        return Err(refuse(end));
    }
    let mut file = File::open(&path).map_err(unreadable)?;
    file.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
    Ok(ExternalData { reader: file.take(length), location: location.to_owned() })
}

fn refused(location: &str, reason: String) -> TensorProblem {
    TensorProblem::External { location: shortened(location), reason }
}

fn entry<'a>(tensor: &'a TensorProto, key: &str) -> Result<Option<&'a str>, TensorProblem> {
    let mut found = tensor.external_data.iter().filter(|e| e.key == key).map(|e| e.value.as_str());
    match (found.next(), found.next()) {
        (Some(first), Some(_)) => Err(refused(first, format!("but states its {key} twice"))),
        (first, _) => Ok(first),
    }
}

fn number(tensor: &TensorProto, key: &str, location: &str) -> Result<Option<u64>, TensorProblem> {
    let Some(text) = entry(tensor, key)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        refused(location, format!("but its {key} {:?} is not a number of bytes", shortened(text)))
    })
}

/// Resolves a location to a path that is inside the folder even after following links.
fn inside(folder: Option<&Path>, location: &str) -> Result<PathBuf, String> {
    let folder = folder.ok_or("but the model was read from memory, without a folder")?;
    if location.is_empty() {
        return Err("which names no file".to_owned());
    }
    if location.contains('\0') {
        return Err("which holds a NUL character".to_owned());
    }
    for component in Path::new(location).components() {
        match component {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir => return Err("which leaves the model's folder".to_owned()),
            Component::RootDir | Component::Prefix(_) => {
                return Err("which is not relative to the model's folder".to_owned());
            }
        }
    }
    let unreadable = |e: std::io::Error| format!("which cannot be read: {e}");
    let folder = folder.canonicalize().map_err(unreadable)?;
    let path = folder.join(location).canonicalize().map_err(unreadable)?;
    if path.starts_with(&folder) {
        Ok(path)
    } else {
        Err("which is a link that leaves the model's folder".to_owned())
    }
}
