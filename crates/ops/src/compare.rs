//! Comparisons, logic, and choosing between values.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
