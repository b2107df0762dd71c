//! Positions of extreme elements.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
