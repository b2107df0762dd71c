//! Pooling over windows.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
