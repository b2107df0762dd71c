//! A batch, a few samples at a time.

use rten_simd::{Isa, SimdOp};

use crate::{
    After, across, by_two,
    depthwise::Depthwise,
    direct,
    filter::{Filter, Method},
    finish::Finish,
    strips::Channel,
    vectors,
    work::{self, Work},
};

/// The longest vector, in numbers.
pub(crate) const LANES: usize = 16;
/// The length of vectors that most processors have.
pub(crate) const LENGTH: usize = 8;
/// Copies of samples that are worked on together, in numbers: 128 KiB, half of a small second cache. More samples at a time read
/// the weights less often; fewer keep their copies in the cache until the last output was summed.
const IMAGES: usize = 32768;

/// A batch and what is done with it.
pub(crate) struct Whole<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) method: Method,
    /// Rows and columns that go in, and that come out.
    pub(crate) inner: [usize; 2],
    pub(crate) size: [usize; 2],
    /// Entries of a channel that go in.
    pub(crate) cells: usize,
    /// Entries of a channel that come out.
    pub(crate) area: usize,
    pub(crate) input: &'a [f32],
    pub(crate) after: &'a [After<'a>],
}

impl Whole<'_> {
    /// Some channels of the samples from `first` on that `output` has room for.
    pub(crate) fn part(&self, first: usize, channels: (usize, usize), output: &mut [f32]) {
        let all = self.filter.channels();
        let (inputs, taken) = (all.inputs_of_group(), all.inputs * self.cells);
        let per_sample = (channels.1 - channels.0) * self.area;
        let least = if self.method == Method::Across { LANES } else { 1 };
        let together = (IMAGES / (inputs * self.cells).max(1)).max(least);
        let together = together.min(output.len() / per_sample);
        // Strips end with the row.
        let half_empty = match self.method {
            Method::Winograd => self.size[1] <= LENGTH,
            Method::Depthwise => self.filter.depthwise().is_short(self.size),
            _ => false,
        };
        work::with(|work| {
            for (i, output) in output.chunks_mut(together * per_sample).enumerate() {
                let first = first + i * together;
                let samples = output.len() / per_sample;
                let offset = (first * all.outputs + channels.0) * self.area;
                let part = Part {
                    input: &self.input[first * taken..][..samples * taken],
                    inner: self.inner,
                    inputs,
                    size: self.size,
                    samples,
                    channels,
                    finish: Finish { after: self.after, output, offset },
                };
                if self.method == Method::Depthwise {
                    let depthwise = self.filter.depthwise();
                    vectors::dispatch(half_empty, Apart { depthwise, part, work });
                } else {
                    let run = Run { filter: self.filter, method: self.method, part, work };
                    vectors::dispatch(half_empty, run);
                }
            }
        });
    }
}

/// Some channels of some samples.
pub(crate) struct Part<'a> {
    input: &'a [f32],
    /// Channels that go into a group.
    pub(crate) inputs: usize,
    /// Rows and columns that go in, and that come out.
    pub(crate) inner: [usize; 2],
    pub(crate) size: [usize; 2],
    pub(crate) samples: usize,
    /// The first channel and the one behind the last; they are the bounds of blocks.
    pub(crate) channels: (usize, usize),
    pub(crate) finish: Finish<'a>,
}

impl<'a> Part<'a> {
    /// For every sample, the inputs of a group.
    pub(crate) fn inputs(&self, group: usize) -> impl Iterator<Item = &'a [f32]> {
        let number = self.inputs * self.inner[0] * self.inner[1];
        let samples = self.input.chunks_exact((self.input.len() / self.samples).max(1));
        samples.map(move |sample| &sample[group * number..][..number])
    }

    /// The inputs of a sample from a channel on, and those of samples behind it.
    pub(crate) fn from(&self, sample: usize, channel: usize) -> &'a [f32] {
        let of_sample = self.input.len() / self.samples;
        &self.input[sample * of_sample + channel * self.inner[0] * self.inner[1]..]
    }

    /// All inputs, if there is but one group.
    pub(crate) fn all_inputs(&self) -> Option<&'a [f32]> {
        let number = self.samples * self.inputs * self.inner[0] * self.inner[1];
        (self.input.len() == number).then_some(self.input)
    }

    /// A channel of the output, by its place among those of the part.
    pub(crate) fn channel(&mut self, place: usize) -> Channel<'_, 'a> {
        let [height, width] = self.size;
        let (number, start) = (self.channels.0 + place, place * height * width);
        Channel { finish: &mut self.finish, number, start, width }
    }
}

struct Run<'a> {
    filter: &'a Filter,
    method: Method,
    part: Part<'a>,
    work: &'a mut Work,
}

impl SimdOp for Run<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let Self { filter, method, mut part, work } = self;
        let part = &mut part;
        match method {
            Method::Direct => direct::run(filter.passes(), isa, part, work),
            Method::ByTwo => by_two::run(filter.passes(), isa, part, work),
            Method::Across => across::run(filter.passes(), isa, part, work),
            Method::Depthwise => unreachable!("it is compiled by itself"),
            Method::Winograd => filter.winograd().run(isa, part, work),
        }
    }
}

/// Depthwise convolutions. Compiled together with the others, these became slower.
struct Apart<'a> {
    depthwise: &'a Depthwise,
    part: Part<'a>,
    work: &'a mut Work,
}

impl SimdOp for Apart<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let Self { depthwise, mut part, work } = self;
        depthwise.run(isa, &mut part, work);
    }
}
