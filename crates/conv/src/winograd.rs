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
    filter::{LANES, Part},
    finish::Finish,
    product::{Packed, Product},
    tiles::{Run, Tiles},
    work::room,
};

/// Entries of d along an axis, and products of a tile along an axis.
const SIDE: usize = 4;
const PRODUCTS: usize = SIDE * SIDE;
/// Transformed inputs and outputs of vectors that are worked on together, in numbers: half of a small second cache.
const TRANSFORMED: usize = 65536;
/// At least this many vectors are worked on together, for every weight is read once for them.
const FEWEST: usize = 8;

/// What transforms of a vector of a channel cost, and writing one, in multiplications of vectors; measured.
const TRANSFORM: usize = 350;
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
        // Vectors of a length that most processors have.
        let vectors = |size: [usize; 2], reach: usize| Tiles::count(size, size[1] + reach, 8);
        let pairs = inputs * outputs;
        let here = vectors(size.map(|s| s.div_ceil(2)), 1)
            * (PRODUCTS * pairs + TRANSFORM * (inputs + outputs));
        let direct = vectors(size, 2) * (9 * pairs + WRITE * outputs);
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
        let [y, x] = [0, 1].map(|axis| &self.sweeps[axis][0]);
        let tiles =
            Tiles::new([y.count(part.size[0]), x.count(part.size[1])], part.layout.row(), lanes);
        let sources: Vec<usize> = part.places(&tiles).collect();
        // Along a row, entries of d take turns between two places.
        let taps: [[usize; 2]; SIDE] = std::array::from_fn(|r| {
            [0, 1].map(|c| part.layout.tap([y.taps[r].offset, x.taps[c].offset]))
        });
        let (inputs, (first, end)) = (part.inputs, part.channels);
        let outputs = end - first;
        let together = (TRANSFORMED / ((inputs + outputs) * PRODUCTS * lanes)).max(FEWEST);
        let together = together.min(sources.len());
        let work = &mut *part.work;
        // Products × vectors × inputs, and outputs × vectors × products, of a vector each. The distance of matrices is not a power
        // of two, for else they would share a set of the cache.
        let matrix = together * inputs * lanes + LANES;
        let entered = room(&mut work.entered, PRODUCTS * matrix);
        let summed = room(&mut work.summed, outputs * together * PRODUCTS * lanes);
        let within: Vec<usize> = (0..together).map(|v| v * inputs * lanes).collect();
        for (start, sources) in (0..).step_by(together).zip(sources.chunks(together)) {
            for (v, source) in sources.iter().enumerate() {
                for input in 0..inputs {
                    let d = &part.images[input * part.layout.plane + source..];
                    let tile = transform_inputs(isa, read(isa, d, taps));
                    let mut at = (v * inputs + input) * lanes;
                    for value in tile.as_flattened() {
                        isa.f32().store(*value, &mut entered[at..]);
                        at += matrix;
                    }
                }
            }
            for (p, weights) in self.weights.iter().enumerate() {
                let product = Product {
                    weights,
                    images: &entered[p * matrix..(p + 1) * matrix],
                    plane: lanes,
                    taps: &[0],
                    sources: &within[..sources.len()],
                    outputs: part.channels,
                };
                product.run(
                    isa,
                    &mut work.partial,
                    #[inline(always)]
                    |channel, vector, sum| {
                        let at = ((channel - first) * together + vector) * PRODUCTS + p;
                        isa.f32().store(sum, &mut summed[at * lanes..]);
                    },
                );
            }
            let mut place = (start / tiles.len(), start % tiles.len());
            let places: Vec<(usize, usize)> = sources
                .iter()
                .map(|_| {
                    let now = place;
                    place =
                        if now.1 + 1 < tiles.len() { (now.0, now.1 + 1) } else { (now.0 + 1, 0) };
                    now
                })
                .collect();
            for (channel, vectors) in
                (first..end).zip(summed.chunks_exact(together * PRODUCTS * lanes))
            {
                for (&(sample, tile), sums) in
                    places.iter().zip(vectors.chunks_exact(PRODUCTS * lanes))
                {
                    let mut products = [[isa.f32().zero(); SIDE]; SIDE];
                    for (product, sums) in
                        products.as_flattened_mut().iter_mut().zip(sums.chunks_exact(lanes))
                    {
                        *product = isa.f32().load(sums);
                    }
                    let base = ((sample * outputs) + channel - first) * part.size[0] * part.size[1];
                    let outputs = transform_outputs(isa, products);
                    write(
                        isa,
                        &mut part.finish,
                        part.size,
                        tiles.runs(tile),
                        channel,
                        base,
                        outputs,
                    );
                }
            }
        }
    }
}

