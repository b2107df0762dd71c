//! Sums straight from the copy of the input.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    axis::{Direction, Sweep, Window},
    batch::{LANES, Part},
    finish::Finish,
    image::Layout,
    pairs::by_turns,
    product::{self, Packed, Product, Taps, VECTORS},
    spaced,
    strips::{Strip, strips},
    tiles::{Run, Tiles},
    work::{Work, room},
};

/// The weights of every pass.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    sweeps: [Vec<Sweep>; 2],
    passes: Vec<Pass>,
}

/// The outputs of one sweep along each axis.
#[derive(Clone, Debug)]
struct Pass {
    sweeps: [usize; 2],
    taps: Vec<[isize; 2]>,
    weights: Packed,
}

/// What all passes read.
#[derive(Clone, Copy)]
struct Source<'a> {
    layout: &'a Layout,
    images: &'a [f32],
    outputs: (usize, usize),
}

impl<'a> Source<'a> {
    fn of(part: &Part<'a>) -> Self {
        Self { layout: part.layout, images: part.images, outputs: part.channels }
    }

    fn taps(self, pass: &Pass) -> Taps {
        Taps::new(pass.taps.iter().map(|&t| self.layout.tap(t)).collect())
    }

    /// Sums of a pass in the vectors that begin at `sources`.
    fn product(self, pass: &'a Pass, taps: &'a Taps, sources: &'a [usize]) -> Product<'a> {
        let Self { layout, images, outputs } = self;
        Product { weights: &pass.weights, images, plane: layout.plane, taps, sources, outputs }
    }
}

impl Direct {
    /// From the weight of an output, an input, a row and a column of the window.
    pub(crate) fn new(
        direction: Direction,
        windows: [Window; 2],
        [inputs, outputs]: [usize; 2],
        weight: impl Fn(usize, usize, usize, usize) -> f32,
    ) -> Self {
        let sweeps = windows.map(|w| direction.sweeps(w));
        let mut passes = Vec::new();
        for (y, rows) in sweeps[0].iter().enumerate() {
            for (x, columns) in sweeps[1].iter().enumerate() {
                let pairs = rows.taps.iter().flat_map(|r| columns.taps.iter().map(move |c| (r, c)));
                let pairs: Vec<_> = pairs.collect();
                let weights = Packed::new([outputs, inputs, pairs.len()], |output, input, tap| {
                    let (row, column) = pairs[tap];
                    weight(output, input, row.weight, column.weight)
                });
                let taps = pairs.iter().map(|(r, c)| [r.offset, c.offset]).collect();
                passes.push(Pass { sweeps: [y, x], taps, weights });
            }
        }
        Self { sweeps, passes }
    }

    pub(crate) fn sweeps(&self) -> [&[Sweep]; 2] {
        [&self.sweeps[0], &self.sweeps[1]]
    }

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn run<I: Isa>(&self, isa: I, part: &mut Part<'_>, work: &mut Work) {
        let lanes = isa.f32().len();
        let by_two = |sweeps: &Vec<Sweep>| sweeps.iter().all(|s| s.step == 2);
        if self.sweeps.iter().all(by_two) {
            return self.run_by_two(isa, part, work);
        }
        let source = Source::of(part);
        for pass in &self.passes {
            let [y, x] = [0, 1].map(|axis| &self.sweeps[axis][pass.sweeps[axis]]);
            let counts = [y.count(part.size[0]), x.count(part.size[1])];
            if counts.contains(&0) {
                continue;
            }
            let tiles = Tiles::new(counts, part.layout.row(), lanes);
            let sources: Vec<usize> = part.places(&tiles).collect();
            let taps = source.taps(pass);
            let product = source.product(pass, &taps, &sources);
            let [height, width] = part.size;
            let (area, (first, end)) = (height * width, part.channels);
            let at =
                |run: &Run| (y.first + run.row * y.step) * width + x.first + run.column * x.step;
            let mut targets = Vec::with_capacity(sources.len());
            for sample in 0..part.samples {
                let base = sample * (end - first) * area;
                targets.extend((0..tiles.len()).map(|tile| match tiles.runs(tile) {
                    [run] if run.length == lanes && x.step == 1 => Target::Whole(base + at(run)),
                    runs => Target::Runs(base, runs),
                }));
            }
            let mut into = Output {
                finish: &mut part.finish,
                targets: &targets,
                at,
                first,
                area,
                step: x.step,
            };
            product.run(isa, &mut work.partial, &mut into);
        }
    }

