//! Weights that are ready to be applied.

use std::{ops::Range, sync::OnceLock};

use rayon::prelude::*;

use crate::{
    After, Channels, Numbers, across,
    axis::{Direction, Window},
    batch::{LENGTH, Whole},
    by_two,
    depthwise::{self, Depthwise},
    direct,
    passes::Passes,
    tiles::Tiles,
    winograd::Winograd,
};

/// How many times larger than input and output its copy may be.
const MOST_BORDER: usize = 16;

/// The most entries of a channel, so that costs can be counted.
const MOST_ENTRIES: usize = 1 << 31;

/// The largest stride of an adjoint, which takes a pass for every remainder by it along each axis.
const MOST_STRIDE: usize = 64;

/// The weights of a convolution.
#[derive(Clone, Debug)]
pub struct Filter {
    direction: Direction,
    windows: [Window; 2],
    channels: Channels,
    weights: Vec<f32>,
    passes: OnceLock<Passes>,
    winograd: OnceLock<Winograd>,
    depthwise: OnceLock<Depthwise>,
}

/// A way to convolve.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Direct,
    ByTwo,
    Across,
    Winograd,
    Depthwise,
}

impl Filter {
    /// Weights as in ONNX: outputs × inputs of a group × rows × columns, or inputs × outputs of a group × … if transposed. Nothing if
    /// sizes don't fit together, are zero, or are too large to count with.
    pub fn new(
        direction: Direction,
        windows: [Window; 2],
        channels: impl Into<Channels>,
        weights: &[f32],
    ) -> Option<Self> {
        let channels = channels.into();
        let Channels { inputs, outputs, groups } = channels;
        let [rows, columns] = windows.map(|w| w.size);
        let even = groups > 0 && inputs % groups == 0 && outputs % groups == 0;
        let number = [outputs, rows, columns].into_iter().try_fold(inputs, usize::checked_mul)?;
        let sound = windows.iter().all(|w| w.is_sound());
        if !even || number == 0 || !sound || weights.len() != number / groups {
            return None;
        }
        Some(Self {
            direction,
            windows,
            channels,
            weights: weights.to_vec(),
            passes: OnceLock::new(),
            winograd: OnceLock::new(),
            depthwise: OnceLock::new(),
        })
    }

    /// The method that is likely to be fastest for a number of samples of a size.
    fn fastest(&self, samples: usize, inner: [usize; 2], size: [usize; 2]) -> Method {
        let Self { direction, windows, channels, .. } = *self;
        if depthwise::suits(direction, windows, channels, inner, size) {
            return Method::Depthwise;
        }
        let plain = if by_two::suits(direction, windows) { Method::ByTwo } else { Method::Direct };
        let cost = direct::cost(direction, windows, channels, size);
        let mut methods = vec![(samples.saturating_mul(cost), plain)];
        if channels.groups == 1 && Winograd::suits(windows) {
            let cost = Winograd::cost([channels.inputs, channels.outputs], size);
            methods.push((samples.saturating_mul(cost), Method::Winograd));
        }
        if across::suits(windows, samples, inner, size) {
            let cost = across::cost(direction, windows, channels, samples, inner, size);
            methods.push((cost, Method::Across));
        }
        methods.into_iter().min_by_key(|m| m.0).map_or(plain, |m| m.1)
    }

    /// The weight of a group, an output and an input of it, a row and a column of the window.
    fn weight(&self, group: usize, [output, input]: [usize; 2], [row, column]: [usize; 2]) -> f32 {
        let [rows, columns] = self.windows.map(|w| w.size);
        let (inputs, outputs) = (self.channels.inputs_of_group(), self.channels.outputs_of_group());
        let pair = match self.direction {
            Direction::Forward => (group * outputs + output) * inputs + input,
            Direction::Transposed => (group * inputs + input) * outputs + output,
        };
        self.weights[(pair * rows + row) * columns + column]
    }

    /// The weights in the order of all methods but two.
    pub(crate) fn passes(&self) -> &Passes {
        self.passes.get_or_init(|| {
            let weight = |group, pair, place| self.weight(group, pair, place);
            Passes::new(self.direction, self.windows, self.channels, weight)
        })
    }

    /// The weights in the order of one of them.
    pub(crate) fn winograd(&self) -> &Winograd {
        self.winograd.get_or_init(|| {
            let Channels { inputs, outputs, .. } = self.channels;
            let weight = |pair, place| self.weight(0, pair, place);
            Winograd::new(self.direction, self.windows, [inputs, outputs], weight)
        })
    }

    /// The weights in the order of the other.
    pub(crate) fn depthwise(&self) -> &Depthwise {
        self.depthwise.get_or_init(|| {
            let weight = |channel, place| self.weight(channel, [0, 0], place);
            Depthwise::new(self.direction, self.windows, self.channels.groups, weight)
        })
    }

