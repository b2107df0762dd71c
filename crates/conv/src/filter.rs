//! Weights that are ready to be applied.

use std::sync::OnceLock;

use rayon::prelude::*;
use rten_simd::{Isa, SimdOp};

use crate::{
    After, Numbers,
    axis::{Direction, Sweep, Window},
    direct::Direct,
    finish::Finish,
    image::Layout,
    product::{OUTPUTS, blocks},
    tiles::Tiles,
    winograd::Winograd,
    work::{self, Work},
};

/// The longest vector, in numbers.
pub(crate) const LANES: usize = 16;
/// Copies of samples that are worked on together, in numbers: a part of a small second cache.
const IMAGES: usize = 32768;
/// Fewer outputs in a channel would leave most of a vector unused.
const LEAST: usize = 4;

/// The weights of a convolution.
#[derive(Clone, Debug)]
pub struct Filter {
    direction: Direction,
    windows: [Window; 2],
    inputs: usize,
    outputs: usize,
    weights: Vec<f32>,
    direct: OnceLock<Direct>,
    winograd: OnceLock<Winograd>,
}

/// The weights in the order of a method.
#[derive(Clone, Copy)]
enum Method<'a> {
    Direct(&'a Direct),
    Winograd(&'a Winograd),
}

impl Method<'_> {
    fn sweeps(&self) -> [&[Sweep]; 2] {
        match self {
            Self::Direct(direct) => direct.sweeps(),
            Self::Winograd(winograd) => winograd.sweeps(),
        }
    }
}

impl Filter {
    /// Weights as in ONNX: outputs × inputs × rows × columns, or inputs × outputs × … if transposed. Nothing if sizes don't fit
    /// together or are zero.
    pub fn new(
        direction: Direction,
        windows: [Window; 2],
        [inputs, outputs]: [usize; 2],
        weights: &[f32],
    ) -> Option<Self> {
        let [rows, columns] = windows.map(|w| w.size);
        let number = [outputs, rows, columns].into_iter().try_fold(inputs, usize::checked_mul)?;
        let whole = windows.iter().all(|w| w.stride > 0 && w.dilation > 0);
        if number == 0 || !whole || weights.len() != number {
            return None;
        }
        let (direct, winograd) = (OnceLock::new(), OnceLock::new());
        Some(Self {
            direction,
            windows,
            inputs,
            outputs,
            weights: weights.to_vec(),
            direct,
            winograd,
        })
    }

    /// The method that is likely to be fastest for an output of a size.
    fn method(&self, size: [usize; 2]) -> Method<'_> {
        let Self { direction, windows, inputs, outputs, .. } = *self;
        let [rows, columns] = windows.map(|w| w.size);
        let weight = |output: usize, input: usize, row: usize, column: usize| {
            let pair = match direction {
                Direction::Forward => output * inputs + input,
                Direction::Transposed => input * outputs + output,
            };
            self.weights[(pair * rows + row) * columns + column]
        };
        let channels = [inputs, outputs];
        if Winograd::suits(windows, channels, size) {
            let make = || Winograd::new(direction, windows, channels, weight);
            Method::Winograd(self.winograd.get_or_init(make))
        } else {
            let make = || Direct::new(direction, windows, channels, weight);
            Method::Direct(self.direct.get_or_init(make))
        }
    }

    /// The number of channels that go in.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of channels that come out.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The rows and columns that come out for those that go in; nothing if the window does not fit.
    pub fn output_size(&self, size: [usize; 2]) -> Option<[usize; 2]> {
        let along = |i: usize| self.direction.outputs(self.windows[i], size[i]);
        Some([along(0)?, along(1)?])
    }

    /// Whether most entries of the vectors are kept: not for an output of a few entries.
    pub fn suits(&self, size: [usize; 2]) -> bool {
        self.output_size(size).is_some_and(|[rows, columns]| rows * columns >= LEAST)
    }

    /// Applies the filter to samples × inputs × rows × columns, with a number of threads of the current pool.
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
        let result = self.output_size(size).expect("a window that fits");
        let (area, cells) = (result.iter().product::<usize>(), size.iter().product::<usize>());
        assert_eq!(input.len(), samples * self.inputs * cells, "entries of the input");
        assert_eq!(output.len(), samples * self.outputs * area, "entries of the output");
        for step in after {
            match step {
                After::Add(Numbers::Entries(n)) | After::Mul(Numbers::Entries(n)) => {
                    assert_eq!(n.len(), output.len(), "a number for every entry of the output");
                }
                After::Add(Numbers::Channels(n)) | After::Mul(Numbers::Channels(n)) => {
                    assert_eq!(n.len(), self.outputs, "a number for every channel of the output");
                }
                After::Relu => {}
            }
        }
        if output.is_empty() {
            return;
        }
        let method = self.method(result);
        let layout = Layout::new(size, result, method.sweeps());
        let whole = Whole { filter: self, method, layout, size: result, cells, area, input, after };
        if threads <= 1 {
            whole.part(0, (0, self.outputs), output);
        } else if samples >= threads {
            let each = samples.div_ceil(threads);
            let parts = output.par_chunks_mut(each * self.outputs * area).enumerate();
            parts.for_each(|(i, output)| whole.part(i * each, (0, self.outputs), output));
        } else {
            let mut parts = Vec::new();
            let mut rest = output;
            for sample in 0..samples {
                for (first, end) in self.shares(threads) {
                    let (part, others) = rest.split_at_mut((end - first) * area);
                    parts.push((sample, (first, end), part));
                    rest = others;
                }
            }
            parts
                .into_par_iter()
                .for_each(|(sample, channels, out)| whole.part(sample, channels, out));
        }
    }

    /// Channels for every thread, in whole blocks.
    fn shares(&self, threads: usize) -> Vec<(usize, usize)> {
        let sizes: Vec<usize> = blocks(self.outputs, OUTPUTS).collect();
        let mut first = 0;
        let share = |blocks: &[usize]| {
            let start = first;
            first += blocks.iter().sum::<usize>();
            (start, first)
        };
        sizes.chunks(sizes.len().div_ceil(threads)).map(share).collect()
    }
}

