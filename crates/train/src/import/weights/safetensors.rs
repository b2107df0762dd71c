//! Safetensors: a header in JSON, then the bytes of all tensors.

use std::{
    collections::BTreeMap,
    io::Read,
    path::{Component, Path},
};

use safetensors::{Dtype, tensor::Metadata};
use serde::Deserialize;

use super::{Element, Entry, fail, regular, row_major, small_file};
use crate::Error;

/// Headers and indices of real models have a few hundred kilobytes.
const MOST_HEADER: u64 = 16 << 20;
/// How many files a model may be spread over.
const MOST_FILES: usize = 1024;

pub(super) fn entries(path: &Path, length: u64) -> Result<BTreeMap<String, Entry>, Error> {
    let broken = |message: String| fail(path, format!("it is no safetensors file: {message}"));
    let (mut file, _) = regular(path)?;
    let mut size = [0; 8];
    file.read_exact(&mut size).map_err(|e| broken(e.to_string()))?;
    let size = u64::from_le_bytes(size);
    if size > MOST_HEADER || size.saturating_add(8) > length {
        return Err(broken(format!("it declares a header of {size} bytes")));
    }
    let mut header = Vec::new();
    file.take(size).read_to_end(&mut header).map_err(|e| broken(e.to_string()))?;
    let header: Metadata = serde_json::from_slice(&header).map_err(|e| broken(e.to_string()))?;
    let data = u64::try_from(header.data_len()).unwrap_or(u64::MAX);
    if data.saturating_add(8 + size) != length {
        let holds = length - 8 - size;
        return Err(broken(format!("its tensors have {data} bytes, and it holds {holds}")));
    }
    let entry = |name: String| {
        let info = header.info(&name)?;
        let start = 8 + size + u64::try_from(info.data_offsets.0).ok()?;
        let (shape, strides) = (info.shape.clone(), row_major(&info.shape));
        let element = element(info.dtype);
        let entry = Entry { file: path.to_owned(), start, element, offset: 0, shape, strides };
        Some((name, entry))
    };
    Ok(header.offset_keys().into_iter().filter_map(entry).collect())
}

fn element(dtype: Dtype) -> Element {
    match dtype {
        Dtype::F64 => Element::F64,
        Dtype::F32 => Element::F32,
        Dtype::F16 => Element::F16,
        Dtype::BF16 => Element::Bf16,
        other => Element::Other(other.bitsize().div_ceil(8)),
    }
}

#[derive(Deserialize)]
struct Index {
    /// Which file holds a tensor.
    weight_map: BTreeMap<String, String>,
}

/// The tensors of several files beside their index.
pub(super) fn sharded(path: &Path) -> Result<BTreeMap<String, Entry>, Error> {
    let index: Index = serde_json::from_slice(&small_file(path, MOST_HEADER)?)
        .map_err(|e| fail(path, format!("it is no index of safetensors files: {e}")))?;
    let mut files: BTreeMap<&str, BTreeMap<String, Entry>> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (name, file) in &index.weight_map {
        if !files.contains_key(file.as_str()) {
            let mut parts = Path::new(file).components();
            let is_plain = matches!(parts.next(), Some(Component::Normal(_)))
                && parts.next().is_none()
                && files.len() < MOST_FILES;
            if !is_plain {
                return Err(fail(path, format!("{file:?} is no file beside it")));
            }
            let shard = path.with_file_name(file);
            let (_, length) = regular(&shard)?;
            files.insert(file, entries(&shard, length)?);
        }
        let entry = files.get_mut(file.as_str()).and_then(|entries| entries.remove(name));
        let entry = entry.ok_or_else(|| {
            fail(path, format!("tensor {name} should be in {file}, and it is not"))
        })?;
        found.insert(name.clone(), entry);
    }
    Ok(found)
}