    /// The channels that go in and come out.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// The rows and columns that come out for those that go in; nothing if the window does not fit.
    pub fn output_size(&self, size: [usize; 2]) -> Option<[usize; 2]> {
        let along = |i: usize| self.direction.outputs(self.windows[i], size[i]);
        Some([along(0)?, along(1)?])
    }

    /// Whether this is a good way to compute outputs for a number of samples of a size: not if most of a vector would be left
    /// unused, and not if windows reach so far beyond the input that its copy would be mostly border.
    pub fn suits(&self, samples: usize, size: [usize; 2]) -> bool {
        let Some(result) = self.output_size(size) else { return false };
        let [cells, area] = [size, result].map(|s| s[0].saturating_mul(s[1]));
        let spread = |w: &Window| self.direction == Direction::Transposed && w.stride > MOST_STRIDE;
        if cells.max(area) > MOST_ENTRIES || self.windows.iter().any(spread) {
            return false;
        }
        if across::suits(self.windows, samples, size, result)
            && self.fastest(samples, size, result) == Method::Across
        {
            return true;
        }
        let span =
            |axis: usize| self.windows[axis].size.saturating_mul(self.windows[axis].dilation);
        let border = |axis: usize| result[axis].max(size[axis]).saturating_add(span(axis));
        let copy = border(0).saturating_mul(border(1));
        if copy > MOST_BORDER.saturating_mul(cells.saturating_add(area)) {
            return false;
        }
        let vectors = Tiles::count(result, result[1] + span(1) - 1, LENGTH);
        2 * area >= vectors.saturating_mul(LENGTH)
    }

    /// Applies the filter to samples × inputs × rows × columns, with a number of threads of the current pool, or of
    /// the one of this process.
    ///
    /// # Panics
    /// If `input`, `output` or numbers of `after` are not as many as the samples and `size` imply.
    pub fn run(
        &self,
        samples: usize,
        size: [usize; 2],
        input: &[f32],
        after: &[After<'_>],
        output: &mut [f32],
        threads: usize,
    ) {
        let Channels { inputs, outputs, .. } = self.channels;
        let result = self.output_size(size).expect("a window that fits");
        // Products that wrap would make short arrays look as if they had all entries.
        let entries = |channels: usize, [rows, columns]: [usize; 2]| {
            [channels, rows, columns].into_iter().try_fold(samples, usize::checked_mul)
        };
        assert_eq!(Some(input.len()), entries(inputs, size), "entries of the input");
        assert_eq!(Some(output.len()), entries(outputs, result), "entries of the output");
        for step in after {
            match step {
                After::Add(Numbers::Entries(n)) | After::Mul(Numbers::Entries(n)) => {
                    assert_eq!(n.len(), output.len(), "a number for every entry of the output");
                }
                After::Add(Numbers::Channels(n)) | After::Mul(Numbers::Channels(n)) => {
                    assert_eq!(n.len(), outputs, "a number for every channel of the output");
                }
                After::Relu | After::Clip(..) => {}
            }
        }
        if output.is_empty() {
            return;
        }
        let (area, cells) = (result.iter().product::<usize>(), size.iter().product::<usize>());
        let method = self.fastest(samples, size, result);
        let whole =
            Whole { filter: self, method, inner: size, size: result, cells, area, input, after };
        if threads <= 1 {
            whole.part(0, (0, outputs), output);
        } else if samples >= threads {
            let each = samples.div_ceil(threads);
            let parts = output.par_chunks_mut(each * outputs * area).enumerate();
            taste_threads::within(|| {
                parts.for_each(|(i, output)| whole.part(i * each, (0, outputs), output));
            });
        } else {
            let blocks = match method {
                Method::Winograd => self.winograd().blocks().to_vec(),
                Method::Depthwise => (0..outputs).map(|channel| channel..channel + 1).collect(),
                _ => self.passes().blocks(),
            };
            let mut parts = Vec::new();
            let mut rest = output;
            for sample in 0..samples {
                for (first, end) in shares(&blocks, threads) {
                    let (part, others) = rest.split_at_mut((end - first) * area);
                    parts.push((sample, (first, end), part));
                    rest = others;
                }
            }
            taste_threads::within(|| {
                parts
                    .into_par_iter()
                    .for_each(|(sample, channels, out)| whole.part(sample, channels, out));
            });
        }
    }
}

/// Channels for every thread, in whole blocks: the first, and the one behind the last.
fn shares(blocks: &[Range<usize>], threads: usize) -> Vec<(usize, usize)> {
    let each = blocks.len().div_ceil(threads);
    blocks.chunks(each).map(|share| (share[0].start, share[share.len() - 1].end)).collect()
}
