//! Einstein sums.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