    /// The four passes of a transposed convolution with a stride of two, written together.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn run_by_two<I: Isa>(&self, isa: I, part: &mut Part<'_>, work: &mut Work) {
        let ops = isa.f32();
        let (first, end) = part.channels;
        // A vector of each pass makes two strips.
        let strips = strips(part, ops.len(), 2);
        let place = |s: &Strip| {
            let image = s.sample * part.inputs * part.layout.plane;
            image + s.row / 2 * part.layout.row() + s.column / 2
        };
        let sources: Vec<usize> = strips.iter().step_by(2).map(place).collect();
        let row = (sources.len() + VECTORS) * ops.len();
        let size = (end - first) * row + LANES;
        let source = Source::of(part);
        let summed = room(&mut work.summed, self.passes.len() * size);
        for (pass, into) in self.passes.iter().zip(summed.chunks_exact_mut(size)) {
            let taps = source.taps(pass);
            let product = source.product(pass, &taps, &sources);
            product.run(isa, &mut work.partial, &mut Sums { into, row, first });
        }
        for place in 0..end - first {
            let mut channel = part.channel(place);
            for (i, pair) in strips.chunks_exact(2).enumerate() {
                let [a, b, c, d] = spaced::load(isa, summed, place * row + i * ops.len(), size);
                channel.write(isa, pair, [by_turns(isa, [a, b]), by_turns(isa, [c, d])]);
            }
        }
    }
}

/// Sums of one pass for every output.
struct Sums<'a> {
    into: &'a mut [f32],
    /// From one output to the next.
    row: usize,
    /// The first output.
    first: usize,
}

impl<I: Isa> product::Sink<I> for Sums<'_> {
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn block<const OC: usize, const V: usize>(
        &mut self,
        isa: I,
        output: usize,
        vector: usize,
        _count: usize,
        sums: &[[I::F32; V]; OC],
    ) {
        let ops = isa.f32();
        let start = (output - self.first) * self.row + vector * ops.len();
        for (o, sums) in sums.iter().enumerate() {
            // Vectors beyond the last one are not read.
            let row = &mut self.into[start + o * self.row..][..V * ops.len()];
            for (&sum, place) in sums.iter().zip(row.chunks_exact_mut(ops.len())) {
                ops.store(sum, place);
            }
        }
    }
}

/// Where a vector goes in a part of the output, for its first channel.
#[derive(Clone, Copy)]
enum Target<'a> {
    /// All of it, one entry after the other.
    Whole(usize),
    /// Parts of it, from where a sample begins.
    Runs(usize, &'a [Run]),
}

/// The output that sums are written to.
struct Output<'a, 'b, P> {
    finish: &'a mut Finish<'b>,
    targets: &'a [Target<'a>],
    /// Where a run begins in a channel.
    at: P,
    /// The first channel.
    first: usize,
    /// Entries of a channel.
    area: usize,
    /// From one output of a run to the next.
    step: usize,
}

impl<I: Isa, P: Fn(&Run) -> usize> product::Sink<I> for Output<'_, '_, P> {
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn block<const OC: usize, const V: usize>(
        &mut self,
        isa: I,
        output: usize,
        vector: usize,
        count: usize,
        sums: &[[I::F32; V]; OC],
    ) {
        for (o, sums) in sums.iter().enumerate() {
            let base = (output + o - self.first) * self.area;
            for (target, &sum) in self.targets[vector..vector + count].iter().zip(sums) {
                match *target {
                    Target::Whole(place) => {
                        self.finish.vectors(isa, output + o, base + place, [sum]);
                    }
                    Target::Runs(sample, runs) => {
                        let mut values = [0.0; LANES];
                        isa.f32().store(sum, &mut values);
                        for run in runs {
                            let values = &values[run.lane..run.lane + run.length];
                            let at = sample + base + (self.at)(run);
                            self.finish.scalars(output + o, at, self.step, values);
                        }
                    }
                }
            }
        }
    }
}
