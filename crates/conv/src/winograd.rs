//! Windows of 3 × 3 entries with fewer multiplications: F(2 × 2, 3 × 3) of Winograd, as in Lavin and Gray, "Fast algorithms for
//! convolutional neural networks", 2016.
//!
//! Four outputs y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A of 4 × 4 inputs d and a window g take 16 products instead of 36. Sums over inputs
//! are taken before Aᵀ(·)A, so that the products of all inputs and outputs are 16 products of matrices.

use rten_simd::{
    Isa,
    ops::{BitOps, NumOps},
};

use crate::{
    axis::{Direction, Sweep, Tap, Window},
    batch::{LANES, LENGTH, Part},
    product::{Packed, Product, Taps, VECTORS},
    spaced,
    strips::{Strip, Sums, interleave, strips, write},
    tiles::Tiles,
    work::room,
};

/// Entries of d along an axis, and products of a tile along an axis.
const SIDE: usize = 4;
const PRODUCTS: usize = SIDE * SIDE;
/// Transformed inputs and outputs of vectors that are worked on together, in numbers: half of a small second cache.
const TRANSFORMED: usize = 32768;
/// At least this many vectors are worked on together, for every weight is read once for them.
const FEWEST: usize = 4;

/// What transforms of a vector of a channel cost, and writing one, in multiplications of vectors; measured.
const TRANSFORM: usize = 190;
const WRITE: usize = 30;

/// Transformed weights.
#[derive(Clone, Debug)]
pub(crate) struct Winograd {
    /// Windows of 4 entries, 2 apart.
    sweeps: [Vec<Sweep>; 2],
    /// For every product.
    weights: Vec<Packed>,
}

impl Winograd {
    /// Whether it applies and pays off for an output of a size.
    pub(crate) fn suits(
        windows: [Window; 2],
        [inputs, outputs]: [usize; 2],
        size: [usize; 2],
    ) -> bool {
        let close = |w: Window| w.size == 3 && w.stride == 1 && w.dilation == 1 && w.extra == 0;
        // Costs in multiplications of vectors.
        let [rows, columns] = size.map(|s| s.div_ceil(2));
        let (pairs, strips) = (inputs * outputs, rows * columns.div_ceil(LENGTH));
        let products = rows * columns * PRODUCTS * pairs / LENGTH;
        let here = products + strips * TRANSFORM * (inputs + outputs);
        let direct = Tiles::count(size, size[1] + 2, LENGTH) * (9 * pairs + WRITE * outputs);
        windows.into_iter().all(close) && here < direct
    }

    /// From the weight of an output, an input, a row and a column of the window.
    pub(crate) fn new(
        direction: Direction,
        windows: [Window; 2],
        [inputs, outputs]: [usize; 2],
        weight: impl Fn(usize, usize, usize, usize) -> f32,
    ) -> Self {
        // A transposed window is the same window turned round.
        let turn = |k: usize| if direction == Direction::Forward { k } else { 2 - k };
        let transformed: Vec<[f32; PRODUCTS]> = (0..outputs * inputs)
            .map(|pair| {
                let g = |r, c| f64::from(weight(pair / inputs, pair % inputs, turn(r), turn(c)));
                transformed_weights(g)
            })
            .collect();
        let product = |p: usize| {
            Packed::new([outputs, inputs, 1], |output, input, _| {
                transformed[output * inputs + input][p]
            })
        };
        let sweeps = windows.map(|w| {
            let before = match direction {
                Direction::Forward => w.before as isize,
                Direction::Transposed => 2 - w.before as isize,
            };
            let taps = (0..SIDE).map(|k| Tap { weight: k, offset: k as isize - before });
            vec![Sweep { first: 0, step: 2, stride: 2, taps: taps.collect() }]
        });
        Self { sweeps, weights: (0..PRODUCTS).map(product).collect() }
    }