/// A vector of tiles d: entries c and c + 2 of a row are neighbours.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn read<I: Isa>(isa: I, d: &[f32], taps: [[usize; 2]; SIDE]) -> [[I::F32; SIDE]; SIDE] {
    let ops = isa.f32();
    let mut tile = [[ops.zero(); SIDE]; SIDE];
    for (row, [even, odd]) in tile.iter_mut().zip(taps) {
        let (even, odd) = (&d[even..][..=ops.len()], &d[odd..][..=ops.len()]);
        *row = [ops.load(even), ops.load(odd), ops.load(&even[1..]), ops.load(&odd[1..])];
    }
    tile
}

/// G g Gᵀ.
fn transformed_weights(g: impl Fn(usize, usize) -> f64) -> [f32; PRODUCTS] {
    let along = |a: f64, b: f64, c: f64| [a, (a + b + c) / 2.0, (a - b + c) / 2.0, c];
    let rows: [[f64; 3]; SIDE] = {
        let columns: [[f64; SIDE]; 3] = std::array::from_fn(|c| along(g(0, c), g(1, c), g(2, c)));
        std::array::from_fn(|r| std::array::from_fn(|c| columns[c][r]))
    };
    let all = rows.map(|[a, b, c]| along(a, b, c));
    #[expect(clippy::cast_possible_truncation, reason = "weights are in single precision")]
    std::array::from_fn(|p| all[p / SIDE][p % SIDE] as f32)
}

/// Bᵀ d B of a vector of tiles.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn transform_inputs<I: Isa>(isa: I, d: [[I::F32; SIDE]; SIDE]) -> [[I::F32; SIDE]; SIDE] {
    let [a, b, c, d] = transposed(d);
    let columns =
        [differences(isa, a), differences(isa, b), differences(isa, c), differences(isa, d)];
    let [a, b, c, d] = transposed(columns);
    [differences(isa, a), differences(isa, b), differences(isa, c), differences(isa, d)]
}

/// Aᵀ m A of a vector of tiles: two rows of two outputs.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn transform_outputs<I: Isa>(isa: I, m: [[I::F32; SIDE]; SIDE]) -> [[I::F32; 2]; 2] {
    let [a, b, c, d] = transposed(m);
    let [a, b, c, d] = [sums(isa, a), sums(isa, b), sums(isa, c), sums(isa, d)];
    [sums(isa, [a[0], b[0], c[0], d[0]]), sums(isa, [a[1], b[1], c[1], d[1]])]
}

#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn transposed<T: Copy>([a, b, c, d]: [[T; SIDE]; SIDE]) -> [[T; SIDE]; SIDE] {
    [
        [a[0], b[0], c[0], d[0]],
        [a[1], b[1], c[1], d[1]],
        [a[2], b[2], c[2], d[2]],
        [a[3], b[3], c[3], d[3]],
    ]
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

/// Writes two rows of two outputs of every tile of a vector.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn write<I: Isa>(
    isa: I,
    finish: &mut Finish<'_>,
    [height, width]: [usize; 2],
    runs: &[Run],
    channel: usize,
    base: usize,
    outputs: [[I::F32; 2]; 2],
) {
    let ops = isa.f32();
    let lanes = ops.len();
    for (r, pair) in outputs.iter().enumerate() {
        let [mut even, mut odd] = [[0.0; LANES]; 2];
        ops.store(pair[0], &mut even);
        ops.store(pair[1], &mut odd);
        let mut line = [0.0; 2 * LANES];
        for (two, (a, b)) in line.chunks_exact_mut(2).zip(even.iter().zip(&odd)) {
            two.copy_from_slice(&[*a, *b]);
        }
        for run in runs {
            let (row, column) = (2 * run.row + r, 2 * run.column);
            if row >= height {
                continue;
            }
            let values = &line[2 * run.lane..][..(2 * run.length).min(width - column)];
            let mut at = base + row * width + column;
            let whole = values.chunks_exact(lanes);
            let rest = whole.remainder();
            for values in whole {
                finish.vector(isa, channel, at, ops.load(values));
                at += lanes;
            }
            finish.scalars(channel, at, 1, rest);
        }
    }
}
