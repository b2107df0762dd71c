//! Activations of networks.

use crate::Entry;

pub(crate) const ENTRIES: &[Entry] = &[];
