//! A copy of the input with its border.

use crate::axis::Sweep;

/// Where the rows and columns of a channel lie in the copy. With a stride, entries with the same remainder are put together, so
/// that neighbouring outputs read neighbouring entries.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    axes: [Axis; 2],
    /// Entries from one channel to the next.
    pub(crate) plane: usize,
}

#[derive(Clone, Copy, Debug)]
struct Axis {
    inputs: usize,
    stride: usize,
    /// The input that the first entry stands for.
    lowest: isize,
    /// Entries with one remainder.
    length: usize,
}

impl Axis {
    fn new(inputs: usize, outputs: usize, sweeps: &[Sweep]) -> Self {
        let stride = sweeps.iter().map(|s| s.stride).max().unwrap_or(1);
        let offsets = || sweeps.iter().flat_map(|s| s.taps.iter().map(|t| t.offset));
        let lowest = offsets().min().unwrap_or(0);
        let reach = offsets().max().unwrap_or(0).abs_diff(lowest) / stride;
        let count = sweeps.iter().map(|s| s.count(outputs)).max().unwrap_or(0);
        Self { inputs, stride, lowest, length: count + reach }
    }

    /// The remainder and the place of an input relative to the lowest.
    fn place(self, offset: isize) -> (usize, usize) {
        let distance = offset.abs_diff(self.lowest);
        (distance % self.stride, distance / self.stride)
    }
}

/// Planes whose distance is close to a multiple of this share a set of the cache.
const ALIAS: usize = 1024;

impl Layout {
    pub(crate) fn new(inputs: [usize; 2], outputs: [usize; 2], sweeps: [&[Sweep]; 2]) -> Self {
        let axes = [0, 1].map(|i| Axis::new(inputs[i], outputs[i], sweeps[i]));
        let plane: usize = axes.iter().map(|a| a.stride * a.length).product();
        let near = plane % ALIAS < 32 || plane % ALIAS > ALIAS - 32;
        Self { axes, plane: if near { plane + 48 } else { plane } }
    }

    /// Entries from one row of outputs to the next.
    pub(crate) fn row(&self) -> usize {
        self.axes[1].length
    }

    /// What a tap reads, relative to the output's place.
    pub(crate) fn tap(&self, offsets: [isize; 2]) -> usize {
        let [y, x] = self.axes;
        let (phase_y, at_y) = y.place(offsets[0]);
        let (phase_x, at_x) = x.place(offsets[1]);
        ((phase_y * x.stride + phase_x) * y.length + at_y) * x.length + at_x
    }

    /// Copies one channel; the border is left as it is.
    pub(crate) fn copy(&self, channel: &[f32], plane: &mut [f32]) {
        let [y, x] = self.axes;
        for (row, line) in channel.chunks_exact(x.inputs.max(1)).enumerate().take(y.inputs) {
            let distance = row as isize - y.lowest;
            let Some((phase_y, at_y)) = y.held(distance) else { continue };
            for phase_x in 0..x.stride {
                let start = ((phase_y * x.stride + phase_x) * y.length + at_y) * x.length;
                let cells = &mut plane[start..start + x.length];
                // Entry c stands for input lowest + phase + c·stride.
                let first = x.lowest + phase_x as isize;
                let skip = first.min(0).unsigned_abs().div_ceil(x.stride);
                let from = first + (skip * x.stride) as isize;
                let Some(line) = line.get(from.unsigned_abs()..) else { continue };
                let Some(cells) = cells.get_mut(skip..) else { continue };
                if x.stride == 1 {
                    let length = cells.len().min(line.len());
                    cells[..length].copy_from_slice(&line[..length]);
                } else {
                    let values = line.iter().step_by(x.stride);
                    cells.iter_mut().zip(values).for_each(|(cell, &value)| *cell = value);
                }
            }
        }
    }
}

impl Axis {
    /// The remainder and the place of an entry at a distance from the lowest, if it is held.
    fn held(self, distance: isize) -> Option<(usize, usize)> {
        let distance = usize::try_from(distance).ok()?;
        let (phase, at) = (distance % self.stride, distance / self.stride);
        (at < self.length).then_some((phase, at))
    }
}
