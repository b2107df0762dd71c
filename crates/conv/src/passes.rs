//! Weights of a convolution that is summed tap by tap.

use crate::{
    Channels,
    axis::{Direction, Sweep, Window},
    product::{OUTPUTS, Packed, blocks},
};
use std::ops::Range;

/// The weights of every pass: what `direct`, `by_two` and `across` read.
#[derive(Clone, Debug)]
pub(crate) struct Passes {
    pub(crate) sweeps: [Vec<Sweep>; 2],
    pub(crate) each: Vec<Pass>,
    /// Groups of channels, and how many outputs each has.
    groups: usize,
    pub(crate) outputs: usize,
}

/// The outputs of one sweep along each axis.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    /// Their places among the sweeps.
    pub(crate) sweeps: [usize; 2],
    /// By group; a tap is a pair of one along each axis, in the order rows × columns.
    pub(crate) weights: Vec<Packed>,
}

/// A group of channels.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    pub(crate) number: usize,
    /// Its first output.
    pub(crate) first: usize,
    /// Those of its outputs that are in a part: the first, and the one behind the last.
    pub(crate) outputs: (usize, usize),
}

impl Passes {
    /// From the weight of a group, an output and an input of it, a row and a column of the window.
    pub(crate) fn new(
        direction: Direction,
        windows: [Window; 2],
        channels: Channels,
        weight: impl Fn(usize, [usize; 2], [usize; 2]) -> f32,
    ) -> Self {
        let (inputs, outputs) = (channels.inputs_of_group(), channels.outputs_of_group());
        let sweeps = windows.map(|w| direction.sweeps(w));
        let mut passes = Vec::new();
        for (y, rows) in sweeps[0].iter().enumerate() {
            for (x, columns) in sweeps[1].iter().enumerate() {
                let taps = [outputs, inputs, rows.taps.len() * columns.taps.len()];
                let weights = (0..channels.groups).map(|group| {
                    Packed::new(taps, |output, input, tap| {
                        let row = rows.taps[tap / columns.taps.len()];
                        let column = columns.taps[tap % columns.taps.len()];
                        weight(group, [output, input], [row.weight, column.weight])
                    })
                });
                passes.push(Pass { sweeps: [y, x], weights: weights.collect() });
            }
        }
        Self { sweeps, each: passes, groups: channels.groups, outputs }
    }

    /// The sweeps of a pass.
    pub(crate) fn of(&self, pass: &Pass) -> [&Sweep; 2] {
        [0, 1].map(|axis| &self.sweeps[axis][pass.sweeps[axis]])
    }

    /// Blocks of channels that are summed together.
    pub(crate) fn blocks(&self) -> Vec<Range<usize>> {
        let of_group = |group: usize| {
            let first = group * self.outputs;
            blocks(self.outputs, OUTPUTS).map(move |b| first + b.start..first + b.end)
        };
        (0..self.groups).flat_map(of_group).collect()
    }

    /// The groups that have some of the channels.
    pub(crate) fn groups(&self, (start, end): (usize, usize)) -> impl Iterator<Item = Group> {
        let per_group = self.outputs;
        (start / per_group..end.div_ceil(per_group)).map(move |number| {
            let first = number * per_group;
            let outputs = (start.saturating_sub(first), per_group.min(end - first));
            Group { number, first, outputs }
        })
    }
}
