//! Weights that are ready to be applied.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::{
    After, Channels, Numbers, across,
    axis::{Direction, Window},
    batch::{LANES, LENGTH, Whole},
    direct::Direct,
    tiles::Tiles,
    winograd::Winograd,
};

/// How many times larger than input and output its copy may be.
const MOST_BORDER: usize = 16;

/// The weights of a convolution.
#[derive(Clone, Debug)]
pub struct Filter {
    direction: Direction,
    windows: [Window; 2],
    channels: Channels,
    weights: Vec<f32>,
    direct: OnceLock<Direct>,
    winograd: OnceLock<Winograd>,
}

/// The weights in the order of a method.
#[derive(Clone, Copy)]
pub(crate) enum Method<'a> {
    Direct(&'a Direct),
    Winograd(&'a Winograd),
    /// With the order of [`Self::Direct`].
    Across(&'a Direct),
}

/// A method, without its weights.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    Winograd,
    Across,
}

impl Method<'_> {
    /// The sizes of blocks of channels that are summed together.
    fn blocks(&self) -> Vec<usize> {
        match self {
            Self::Direct(direct) | Self::Across(direct) => direct.blocks(),
            Self::Winograd(winograd) => winograd.blocks().to_vec(),
        }
    }

    /// How many samples should be worked on together at least.
    pub(crate) fn together(&self) -> usize {
        match self {
            Self::Direct(_) | Self::Winograd(_) => 1,
            Self::Across(_) => LANES,
        }
    }
}

impl Filter {
    /// Weights as in ONNX: outputs × inputs of a group × rows × columns, or inputs × outputs of a group × … if transposed. Nothing if
    /// sizes don't fit together or are zero.
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
        let whole = windows.iter().all(|w| w.stride > 0 && w.dilation > 0);
        if !even || number == 0 || !whole || weights.len() != number / groups {
            return None;
        }
        let (direct, winograd) = (OnceLock::new(), OnceLock::new());
        Some(Self { direction, windows, channels, weights: weights.to_vec(), direct, winograd })
    }

    /// The method that is likely to be fastest for a number of samples of a size.
    fn method(&self, samples: usize, inner: [usize; 2], size: [usize; 2]) -> Method<'_> {
        let Self { direction, windows, channels, .. } = *self;
        let [rows, columns] = windows.map(|w| w.size);
        let (inputs, outputs) = (channels.inputs_of_group(), channels.outputs_of_group());
        let weight = |group: usize, [output, input]: [usize; 2], [row, column]: [usize; 2]| {
            let pair = match direction {
                Direction::Forward => (group * outputs + output) * inputs + input,
                Direction::Transposed => (group * inputs + input) * outputs + output,
            };
            self.weights[(pair * rows + row) * columns + column]
        };
        let direct = || Direct::new(direction, windows, channels, weight);
        match self.fastest(samples, inner, size) {
            Way::Winograd => {
                let weight = |pair, place| weight(0, pair, place);
                let make = || Winograd::new(direction, windows, [inputs, outputs], weight);
                Method::Winograd(self.winograd.get_or_init(make))
            }
            Way::Direct => Method::Direct(self.direct.get_or_init(direct)),
            Way::Across => Method::Across(self.direct.get_or_init(direct)),
        }
    }

    fn fastest(&self, samples: usize, inner: [usize; 2], size: [usize; 2]) -> Way {
        let Self { direction, windows, channels, .. } = *self;
        let direct = samples.saturating_mul(Direct::cost(direction, windows, channels, size));
        let mut ways = vec![(direct, Way::Direct)];
        if channels.groups == 1 && Winograd::suits(windows) {
            let cost = Winograd::cost([channels.inputs, channels.outputs], size);
            ways.push((samples.saturating_mul(cost), Way::Winograd));
        }
        if across::suits(windows, samples, inner, size) {
            let cost = across::cost(direction, windows, channels, samples, inner, size);
            ways.push((cost, Way::Across));
        }
        ways.into_iter().min_by_key(|w| w.0).map_or(Way::Direct, |w| w.1)
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
        if across::suits(self.windows, samples, size, result)
            && self.fastest(samples, size, result) == Way::Across
        {
            return true;
        }
        let [cells, area] = [size, result].map(|s| s[0].saturating_mul(s[1]));
        let span =
            |axis: usize| self.windows[axis].size.saturating_mul(self.windows[axis].dilation);
        let border = |axis: usize| result[axis].max(size[axis]).saturating_add(span(axis));
        let copy = border(0).saturating_mul(border(1));
        if copy > MOST_BORDER.saturating_mul(cells.saturating_add(area)) {
            return false;
        }
        let vectors = Tiles::count(result, result[1] + span(1) - 1, LENGTH);
        2 * area >= vectors * LENGTH
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
        let (area, cells) = (result.iter().product::<usize>(), size.iter().product::<usize>());
        assert_eq!(input.len(), samples * inputs * cells, "entries of the input");
        assert_eq!(output.len(), samples * outputs * area, "entries of the output");
        for step in after {
            match step {
                After::Add(Numbers::Entries(n)) | After::Mul(Numbers::Entries(n)) => {
                    assert_eq!(n.len(), output.len(), "a number for every entry of the output");
                }
                After::Add(Numbers::Channels(n)) | After::Mul(Numbers::Channels(n)) => {
                    assert_eq!(n.len(), outputs, "a number for every channel of the output");
                }
                After::Relu => {}
            }
        }
        if output.is_empty() {
            return;
        }
        let method = self.method(samples, size, result);
        let whole = Whole {
            channels: self.channels,
            method,
            inner: size,
            size: result,
            cells,
            area,
            input,
            after,
        };
        if threads <= 1 {
            whole.part(0, (0, outputs), output);
        } else if samples >= threads {
            let each = samples.div_ceil(threads);
            let parts = output.par_chunks_mut(each * outputs * area).enumerate();
            taste_threads::within(|| {
                parts.for_each(|(i, output)| whole.part(i * each, (0, outputs), output));
            });
        } else {
            let mut parts = Vec::new();
            let mut rest = output;
            for sample in 0..samples {
                for (first, end) in shares(&whole.method.blocks(), threads) {
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

/// Channels for every thread, in whole blocks.
fn shares(sizes: &[usize], threads: usize) -> Vec<(usize, usize)> {
    let mut first = 0;
    let share = |blocks: &[usize]| {
        let start = first;
        first += blocks.iter().sum::<usize>();
        (start, first)
    };
    sizes.chunks(sizes.len().div_ceil(threads)).map(share).collect()
}
