//! Picking elements by index.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
