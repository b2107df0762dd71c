//! What has been counted already.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::origin::{Cursor, FileId};

/// Requests, and files, that are remembered.
pub const REMEMBERED: usize = 100_000;

type Key = [u8; 16];

fn key(id: &str) -> Key {
    let digest = Sha256::digest(id.as_bytes());
    let mut key = Key::default();
    key.copy_from_slice(&digest[..16]);
    key
}

/// The last requests, with the record that counted each, and how far files have been counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub(crate) struct Seen {
    order: VecDeque<(Key, u64)>,
    requests: HashMap<Key, u64>,
    files: BTreeMap<String, Cursor>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    order: VecDeque<(Key, u64)>,
    files: BTreeMap<String, Cursor>,
}

impl From<Saved> for Seen {
    fn from(saved: Saved) -> Self {
        let requests = saved.order.iter().copied().collect();
        Self { order: saved.order, requests, files: saved.files }
    }
}

impl From<Seen> for Saved {
    fn from(seen: Seen) -> Self {
        Self { order: seen.order, files: seen.files }
    }
}

impl Seen {
    /// The record that counted a request.
    pub(crate) fn request(&self, id: &str) -> Option<u64> {
        self.requests.get(&key(id)).copied()
    }

    pub(crate) fn add_request(&mut self, id: &str, sequence: u64) {
        let key = key(id);
        self.order.push_back((key, sequence));
        self.requests.insert(key, sequence);
        if self.order.len() > REMEMBERED
            && let Some((old, _)) = self.order.pop_front()
        {
            self.requests.remove(&old);
        }
    }

    /// How far a file of this name has been counted, whatever it held then.
    pub(crate) fn cursor(&self, name: &str) -> Option<Cursor> {
        self.files.get(name).copied()
    }

    /// Rows of just this file, or of what it has grown from, that are counted.
    pub(crate) fn rows(&self, file: &FileId, grown_from: Option<[u8; 32]>) -> u64 {
        let same = |c: &Cursor| c.sha256 == file.sha256 || grown_from == Some(c.sha256);
        self.cursor(&file.name).filter(same).map_or(0, |c| c.rows)
    }

    pub(crate) fn add_rows(&mut self, file: &FileId, rows: u64, sequence: u64) {
        let cursor = Cursor { bytes: file.bytes, sha256: file.sha256, rows, sequence };
        self.files.insert(file.name.clone(), cursor);
        if self.files.len() > REMEMBERED {
            let oldest = self.files.iter().min_by_key(|(_, c)| c.sequence);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                self.files.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_known_until_much_more_has_come() {
        let mut seen = Seen::default();
        (1..=REMEMBERED as u64 + 10).for_each(|n| seen.add_request(&format!("id {n}"), n));
        assert_eq!(seen.request("id 10"), None);
        assert_eq!(seen.request("id 11"), Some(11));
        assert_eq!(seen.requests.len(), REMEMBERED);
        let file = FileId { name: "a.npy".to_owned(), bytes: 5, sha256: [1; 32] };
        seen.add_rows(&file, 40, 7);
        assert_eq!(seen.rows(&file, None), 40);
        let grown = FileId { sha256: [2; 32], bytes: 9, ..file };
        assert_eq!((seen.rows(&grown, None), seen.rows(&grown, Some([1; 32]))), (0, 40));
        let saved = postcard::to_stdvec(&seen).expect("bytes");
        assert_eq!(postcard::from_bytes::<Seen>(&saved), Ok(seen));
    }
}
