//! Snapshots: the state behind a record, so that the journal before it is needed no longer.

use std::{fs, io::Write, path::Path};

use taste_files::AtomicFile;

use super::{about, file_name, frame, numbered, sync_folder};
use crate::{Error, watch::State};

const PREFIX: &str = "snapshot-";
/// Snapshots that are kept: if the last one is damaged, the one before and the journal give the same state.
const KEPT: usize = 2;

/// Writes the state behind a record.
pub(crate) fn save(folder: &Path, number: u64, state: &State) -> Result<(), Error> {
    let path = folder.join(file_name(PREFIX, number));
    let bytes = postcard::to_stdvec(state)
        .ok()
        .and_then(|bytes| frame::frame(number, &bytes))
        .ok_or_else(|| Error::File { path: path.clone(), what: "it is too large".to_owned() })?;
    let written = AtomicFile::create(&path).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.commit()?;
        sync_folder(folder)
    });
    written.map_err(|e| about(&path, &e))
}

/// The last snapshot that is whole, with the number of its record.
type Latest = Option<(u64, State)>;

/// The last snapshot that is whole, and what is wrong with later ones.
pub(crate) fn latest(folder: &Path) -> Result<(Latest, Vec<String>), Error> {
    let mut wrong = Vec::new();
    for (number, path) in numbered(folder, PREFIX)?.into_iter().rev() {
        let bytes = fs::read(&path).map_err(|e| about(&path, &e))?;
        let whole = frame::parse(&bytes).filter(|(n, _, rest)| *n == number && rest.is_empty());
        match whole.and_then(|(_, record, _)| postcard::from_bytes(record).ok()) {
            Some(state) => return Ok((Some((number, state)), wrong)),
            None => wrong.push(format!(
                "{}: the snapshot is damaged; the one before and the journal were used instead",
                path.display()
            )),
        }
    }
    Ok((None, wrong))
}

/// Removes all but the last snapshots, and returns the number of the oldest that stays.
pub(crate) fn tidy(folder: &Path) -> Result<u64, Error> {
    let mut all = numbered(folder, PREFIX)?;
    let kept = all.split_off(all.len().saturating_sub(KEPT));
    for (_, path) in all {
        fs::remove_file(&path).map_err(|e| about(&path, &e))?;
    }
    Ok(if kept.len() < KEPT { 0 } else { kept[0].0 })
}
