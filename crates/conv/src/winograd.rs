//! Windows of 3 × 3 entries with fewer multiplications: F(2 × 2, 3 × 3) of Winograd, as in Lavin and Gray, "Fast algorithms for
//! convolutional neural networks", 2016.
//!
//! Four outputs y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A of 4 × 4 inputs d and a window g take 16 products instead of 36, and sums over inputs
//! are taken before Aᵀ(·)A. Here the last rows of Aᵀ and Bᵀ have the opposite sign, so that
//! Bᵀd = (d₀ − d₂, d₁ + d₂, d₂ − d₁, d₃ − d₁) and Aᵀm = (m₀ + m₁ + m₂, m₁ − m₂ + m₃).
//!
//! A few tiles go through all channels at a time, and one row of Bᵀ d B after the other, so that what is read for every output
//! stays in the first cache.

use std::ops::Range;

use rten_simd::{
    Isa,
    ops::{BitOps, NumOps},
};

use crate::{
    axis::{Direction, Sweep, Tap, Window},
    batch::{LENGTH, Part},
    image::Layout,
    pairs::{apart, together},
    product::{Planes, Taps, blocks},
    spaced,
    strips::{Channel, Strip, strips},
    work::{Work, room},
};

/// Entries of d along an axis, and products of a tile along an axis.
const SIDE: usize = 4;
const PRODUCTS: usize = SIDE * SIDE;
/// Columns of products that are summed together. Sums of the first two become Aᵀ(m₁, m₂), to which the others are added.
const PAIRS: [[usize; 2]; 2] = [[1, 2], [0, 3]];
/// Vectors of tiles that are worked on together, each of which has the tiles of two strips.
const VECTORS: usize = 2;
/// Sums of this many channels are kept in registers.
const OUTPUTS: usize = 3;
/// At most this many inputs are summed at a time: a row of their products takes half of a small first cache.
const INPUTS: usize = 64;

/// What is spent on a vector of tiles of an input and of an output beside products, in multiplications of vectors; measured.
const ENTER: usize = 150;
const LEAVE: usize = 95;

/// Transformed weights.
#[derive(Clone, Debug)]
pub(crate) struct Winograd {
    /// Windows of 4 entries.
    sweeps: [Vec<Sweep>; 2],
    /// Blocks of inputs × rows of products × blocks of outputs × pairs of columns × inputs of the block × columns × outputs of
    /// the block.
    weights: Vec<f32>,
    /// Blocks of outputs.
    blocks: Vec<Range<usize>>,
}

impl Winograd {
    /// Whether it applies.
    pub(crate) fn suits(windows: [Window; 2]) -> bool {
        let close = |w: Window| w.size == 3 && w.stride == 1 && w.dilation == 1 && w.extra == 0;
        windows.into_iter().all(close)
    }

    /// What an output of a size costs, in multiplications of vectors.
    pub(crate) fn cost([inputs, outputs]: [usize; 2], size: [usize; 2]) -> usize {
        let vectors = (size[0].div_ceil(2) * size[1].div_ceil(LENGTH)).div_ceil(2);
        vectors * (PRODUCTS * inputs * outputs + ENTER * inputs + LEAVE * outputs)
    }

    /// From the weight of an output and an input, a row and a column of the window.
    pub(crate) fn new(
        direction: Direction,
        windows: [Window; 2],
        [inputs, outputs]: [usize; 2],
        weight: impl Fn([usize; 2], [usize; 2]) -> f32,
    ) -> Self {
        // A transposed window is the same window turned round.
        let turn = |k: usize| if direction == Direction::Forward { k } else { 2 - k };
        let transformed: Vec<[f32; PRODUCTS]> = (0..outputs * inputs)
            .map(|pair| {
                let channels = [pair / inputs, pair % inputs];
                let g = |r, c| f64::from(weight(channels, [turn(r), turn(c)]));
                transformed_weights(g)
            })
            .collect();
        let mut weights = Vec::with_capacity(transformed.len() * PRODUCTS);
        for inputs_now in blocks(inputs, INPUTS) {
            for row in 0..SIDE {
                for outputs_now in blocks(outputs, OUTPUTS) {
                    for pair in PAIRS {
                        for input in inputs_now.clone() {
                            for column in pair {
                                let of = |o: usize| transformed[o * inputs + input];
                                let product = row * SIDE + column;
                                weights.extend(outputs_now.clone().map(|o| of(o)[product]));
                            }
                        }
                    }
                }
            }
        }
        let sweeps = windows.map(|w| {
            let before = match direction {
                Direction::Forward => w.before as isize,
                Direction::Transposed => 2 - w.before as isize,
            };
            let taps = (0..SIDE).map(|k| Tap { weight: k, offset: k as isize - before });
            vec![Sweep { first: 0, step: 1, stride: 1, taps: taps.collect() }]
        });
        Self { sweeps, weights, blocks: blocks(outputs, OUTPUTS).collect() }
    }

