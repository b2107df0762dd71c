//! What was left out, counted and named.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Images or rows that were left out, in the order of their places in the folder or file.
#[derive(Debug, Default)]
pub(crate) struct Skips {
    entries: Mutex<Vec<Skip>>,
}

#[derive(Debug)]
struct Skip {
    place: usize,
    name: String,
    why: String,
}

/// Beyond this many the file is not what it is taken for, and naming them all would fill the memory.
const MOST: usize = 100_000;

impl Skips {
    fn entries(&self) -> MutexGuard<'_, Vec<Skip>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was left out, and whether there is still room.
    pub(crate) fn note(&self, place: usize, name: String, why: String) -> bool {
        let mut entries = self.entries();
        // Another pass finds the same again.
        if let Err(at) = entries.binary_search_by_key(&place, |skip| skip.place) {
            entries.insert(at, Skip { place, name, why });
        }
        entries.len() <= MOST
    }

    /// How many were left out.
    pub(crate) fn count(&self) -> usize {
        self.entries().len()
    }

    /// All that was left out, in order.
    pub(crate) fn list(&self) -> Vec<(String, String)> {
        self.entries().iter().map(|skip| (skip.name.clone(), skip.why.clone())).collect()
    }

    /// The place of the sample with a number, as far as the file has been read.
    pub(crate) fn place(&self, index: usize) -> usize {
        let entries = self.entries();
        // How many were left out before it: the k-th left-out place has place − k samples before it.
        let (mut low, mut high) = (0, entries.len());
        while low < high {
            let middle = low.midpoint(high);
            if entries[middle].place - middle <= index {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        index + low
    }
}

/// The sentence for a file of which far too much would be left out.
pub(crate) fn too_many() -> String {
    format!("more than {MOST} of its entries can't be read: it is not what it is taken for")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_what_was_left_out() {
        let skips = Skips::default();
        for place in [0, 3, 4, 9, 3] {
            assert!(skips.note(place, place.to_string(), String::new()));
        }
        let places: Vec<usize> = (0..8).map(|i| skips.place(i)).collect();
        assert_eq!(places, [1, 2, 5, 6, 7, 8, 10, 11]);
        assert_eq!(skips.list().len(), 4);
    }
}