/// A batch and what is done with it.
struct Whole<'a> {
    filter: &'a Filter,
    method: Method<'a>,
    layout: Layout,
    size: [usize; 2],
    /// Entries of a channel that go in.
    cells: usize,
    /// Entries of a channel that come out.
    area: usize,
    input: &'a [f32],
    after: &'a [After<'a>],
}

impl Whole<'_> {
    /// Some channels of the samples from `first` on that `output` has room for.
    fn part(&self, first: usize, channels: (usize, usize), output: &mut [f32]) {
        let Self { filter, layout, cells, .. } = self;
        let inputs = filter.inputs;
        let per_sample = (channels.1 - channels.0) * self.area;
        let image = inputs * layout.plane;
        let together = (IMAGES / image.max(1)).clamp(1, output.len() / per_sample);
        work::with(|work| {
            // Vectors at the end of the last channel read a little beyond it.
            let mut images = work.take_images(layout, together * image + 2 * LANES);
            for (i, output) in output.chunks_mut(together * per_sample).enumerate() {
                let first = first + i * together;
                let samples = output.len() / per_sample;
                let taken = &self.input[first * inputs * cells..][..samples * inputs * cells];
                let planes = images.chunks_exact_mut(layout.plane);
                for (channel, plane) in taken.chunks_exact((*cells).max(1)).zip(planes) {
                    layout.copy(channel, plane);
                }
                let offset = (first * filter.outputs + channels.0) * self.area;
                let part = Part {
                    inputs,
                    layout,
                    size: self.size,
                    images: &images,
                    samples,
                    channels,
                    finish: Finish { after: self.after, output, offset },
                    work,
                };
                Run { method: self.method, part }.dispatch();
            }
            work.images = images;
        });
    }
}

/// Some channels of some samples.
pub(crate) struct Part<'a> {
    pub(crate) inputs: usize,
    pub(crate) layout: &'a Layout,
    /// Rows and columns that come out.
    pub(crate) size: [usize; 2],
    pub(crate) images: &'a [f32],
    pub(crate) samples: usize,
    /// The first channel and the one behind the last; they are the bounds of blocks.
    pub(crate) channels: (usize, usize),
    pub(crate) finish: Finish<'a>,
    pub(crate) work: &'a mut Work,
}

impl Part<'_> {
    /// Where tiles begin in the images: all of the first sample, then of the next.
    pub(crate) fn places(&self, tiles: &Tiles) -> impl Iterator<Item = usize> {
        let image = self.inputs * self.layout.plane;
        (0..self.samples).flat_map(move |s| tiles.sources().map(move |t| s * image + t))
    }
}

struct Run<'a> {
    method: Method<'a>,
    part: Part<'a>,
}

impl SimdOp for Run<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn eval<I: Isa>(mut self, isa: I) {
        match self.method {
            Method::Direct(direct) => direct.run(isa, &mut self.part),
            Method::Winograd(winograd) => winograd.run(isa, &mut self.part),
        }
    }
}
