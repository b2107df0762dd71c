//! Memory that requests hold, bounded over all of them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::Refusal;

/// Memory for bodies and tensors.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    room: Arc<Semaphore>,
}

/// What one request holds, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    room: Arc<Semaphore>,
    permits: Option<OwnedSemaphorePermit>,
    bytes: usize,
}

/// Bytes are counted in pieces of this size.
const PIECE: usize = 1 << 12;

impl Memory {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { room: Arc::new(Semaphore::new((bytes / PIECE).min(Semaphore::MAX_PERMITS))) }
    }

    pub(crate) fn hold(&self) -> Held {
        Held { room: Arc::clone(&self.room), permits: None, bytes: 0 }
    }
}

impl Held {
    /// Holds more; refused where others hold too much.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let pieces = |bytes: usize| bytes.div_ceil(PIECE);
        let more = pieces(self.bytes + bytes) - pieces(self.bytes);
        self.bytes += bytes;
        let full = || Refusal::busy("other requests hold all memory that bodies may take", 1);
        let more = u32::try_from(more).map_err(|_| full())?;
        let taken = Arc::clone(&self.room).try_acquire_many_owned(more).map_err(|_| full())?;
        match &mut self.permits {
            Some(permits) => permits.merge(taken),
            none => *none = Some(taken),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back() {
        let memory = Memory::new(10 * PIECE);
        let mut one = memory.hold();
        (0..8 * PIECE).step_by(64).try_for_each(|_| one.grow(64)).expect("room");
        let mut other = memory.hold();
        assert!(other.grow(2 * PIECE).is_ok() && other.grow(1).is_err());
        drop(one);
        assert!(memory.hold().grow(8 * PIECE).is_ok());
    }
}
