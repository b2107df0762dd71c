//! Memory that is used again.

use rten::Value;
use rten_tensor::Layout;

/// Arrays that are no longer needed.
#[derive(Default)]
pub(super) struct Spare(Vec<Vec<f32>>);

/// More numbers than these are not kept: 32 MiB, some arrays of a network for pictures of 224 × 224.
const MOST: usize = 8 << 20;

impl Spare {
    /// An array of a length, with anything in it: the one that was kept last, for that is in the cache.
    pub(super) fn take(&mut self, length: usize) -> Vec<f32> {
        let fits = |a: &Vec<f32>| a.capacity() >= length && a.capacity() <= 2 * length;
        let mut array = match self.0.iter().rposition(fits) {
            Some(i) => self.0.swap_remove(i),
            None => Vec::new(),
        };
        array.resize(length, 0.0);
        array
    }

    /// Keeps the memory of a value.
    pub(super) fn keep(&mut self, value: Value) {
        if let Value::FloatTensor(tensor) = value
            && tensor.is_contiguous()
        {
            self.0.push(tensor.into_data());
            while self.0.iter().map(Vec::capacity).sum::<usize>() > MOST {
                self.0.remove(0);
            }
        }
    }
}
