//! Changing the resolution.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
