//! Sums straight from the copy of the input.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    axis::{Direction, Sweep, Window},
    filter::{LANES, Part},
    product::{Packed, Product},
    tiles::Tiles,
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
            let place: Vec<(usize, usize)> =
                (0..part.samples).flat_map(|s| (0..tiles.len()).map(move |t| (s, t))).collect();
            let width = part.size[1];
            product.run(
                isa,
                #[inline(always)]
                |channel, vector, sum| {
                    let (sample, tile) = place[vector];
                    let base = part.base(sample, channel);
                    let runs = tiles.runs(tile);
                    if let [run] = runs
                        && run.length == lanes
                        && x.step == 1
                    {
                        let at = (y.first + run.row * y.step) * width + run.column + x.first;
                        part.finish.vector(isa, channel, base + at, sum);
                        return;
                    }
                    let mut values = [0.0; LANES];
                    isa.f32().store(sum, &mut values);
                    for run in runs {
                        let (row, column) =
                            (y.first + run.row * y.step, x.first + run.column * x.step);
                        let values = &values[run.lane..run.lane + run.length];
                        part.finish.scalars(channel, base + row * width + column, x.step, values);
                    }
                },
            );
        }
    }
}
