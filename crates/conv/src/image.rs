//! A copy of the input with its border.

use std::ops::Range;

use crate::{
    axis::Sweep,
    batch::{LANES, Part},
    product::Taps,
    work::{LINE, room},
};

/// Where the rows and columns of a channel lie in the copy. With a stride, entries with the same remainder are put together, so
/// that neighbouring outputs read neighbouring entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    axes: [Axis; 2],
    /// Entries from one channel to the next.
    pub(crate) plane: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// No plane is larger; places in it are far from the largest number.
const MOST: usize = isize::MAX as usize / 2;

/// Planes whose distance is close to a multiple of this (4 KiB) share a set of the first cache, which holds eight or twelve lines
/// of it; a sum reads the same entry of many more planes.
const ALIAS: usize = 1024;
const NEAR: usize = 32;

impl Layout {
    pub(crate) fn new(inputs: [usize; 2], outputs: [usize; 2], sweeps: &[Vec<Sweep>; 2]) -> Self {
        let axes = [0, 1].map(|i| Axis::new(inputs[i], outputs[i], &sweeps[i]));
        let sizes = axes.iter().flat_map(|a| [a.stride, a.length]);
        let plane = sizes.fold(1, usize::saturating_mul);
        assert!(plane <= MOST, "the copy of a channel is of a size that can be counted with");
        let plane = plane.next_multiple_of(LINE);
        let near = plane % ALIAS < NEAR || plane % ALIAS > ALIAS - NEAR;
        // A line of the cache beyond what is near.
        Self { axes, plane: if near { plane + NEAR + LINE } else { plane } }
    }

    /// Whether a channel lies in the copy as it is given.
    pub(crate) fn is_plain(&self) -> bool {
        let plain = |a: &Axis| a.stride == 1 && a.lowest == 0 && a.length == a.inputs;
        self.axes.iter().all(plain) && self.plane == self.axes.iter().map(|a| a.inputs).product()
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

    /// What every pair of taps of two sweeps reads.
    pub(crate) fn taps(&self, [y, x]: [&Sweep; 2]) -> Taps {
        let pairs = y.taps.iter().flat_map(|r| x.taps.iter().map(|c| [r.offset, c.offset]));
        Taps::new(pairs.map(|offsets| self.tap(offsets)).collect())
    }

    /// Copies one channel; the border is left as it is.
    pub(crate) fn copy(&self, channel: &[f32], plane: &mut [f32]) {
        let [y, x] = self.axes;
        if x.stride == 1 && y.stride == 1 {
            let ((above, rows), (left, columns)) = (y.inner(), x.inner());
            let lines = channel.chunks_exact(x.inputs).skip(rows.start).take(rows.len());
            let into = plane[above * x.length..].chunks_mut(x.length);
            for (line, cells) in lines.zip(into) {
                cells[left..left + columns.len()].copy_from_slice(&line[columns.clone()]);
            }
            return;
        }
        for (row, line) in channel.chunks_exact(x.inputs).enumerate().take(y.inputs) {
            let Some((phase_y, at_y)) = y.held(row as isize - y.lowest) else { continue };
            let start = (phase_y * x.stride * y.length + at_y) * x.length;
            let mut lines =
                plane[start..].chunks_mut(y.length * x.length).map(|l| &mut l[..x.length]);
            if x.stride == 2
                && let (Some(even), Some(odd)) = (lines.next(), lines.next())
            {
                x.split(line, even, odd);
                continue;
            }
            for (phase, cells) in lines.take(x.stride).enumerate() {
                let (skip, line) = x.first(phase, line);
                let values = line.iter().step_by(x.stride);
                cells[skip..].iter_mut().zip(values).for_each(|(cell, &value)| *cell = value);
            }
        }
    }
}

/// Copies with zeros in their borders.
#[derive(Default)]
pub(crate) struct Images {
    numbers: Vec<f32>,
    /// The layout that the borders were cleared for, and how many numbers were cleared. While both stay, only the entries inside
    /// of borders are written, and the zeros around them need not be written again.
    layout: Option<(Layout, usize)>,
}

impl Images {
    /// The inputs of a group, as samples × inputs × planes of a layout.
    pub(crate) fn copy(&mut self, layout: &Layout, part: &Part<'_>, group: usize) -> &[f32] {
        let image = part.inputs * layout.plane;
        // Vectors at the end of the last channel read a little beyond it.
        let length = part.samples * image + 2 * LANES;
        let clean = self.layout.as_ref().is_some_and(|(l, held)| l == layout && *held >= length);
        // What was cleared is not moved, as it grows together with what is noted of it.
        let numbers = room(&mut self.numbers, length);
        if !clean {
            numbers.fill(0.0);
            self.layout = Some((layout.clone(), length));
        }
        for (sample, image) in part.inputs(group).zip(numbers.chunks_exact_mut(image)) {
            let channels = sample.chunks_exact((sample.len() / part.inputs).max(1));
            for (channel, plane) in channels.zip(image.chunks_exact_mut(layout.plane)) {
                layout.copy(channel, plane);
            }
        }
        numbers
    }
}

impl Axis {
    /// With a stride of one: the number of border entries before the first input, and the range of inputs that follow them.
    fn inner(self) -> (usize, Range<usize>) {
        let skip = (-self.lowest).max(0).unsigned_abs();
        let from = self.lowest.max(0).unsigned_abs();
        let end = self.inputs.min((from + self.length).saturating_sub(skip)).max(from);
        (skip, from..end)
    }

    /// The remainder and the place of an entry at a distance from the lowest, if it is held.
    fn held(self, distance: isize) -> Option<(usize, usize)> {
        let distance = usize::try_from(distance).ok()?;
        let (phase, at) = (distance % self.stride, distance / self.stride);
        (at < self.length).then_some((phase, at))
    }

    /// For a remainder by the stride: the number of border entries before the first input, and the line from that input on.
    fn first(self, phase: usize, line: &[f32]) -> (usize, &[f32]) {
        let lowest = self.lowest + phase as isize;
        let skip = lowest.min(0).unsigned_abs().div_ceil(self.stride).min(self.length);
        let from = (lowest + (skip * self.stride) as isize).unsigned_abs();
        (skip, line.get(from..).unwrap_or(&[]))
    }

    /// Copies a row with a stride of two, the usual one: pairs are read once, in order.
    fn split(self, line: &[f32], even: &mut [f32], odd: &mut [f32]) {
        let ((skip_even, from_even), (skip_odd, from_odd)) =
            (self.first(0, line), self.first(1, line));
        let (even, odd) = (&mut even[skip_even..], &mut odd[skip_odd..]);
        let (ahead, behind, line) = if from_even.len() > from_odd.len() {
            (even, odd, from_even)
        } else {
            (odd, even, from_odd)
        };
        let pairs = line.chunks_exact(2);
        let last = pairs.remainder().first().zip(ahead.get_mut(line.len() / 2));
        if let Some((value, cell)) = last {
            *cell = *value;
        }
        for ((a, b), pair) in ahead.iter_mut().zip(behind.iter_mut()).zip(pairs.clone()) {
            (*a, *b) = (pair[0], pair[1]);
        }
        // One of them may be longer by one.
        let both = ahead.len().min(behind.len());
        for (cells, i) in [(ahead, 0), (behind, 1)] {
            if let (Some(cell), Some(pair)) = (cells.get_mut(both), pairs.clone().nth(both)) {
                *cell = pair[i];
            }
        }
    }
}
