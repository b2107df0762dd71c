//! Normalisation layers.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
