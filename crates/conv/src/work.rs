//! Memory that a thread uses again.

use std::cell::RefCell;

use crate::image::Images;

/// Arrays with anything in them, but for the images.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) images: Images,
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
