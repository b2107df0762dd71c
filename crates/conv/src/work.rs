//! Memory that a thread uses again.

use std::cell::RefCell;

/// What is written before it is read, but for `images`, whose border is zero.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) images: Vec<f32>,
    pub(crate) partial: Vec<f32>,
    pub(crate) entered: Vec<f32>,
    pub(crate) summed: Vec<f32>,
}

thread_local! {
    static WORK: RefCell<Work> = RefCell::default();
}

/// Runs something with the thread's memory.
pub(crate) fn with<R>(run: impl FnOnce(&mut Work) -> R) -> R {
    WORK.with_borrow_mut(run)
}

/// The first `length` numbers, with anything in them.
pub(crate) fn room(memory: &mut Vec<f32>, length: usize) -> &mut [f32] {
    if memory.len() < length {
        memory.resize(length, 0.0);
    }
    &mut memory[..length]
}
