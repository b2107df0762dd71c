//! What was left out, counted and named.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Images or lines that were left out, by their place in the file.
#[derive(Debug, Default)]
pub(crate) struct Skips {
    entries: Mutex<BTreeMap<u64, (String, String)>>,
}

/// Beyond this many the file is not what it is taken for, and naming them all would fill the memory.
const MOST: usize = 100_000;

impl Skips {
    /// Notes what was left out, and whether there is still room.
    pub(crate) fn note(&self, place: u64, name: String, why: String) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(place, (name, why));
        entries.len() <= MOST
    }

    /// All that was left out, in order.
    pub(crate) fn list(&self) -> Vec<(String, String)> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.values().cloned().collect()
    }

    /// The place of the sample with a number, as far as the file has been read.
    pub(crate) fn place(&self, index: usize) -> usize {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = index;
        for &skipped in entries.keys() {
            if skipped > place as u64 {
                break;
            }
            place += 1;
        }
        place
    }
}

/// The end of a sentence about something that could be left out.
pub(crate) const HINT: &str = "; --skip-bad leaves such out";

/// The sentence for a file of which far too much would be left out.
pub(crate) fn too_many() -> String {
    format!("more than {MOST} of its entries can't be read: it is not what it is taken for")
}
