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

/// What a line of the cache holds, in numbers.
pub(crate) const LINE: usize = 16;

/// So many numbers with anything in them. The first begins a line of the cache: a vector that lies in two lines is read twice.
pub(crate) fn room(memory: &mut Vec<f32>, length: usize) -> &mut [f32] {
    if memory.len() < length + LINE {
        memory.resize(length + LINE, 0.0);
    }
    let start = memory.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
    &mut memory[start..start + length]
}
