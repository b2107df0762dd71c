//! Padding.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
