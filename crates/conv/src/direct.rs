//! Sums straight from the copy of the input.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    axis::{Direction, Sweep, Window},
    filter::{LANES, Part},
    product::{Packed, Product},
    tiles::{Run, Tiles},
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
    pub(crate) fn run<I: Isa>(&self, isa: I, part: &mut Part<'_>) {
        let lanes = isa.f32().len();
        for pass in &self.passes {
            let [y, x] = [0, 1].map(|axis| &self.sweeps[axis][pass.sweeps[axis]]);
            let counts = [y.count(part.size[0]), x.count(part.size[1])];
            if counts.contains(&0) {
                continue;
            }
            let tiles = Tiles::new(counts, part.layout.row(), lanes);
            let sources: Vec<usize> = part.places(&tiles).collect();
            let taps: Vec<usize> = pass.taps.iter().map(|&t| part.layout.tap(t)).collect();
            let product = Product {
                weights: &pass.weights,
                images: part.images,
                plane: part.layout.plane,
                taps: &taps,
                sources: &sources,
                outputs: part.channels,
            };
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
            let (partial, finish) = (&mut part.work.partial, &mut part.finish);
            product.run(
                isa,
                partial,
                #[inline(always)]
                |channel, vector, sum| {
                    let base = (channel - first) * area;
                    match targets[vector] {
                        Target::Whole(place) => finish.vector(isa, channel, base + place, sum),
                        Target::Runs(sample, runs) => {
                            let mut values = [0.0; LANES];
                            isa.f32().store(sum, &mut values);
                            for run in runs {
                                let values = &values[run.lane..run.lane + run.length];
                                finish.scalars(channel, sample + base + at(run), x.step, values);
                            }
                        }
                    }
                },
            );
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
