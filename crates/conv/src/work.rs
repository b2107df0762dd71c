//! Memory that a thread uses again.

use std::cell::RefCell;

use crate::image::Layout;

/// Arrays with anything in them, but for the images.
#[derive(Default)]
pub(crate) struct Work {
    /// Copies with a border of zeros, and how many numbers of which layout they are.
    pub(crate) images: Vec<f32>,
    layout: Option<(Layout, usize)>,
    pub(crate) partial: Vec<f32>,
    pub(crate) entered: Vec<f32>,
    pub(crate) summed: Vec<f32>,
}

impl Work {
    /// Images of a layout, with zeros in their borders.
    pub(crate) fn take_images(&mut self, layout: &Layout, length: usize) -> Vec<f32> {
        let mut images = std::mem::take(&mut self.images);
        let clean = self.layout.as_ref().is_some_and(|(l, held)| l == layout && *held >= length);
        if !clean || images.len() < length {
            room(&mut images, length).fill(0.0);
            self.layout = Some((layout.clone(), length));
        }
        images
    }
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
