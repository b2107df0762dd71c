//! What `torch.save` writes: a zip archive with a pickle, which refers to storages that are members of their own.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{BufReader, Read},
    path::Path,
};

use zip::{CompressionMethod, ZipArchive};

use super::{
    Entry, fail,
    pickle::{self, Tensor},
    regular,
};
use crate::Error;

/// The pickle of a state dict has about a hundred bytes a tensor.
const MOST_PICKLE: u64 = 16 << 20;
/// Tensors may share storages, but all of them together are not much larger than the file.
const SHARED: u64 = 8;

/// A member's place in the file.
struct Member {
    start: u64,
    bytes: u64,
}

type Archive = ZipArchive<BufReader<File>>;

pub(super) fn entries(path: &Path, length: u64) -> Result<BTreeMap<String, Entry>, Error> {
    let (file, _) = regular(path)?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|e| {
        fail(path, format!("the zip archive can't be read, as if it were cut off: {e}"))
    })?;
    let members = members(path, &mut archive, length)?;
    let folder = members.keys().find_map(|name| name.strip_suffix("data.pkl"));
    let Some(folder) = folder.map(str::to_owned) else {
        return Err(fail(
            path,
            "it is a zip archive, but none that torch.save wrote: it has no data.pkl",
        ));
    };
    if members.contains_key(&format!("{folder}constants.pkl")) {
        return Err(fail(
            path,
            "it is a TorchScript program; torch.save(model.state_dict(), FILE) writes the weights alone",
        ));
    }
    let order = contents(path, &mut archive, &format!("{folder}byteorder"), &members, 16)?;
    if order.as_deref().is_some_and(|o| o != b"little") {
        return Err(fail(path, "it was written on a machine that keeps numbers big end first"));
    }
    let pickle = format!("{folder}data.pkl");
    let pickle = contents(path, &mut archive, &pickle, &members, MOST_PICKLE)?.unwrap_or_default();
    let tensors = pickle::state_dict(&pickle).map_err(|message| fail(path, message))?;
    let mut total = 0u64;
    let mut entries = BTreeMap::new();
    for (name, tensor) in tensors {
        let member = members.get(&format!("{folder}data/{}", tensor.storage));
        let entry = entry(path, &tensor, member)
            .map_err(|message| fail(path, format!("tensor {name}: {message}")))?;
        total = total.saturating_add(entry.1);
        entries.insert(name, entry.0);
    }
    if total > length.saturating_mul(SHARED) {
        return Err(fail(path, format!("its tensors have {total} bytes, far more than the file")));
    }
    Ok(entries)
}

/// Where a tensor lies, and how many bytes its elements take.
fn entry(path: &Path, tensor: &Tensor, member: Option<&Member>) -> Result<(Entry, u64), String> {
    let storage = &tensor.storage;
    let member = member.ok_or_else(|| format!("its storage {storage} is missing"))?;
    let entry = Entry {
        file: path.to_owned(),
        start: member.start,
        element: tensor.element,
        offset: tensor.offset,
        shape: tensor.shape.clone(),
        strides: tensor.strides.clone(),
    };
    let width = tensor.element.bytes();
    let bytes = |elements: Option<usize>| {
        elements.and_then(|n| n.checked_mul(width)).and_then(|n| u64::try_from(n).ok())
    };
    let end = bytes(entry.reach().and_then(|n| n.checked_add(entry.offset)));
    let own = bytes(entry.shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)));
    match (end, own) {
        (Some(end), Some(own)) if end <= member.bytes && own <= member.bytes => Ok((entry, own)),
        _ => Err(format!(
            "shape {:?} with strides {:?} reaches beyond its storage of {} bytes",
            entry.shape, entry.strides, member.bytes
        )),
    }
}

/// All members that are stored as they are.
fn members(
    path: &Path,
    archive: &mut Archive,
    length: u64,
) -> Result<HashMap<String, Member>, Error> {
    let broken = |e| fail(path, format!("the zip archive can't be read: {e}"));
    let mut members = HashMap::new();
    for number in 0..archive.len() {
        let entry = archive.by_index_raw(number).map_err(broken)?;
        let name = entry.name().map_err(broken)?.into_owned();
        let refused = |what: &str| Err(fail(path, format!("its member {name:?} is {what}")));
        if entry.encrypted() || entry.compression() != CompressionMethod::Stored {
            return refused("compressed, which torch.save does not do");
        }
        let bytes = entry.compressed_size();
        let Some(start) = entry.data_start() else { return refused("not to be found") };
        if start.saturating_add(bytes) > length {
            return refused("cut off");
        }
        members.insert(name, Member { start, bytes });
    }
    Ok(members)
}

/// The bytes of a member, if it is there.
fn contents(
    path: &Path,
    archive: &mut Archive,
    name: &str,
    members: &HashMap<String, Member>,
    most: u64,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(member) = members.get(name) else { return Ok(None) };
    if member.bytes > most {
        return Err(fail(
            path,
            format!("its member {name:?} has {} bytes, and at most {most} are read", member.bytes),
        ));
    }
    let broken = |e: String| fail(path, format!("its member {name:?} can't be read: {e}"));
    let mut bytes = Vec::new();
    let entry = archive.by_name(name).map_err(|e| broken(e.to_string()))?;
    entry.take(most).read_to_end(&mut bytes).map_err(|e| broken(e.to_string()))?;
    Ok(Some(bytes))
}
