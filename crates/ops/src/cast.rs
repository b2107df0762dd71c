//! Changing the element type.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