    /// Blocks of channels that are summed together.
    pub(crate) fn blocks(&self) -> &[Range<usize>] {
        &self.blocks
    }

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn run<I: Isa>(&self, isa: I, part: &mut Part<'_>, work: &mut Work) {
        let layout = Layout::new(part.inner, part.size, &self.sweeps);
        let images = work.images.copy(&layout, part, 0);
        let (lanes, plane) = (isa.f32().len(), layout.plane);
        let [y, x] = [0, 1].map(|axis| &self.sweeps[axis][0].taps);
        let rows = std::array::from_fn(|r| layout.tap([y[r].offset, x[0].offset]));
        let (image, width) = (part.inputs * plane, layout.row());
        let place = |s: Strip| s.sample * image + s.row * width + s.column;
        let (first, end) = part.channels;
        let per_input = SIDE * VECTORS * lanes;
        let per_output = SIDE * 2 * VECTORS * lanes;
        let entered = room(&mut work.entered, part.inputs.min(INPUTS) * per_input);
        let summed = room(&mut work.summed, (end - first) * per_output);
        let one = Taps::new(vec![0]);
        for strips in strips(part, lanes, 1).chunks(2 * VECTORS) {
            let sources = std::array::from_fn(|i| place(strips[i.min(strips.len() - 1)]));
            let mut weights = &self.weights[..];
            for inputs in blocks(part.inputs, INPUTS) {
                let count = inputs.len();
                let source = Source {
                    images: &images[inputs.start * plane..],
                    plane,
                    strips: sources,
                    rows,
                };
                for row in 0..SIDE {
                    source.enter(isa, row, &mut entered[..count * per_input]);
                    let planes =
                        Planes { numbers: entered, count, distance: per_input, taps: &one };
                    for outputs in &self.blocks {
                        let (now, later) = weights.split_at(outputs.len() * count * SIDE);
                        weights = later;
                        if outputs.start < first || outputs.end > end {
                            continue;
                        }
                        let at = (outputs.start - first) * per_output + row * 2 * VECTORS * lanes;
                        let mut sums = Sums {
                            numbers: &mut summed[at..],
                            distance: per_output,
                            is_new: inputs.start == 0,
                        };
                        match outputs.len() {
                            3 => sums.add::<I, 3>(isa, planes, now),
                            2 => sums.add::<I, 2>(isa, planes, now),
                            _ => sums.add::<I, 1>(isa, planes, now),
                        }
                    }
                }
            }
            for (place, sums) in summed.chunks_exact(per_output).enumerate() {
                write(isa, sums, strips, &mut part.channel(place));
            }
        }
    }
}

/// Where tiles are read.
#[derive(Clone, Copy)]
struct Source<'a> {
    images: &'a [f32],
    /// From one input to the next.
    plane: usize,
    /// Where strips begin in the first input, and the rows of a tile relative to it.
    strips: [usize; 2 * VECTORS],
    rows: [usize; SIDE],
}

impl Source<'_> {
    /// Writes a row of Bᵀ d B for every input: its columns in the order of [`PAIRS`], each of all vectors.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn enter<I: Isa>(self, isa: I, row: usize, entered: &mut [f32]) {
        let ops = isa.f32();
        let lanes = ops.len();
        let (add, sub) = (|x, y| ops.add(x, y), |x, y| ops.sub(x, y));
        let [a, b] = [[0, 2], [1, 2], [2, 1], [3, 1]][row].map(|r| self.rows[r]);
        for (input, entered) in entered.chunks_exact_mut(SIDE * VECTORS * lanes).enumerate() {
            let images = &self.images[input * self.plane..];
            for (v, strips) in self.strips.chunks_exact(2).enumerate() {
                // Columns from the first on, and from the third.
                let [a0, a2] = spaced::load(isa, images, strips[0] + a, 2);
                let [b0, b2] = spaced::load(isa, images, strips[0] + b, 2);
                let [c0, c2] = spaced::load(isa, images, strips[1] + a, 2);
                let [d0, d2] = spaced::load(isa, images, strips[1] + b, 2);
                let (near, far) = if row == 1 {
                    ([add(a0, b0), add(c0, d0)], [add(a2, b2), add(c2, d2)])
                } else {
                    ([sub(a0, b0), sub(c0, d0)], [sub(a2, b2), sub(c2, d2)])
                };
                let ([e0, e1], [e2, e3]) = (apart(isa, near), apart(isa, far));
                let columns = [add(e1, e2), sub(e2, e1), sub(e0, e2), sub(e3, e1)];
                spaced::store(isa, entered, v * lanes, VECTORS * lanes, &columns);
            }
        }
    }
}

