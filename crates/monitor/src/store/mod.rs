//! The state on disk: a folder with a journal of records, snapshots, and what they belong to.
//!
//! | file | holds |
//! |---|---|
//! | `monitor.json` | the detector, the settings, the streams: what the state belongs to |
//! | `journal-N` | records from number N on: `length u32 · crc u32 · number u64 · record` (little-endian; the CRC-32 is of all but itself) |
//! | `snapshot-N` | the state behind record N, with a CRC-32; the last two are kept, and the journal since the older one |
//! | `acknowledged` | the number of the last durable record, so that a journal that was cut is noticed |
//! | `lock` | held by the process that uses the state |

mod frame;
mod identity;
mod journal;
mod snapshot;

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

pub(crate) use identity::Identity;
pub(crate) use journal::Journal;
pub(crate) use snapshot::{latest, save, tidy};

use crate::Error;

/// An error about a file.
pub(crate) fn about(path: &Path, error: &io::Error) -> Error {
    Error::File { path: path.to_owned(), what: error.to_string() }
}

/// Makes the folder if it is not there, and keeps other processes from it as long as the file is open.
pub(crate) fn hold(folder: &Path) -> Result<File, Error> {
    fs::create_dir_all(folder).map_err(|e| about(folder, &e))?;
    let path = folder.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|e| Error::File {
        path: folder.to_owned(),
        what: format!("the state can't be written: {e}"),
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked(folder.to_owned())),
        Err(TryLockError::Error(e)) => Err(about(&path, &e)),
    }
}

/// Whether there is something of a state in a folder.
pub(crate) fn is_begun(folder: &Path) -> Result<bool, Error> {
    match fs::metadata(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(about(folder, &e)),
        Ok(_) => {
            Ok(folder.join(identity::FILE).exists() || !numbered(folder, "journal-")?.is_empty())
        }
    }
}

/// Makes the names in a folder durable, where the system can.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Files whose names are a prefix and a number, in the order of their numbers.
pub(crate) fn numbered(folder: &Path, prefix: &str) -> Result<Vec<(u64, PathBuf)>, Error> {
    let entries = fs::read_dir(folder).map_err(|e| about(folder, &e))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| about(folder, &e))?.path();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(number) = name.strip_prefix(prefix).and_then(|n| n.parse().ok()) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn file_name(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:012}")
}
