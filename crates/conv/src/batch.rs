//! A batch, a few samples at a time.

use rten_simd::{Isa, SimdOp};

use crate::{
    After, Channels,
    filter::Method,
    finish::Finish,
    image::Layout,
    strips::Channel,
    tiles::Tiles,
    work::{self, Work},
};

/// The longest vector, in numbers.
pub(crate) const LANES: usize = 16;
/// The length of vectors that most processors have.
pub(crate) const LENGTH: usize = 8;
/// Copies of samples that are worked on together, in numbers: a part of a small second cache.
const IMAGES: usize = 32768;

/// A batch and what is done with it.
pub(crate) struct Whole<'a> {
    pub(crate) channels: Channels,
    pub(crate) method: Method<'a>,
    pub(crate) layout: Layout,
    /// Rows and columns that come out.
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
        let Self { ref layout, cells, .. } = *self;
        let inputs = self.channels.inputs_of_group();
        let (taken, per_sample) =
            (self.channels.inputs * cells, (channels.1 - channels.0) * self.area);
        let image = inputs * layout.plane;
        let together = (IMAGES / image.max(1)).clamp(1, output.len() / per_sample);
        work::with(|work| {
            // Vectors at the end of the last channel read a little beyond it.
            let mut images = work.take_images(layout, together * image + 2 * LANES);
            for (i, output) in output.chunks_mut(together * per_sample).enumerate() {
                let first = first + i * together;
                let samples = output.len() / per_sample;
                let offset = (first * self.channels.outputs + channels.0) * self.area;
                let part = Part {
                    input: &self.input[first * taken..][..samples * taken],
                    cells,
                    inputs,
                    layout,
                    size: self.size,
                    images: &mut images,
                    samples,
                    channels,
                    finish: Finish { after: self.after, output, offset },
                };
                Run { method: self.method, part, work }.dispatch();
            }
            work.images = images;
        });
    }
}

/// Some channels of some samples.
pub(crate) struct Part<'a> {
    input: &'a [f32],
    cells: usize,
    /// Channels that go into a group.
    pub(crate) inputs: usize,
    pub(crate) layout: &'a Layout,
    /// Rows and columns that come out.
    pub(crate) size: [usize; 2],
    /// Copies of the inputs of a group, once it was entered.
    pub(crate) images: &'a mut [f32],
    pub(crate) samples: usize,
    /// The first channel and the one behind the last; they are the bounds of blocks.
    pub(crate) channels: (usize, usize),
    pub(crate) finish: Finish<'a>,
}

impl<'a> Part<'a> {
    /// Copies the inputs of a group.
    pub(crate) fn enter(&mut self, group: usize) {
        let (plane, cells) = (self.layout.plane, self.cells.max(1));
        let samples = self.input.chunks_exact((self.input.len() / self.samples).max(1));
        for (sample, images) in samples.zip(self.images.chunks_exact_mut(self.inputs * plane)) {
            let inputs = sample.chunks_exact(cells).skip(group * self.inputs);
            for (channel, plane) in inputs.zip(images.chunks_exact_mut(plane)) {
                self.layout.copy(channel, plane);
            }
        }
    }

    /// A channel of the output, by its place among those of the part.
    pub(crate) fn channel(&mut self, place: usize) -> Channel<'_, 'a> {
        let [height, width] = self.size;
        let (number, start) = (self.channels.0 + place, place * height * width);
        Channel { finish: &mut self.finish, number, start, width }
    }

    /// Where tiles begin in the images: all of the first sample, then of the next.
    pub(crate) fn places(&self, tiles: &Tiles) -> impl Iterator<Item = usize> {
        let image = self.inputs * self.layout.plane;
        (0..self.samples).flat_map(move |s| tiles.sources().map(move |t| s * image + t))
    }
}

struct Run<'a> {
    method: Method<'a>,
    part: Part<'a>,
    work: &'a mut Work,
}

impl SimdOp for Run<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn eval<I: Isa>(mut self, isa: I) {
        match self.method {
            Method::Direct(direct) => direct.run(isa, &mut self.part, self.work),
            Method::Winograd(winograd) => winograd.run(isa, &mut self.part, self.work),
        }
    }
}