    pub(crate) fn sweeps(&self) -> [&[Sweep]; 2] {
        [&self.sweeps[0], &self.sweeps[1]]
    }

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn run<I: Isa>(&self, isa: I, part: &mut Part<'_>) {
        let lanes = isa.f32().len();
        let (inputs, (first, end)) = (part.inputs, part.channels);
        let [y, x] = [0, 1].map(|axis| &self.sweeps[axis][0]);
        // Along a row, entries of d take turns between two places.
        let taps: [[usize; 2]; SIDE] = std::array::from_fn(|r| {
            [0, 1].map(|c| part.layout.tap([y.taps[r].offset, x.taps[c].offset]))
        });
        let strips = strips(part, [y.count(part.size[0]), x.count(part.size[1])], lanes);
        let together = (TRANSFORMED / ((inputs + end - first) * PRODUCTS * lanes)).max(FEWEST);
        // A strip may write a vector beyond the last one, and a product some vectors.
        let row = (together + VECTORS) * lanes;
        // The distance of matrices is not a power of two, for else they would share a set of the cache.
        let (entered_size, summed_size) = (inputs * row + LANES, (end - first) * row + LANES);
        let work = &mut *part.work;
        let entered = room(&mut work.entered, PRODUCTS * entered_size);
        let summed = room(&mut work.summed, PRODUCTS * summed_size);
        let vectors: Vec<usize> = (0..together).map(|v| v * lanes).collect();
        let (one, mut lines) = (Taps::new(vec![0]), Vec::new());
        let mut rest = &strips[..];
        while let [Strip { place: start, .. }, ..] = *rest {
            let fits = |s: &Strip| s.place + s.length <= start + together * lanes;
            let (now, later) = rest.split_at(rest.partition_point(fits).max(1));
            rest = later;
            let used = now.last().map_or(0, |s| s.place + s.length - start).div_ceil(lanes);
            for strip in now {
                for input in 0..inputs {
                    let d = &part.images[input * part.layout.plane + strip.source..];
                    let tile = transform_inputs(isa, read(isa, d, taps));
                    let at = input * row + strip.place - start;
                    spaced::store(isa, entered, at, entered_size, &tile);
                }
            }
            for (p, weights) in self.weights.iter().enumerate() {
                let product = Product {
                    weights,
                    images: &entered[p * entered_size..(p + 1) * entered_size],
                    plane: row,
                    taps: &one,
                    sources: &vectors[..used],
                    outputs: part.channels,
                };
                let into = &mut summed[p * summed_size..(p + 1) * summed_size];
                product.run(isa, &mut work.partial, &mut Sums { into, row, first });
            }
            lines.resize(now.len(), [[0.0; 2 * LANES]; 2]);
            for channel in first..end {
                for (strip, lines) in now.iter().zip(&mut lines) {
                    let at = (channel - first) * row + strip.place - start;
                    let products = spaced::load(isa, summed, at, summed_size);
                    interleave(isa, transform_outputs(isa, products), lines);
                }
                let base = (channel - first) * part.size[0] * part.size[1];
                write(isa, &mut part.finish, part.size, channel, base, now, &lines);
            }
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

/// A vector of tiles d: entries c and c + 2 of a row are neighbours.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn read<I: Isa>(isa: I, d: &[f32], taps: [[usize; 2]; SIDE]) -> [[I::F32; SIDE]; SIDE] {
    let ops = isa.f32();
    let mut tile = [[ops.zero(); SIDE]; SIDE];
    for (row, [even, odd]) in tile.iter_mut().zip(taps) {
        let [a, c] = spaced::load(isa, d, even, 1);
        let [b, d] = spaced::load(isa, d, odd, 1);
        *row = [a, b, c, d];
    }
    tile
}

/// Bᵀ d B of a vector of tiles.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn transform_inputs<I: Isa>(isa: I, [a, b, c, d]: [[I::F32; SIDE]; SIDE]) -> [I::F32; PRODUCTS] {
    let rows = [differences(isa, a), differences(isa, b), differences(isa, c), differences(isa, d)];
    let column = |i: usize| [rows[0][i], rows[1][i], rows[2][i], rows[3][i]];
    let [a, b, c, d] = [
        differences(isa, column(0)),
        differences(isa, column(1)),
        differences(isa, column(2)),
        differences(isa, column(3)),
    ];
    [
        a[0], b[0], c[0], d[0], a[1], b[1], c[1], d[1], //
        a[2], b[2], c[2], d[2], a[3], b[3], c[3], d[3],
    ]
}

/// Aᵀ m A of a vector of tiles: two rows of two outputs.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn transform_outputs<I: Isa>(isa: I, m: [I::F32; PRODUCTS]) -> [[I::F32; 2]; 2] {
    let row = |i: usize| [m[SIDE * i], m[SIDE * i + 1], m[SIDE * i + 2], m[SIDE * i + 3]];
    let [a, b, c, d] = [sums(isa, row(0)), sums(isa, row(1)), sums(isa, row(2)), sums(isa, row(3))];
    let [left, right] = [sums(isa, [a[0], b[0], c[0], d[0]]), sums(isa, [a[1], b[1], c[1], d[1]])];
    [[left[0], right[0]], [left[1], right[1]]]
}

/// Bᵀ times a column.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn differences<I: Isa>(isa: I, [a, b, c, d]: [I::F32; SIDE]) -> [I::F32; SIDE] {
    let ops = isa.f32();
    [ops.sub(a, c), ops.add(b, c), ops.sub(c, b), ops.sub(b, d)]
}

/// Aᵀ times a column.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn sums<I: Isa>(isa: I, [a, b, c, d]: [I::F32; SIDE]) -> [I::F32; 2] {
    let ops = isa.f32();
    [ops.add(ops.add(a, b), c), ops.sub(ops.sub(b, c), d)]
}
