//! Memory that is used again.

use std::collections::VecDeque;

use rten::Value;
use rten_tensor::Layout;

/// Arrays that are no longer needed, the newest last.
#[derive(Default)]
pub(super) struct Spare(VecDeque<Vec<f32>>);

/// More numbers than these are not kept: 32 MiB, some arrays of a network for pictures of 224 × 224.
const MOST: usize = 8 << 20;
/// Nor are more arrays than these, as each of them is looked at.
const MOST_ARRAYS: usize = 64;

impl Spare {
    /// An array of a length, with anything in it: the one that was kept last, for that is in the cache.
    pub(super) fn take(&mut self, length: usize) -> Vec<f32> {
        let fits = |a: &Vec<f32>| a.capacity() >= length && a.capacity() <= 2 * length;
        let found = self.0.iter().rposition(fits);
        let mut array = found.and_then(|i| self.0.remove(i)).unwrap_or_default();
        array.resize(length, 0.0);
        array
    }

    /// Keeps the memory of a value.
    pub(super) fn keep(&mut self, value: Value) {
        if let Value::FloatTensor(tensor) = value
            && tensor.is_contiguous()
        {
            self.0.push_back(tensor.into_data());
            while self.0.len() > MOST_ARRAYS
                || self.0.iter().map(Vec::capacity).sum::<usize>() > MOST
            {
                self.0.pop_front();
            }
        }
    }
}