/// Sums m of a row of products times A: for every output and vector, two columns.
struct Sums<'a> {
    numbers: &'a mut [f32],
    /// From one output to the next.
    distance: usize,
    /// Whether there is nothing in them yet.
    is_new: bool,
}

impl Sums<'_> {
    /// Adds those over the inputs in `planes`, for `OC` outputs.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn add<I: Isa, const OC: usize>(&mut self, isa: I, planes: Planes<'_>, weights: &[f32]) {
        let ops = isa.f32();
        let lanes = ops.len();
        let (inner, outer) = weights.split_at(planes.count * 2 * OC);
        let vectors = |column: usize| [2 * column * lanes, (2 * column + 1) * lanes];
        let mut sums = [[[ops.zero(); VECTORS]; OC]; 2];
        planes.add(isa, [vectors(0), vectors(1)], inner, &mut sums);
        let [left, right] = &mut sums;
        for (a, b) in left.as_flattened_mut().iter_mut().zip(right.as_flattened_mut()) {
            (*a, *b) = (ops.add(*a, *b), ops.sub(*a, *b));
        }
        planes.add(isa, [vectors(2), vectors(3)], outer, &mut sums);
        let [left, right] = &sums;
        for (o, (left, right)) in left.iter().zip(right).enumerate() {
            let mut row = [left[0], right[0], left[1], right[1]];
            if !self.is_new {
                let before = spaced::load::<I, 4>(isa, self.numbers, o * self.distance, lanes);
                for (sum, &before) in row.iter_mut().zip(&before) {
                    *sum = ops.add(*sum, before);
                }
            }
            spaced::store(isa, self.numbers, o * self.distance, lanes, &row);
        }
    }
}

/// Writes strips of a channel: Aᵀ m, of which the two columns of a vector are brought together.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn write<I: Isa>(isa: I, sums: &[f32], strips: &[Strip], channel: &mut Channel<'_, '_>) {
    let ops = isa.f32();
    let lanes = ops.len();
    let [mut top, mut bottom] = [[ops.zero(); 2 * VECTORS]; 2];
    for v in 0..VECTORS {
        let [mut above, mut below] = [[ops.zero(); 2]; 2];
        for (column, (above, below)) in above.iter_mut().zip(&mut below).enumerate() {
            let at = (2 * v + column) * lanes;
            let [m0, m1, m2, m3] = spaced::load(isa, sums, at, 2 * VECTORS * lanes);
            *above = ops.add(ops.add(m0, m1), m2);
            *below = ops.add(ops.sub(m1, m2), m3);
        }
        [top[2 * v], top[2 * v + 1]] = together(isa, above);
        [bottom[2 * v], bottom[2 * v + 1]] = together(isa, below);
    }
    if !channel.write_row(isa, strips, [top, bottom]) {
        for (v, pair) in strips.chunks(2).enumerate() {
            let (a, b) = (2 * v, 2 * v + 1);
            channel.write(isa, pair, [[top[a], top[b]], [bottom[a], bottom[b]]]);
        }
    }
}

/// G g Gᵀ.
fn transformed_weights(g: impl Fn(usize, usize) -> f64) -> [f32; PRODUCTS] {
    let along = |a: f64, b: f64, c: f64| [a, 0.5 * (a + b + c), 0.5 * (a - b + c), c];
    let columns: [[f64; SIDE]; 3] = [0, 1, 2].map(|c| along(g(0, c), g(1, c), g(2, c)));
    #[expect(clippy::cast_possible_truncation, reason = "weights are in single precision")]
    std::array::from_fn(|p| {
        let [a, b, c] = columns.map(|column| column[p / SIDE]);
        along(a, b, c)[p % SIDE] as f32
    })
}
