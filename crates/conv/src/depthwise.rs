//! Channels that each have a window of their own.
//!
//! The copy of a channel has no border (`gapless`), so that a vector of outputs goes on in the next row and so does all that it reads.
//! What a window would read beyond the ends of a row is taken to be zero by masks, which depend on the column alone.

use rten_simd::{
    Isa,
    ops::{BitOps, NumOps},
};

use crate::{
    Channels,
    axis::{Direction, Window},
    batch::{LANES, LENGTH, Part},
    gapless::{Gapless, ROWS, blocks},
    spaced,
    work::{Work, room},
};

/// Copies of channels that are made before the first of them is summed, in numbers: what was written just before can't be read in
/// other pieces for a while. Measured, as is the next one.
const COPIES: usize = 2048;

/// With a stride of two, rows of outputs that are shorter than this take vectors of AVX2.
const SHORT: usize = 32;

/// The weights and what each reads.
#[derive(Clone, Debug)]
pub(crate) struct Depthwise {
    stride: usize,
    /// What the rows and the columns of a window read, relative to its place, in ascending order.
    offsets: [Vec<isize>; 2],
    /// By channel: every `stride`-th row from the first, then those from the second, each with its columns in order.
    weights: Vec<f32>,
}

/// Whether it applies.
pub(crate) fn suits(
    direction: Direction,
    windows: [Window; 2],
    channels: Channels,
    inner: [usize; 2],
    size: [usize; 2],
) -> bool {
    let Channels { inputs, outputs, groups } = channels;
    let Window { size: length, stride, .. } = windows[0];
    let usual =
        |w: &Window| w.size == length && w.stride == stride && w.dilation == 1 && w.before < length;
    let plain = stride == 1 || (stride == 2 && direction == Direction::Forward);
    // A row of the copy has room for as many entries as the output.
    let fits = !inner.contains(&0) && size[1] >= inner[1].div_ceil(stride);
    let alone = inputs == groups && outputs == groups;
    let enough = size[0].saturating_mul(size[1]) >= LENGTH;
    alone && [3, 5].contains(&length) && plain && windows.iter().all(usual) && fits && enough
}

impl Depthwise {
    /// From the weight of a channel, a row and a column of the window.
    pub(crate) fn new(
        direction: Direction,
        windows: [Window; 2],
        channels: usize,
        weight: impl Fn(usize, [usize; 2]) -> f32,
    ) -> Self {
        let taps = windows.map(|w| {
            let mut taps = direction.sweeps(w).swap_remove(0).taps;
            taps.sort_by_key(|t| t.offset);
            taps
        });
        let ([rows, columns], stride) = (&taps, windows[0].stride);
        let mut weights = Vec::with_capacity(channels * rows.len() * columns.len());
        for channel in 0..channels {
            for row in (0..stride).flat_map(|first| rows.iter().skip(first).step_by(stride)) {
                weights.extend(columns.iter().map(|c| weight(channel, [row.weight, c.weight])));
            }
        }
        let offsets = taps.map(|t| t.iter().map(|t| t.offset).collect());
        Self { stride, offsets, weights }
    }

    /// Whether longer vectors than those of AVX2 take no less time for outputs of a size.
    pub(crate) fn is_short(&self, size: [usize; 2]) -> bool {
        size[0] * size[1] < LANES || (self.stride == 2 && size[1] < SHORT)
    }

    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn run<I: Isa>(&self, isa: I, part: &mut Part<'_>, work: &mut Work) {
        match (self.offsets[0].len(), self.stride) {
            (3, 1) => self.windows::<I, 3, 3, 0, 6, 3>(isa, part, work),
            (3, _) => self.windows::<I, 3, 2, 1, 5, 4>(isa, part, work),
            (_, 1) => self.windows::<I, 5, 5, 0, 8, 3>(isa, part, work),
            _ => self.windows::<I, 5, 3, 2, 6, 5>(isa, part, work),
        }
    }

    /// Windows of `K` columns, with `A` rows from the first on and `B` from the second. `ROWS` rows of outputs read `MA` and `MB` rows.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn windows<
        I: Isa,
        const K: usize,
        const A: usize,
        const B: usize,
        const MA: usize,
        const MB: usize,
    >(
        &self,
        isa: I,
        part: &mut Part<'_>,
        work: &mut Work,
    ) {
        let copies = Gapless::new(self.stride, &self.offsets, part.inner, part.size);
        let (area, width) = (part.size[0] * part.size[1], part.size[1]);
        let (blocks, starts) = blocks(area, width, isa.f32().len());
        let within: Vec<Within<I::M32, K>> = within(isa, &copies, &self.offsets[1], &starts);
        let reads: Reads<K> = Reads::new(&copies, &self.offsets);
        let (first, end) = part.channels;
        let together = (COPIES / copies.length).clamp(1, LANES);
        let memory = room(&mut work.entered, together * copies.length);
        memory.fill(0.0);
        for sample in 0..part.samples {
            for start in (first..end).step_by(together) {
                let count = together.min(end - start);
                let several = memory.chunks_exact_mut(copies.length).take(count);
                for (channel, copy) in (start..).zip(several) {
                    copies.copy(isa, part.from(sample, channel), copy);
                }
                let several = memory.chunks_exact(copies.length).take(count);
                for (channel, copy) in (start..).zip(several) {
                    let weights = &self.weights[channel * (A + B) * K..][..(A + B) * K];
                    let sums = Sums { copy, reads: &reads, weights, row: width };
                    let to = (sample * (end - first) + channel - first) * area;
                    for block in &blocks {
                        let (at, within) = (block.at, &within[block.start]);
                        let (to, masks) = (to + at, &within.masks);
                        if !block.tall {
                            let sums = sums.of::<I, A, B, 1, A, B>(isa, at, Some(masks));
                            part.finish.vectors(isa, channel, to, width, sums);
                        } else if within.whole {
                            let sums = sums.of::<I, A, B, ROWS, MA, MB>(isa, at, None);
                            part.finish.vectors(isa, channel, to, width, sums);
                        } else {
                            let sums = sums.of::<I, A, B, ROWS, MA, MB>(isa, at, Some(masks));
                            part.finish.vectors(isa, channel, to, width, sums);
                        }
                    }
                }
            }
        }
    }
}

/// Lanes for which each column of a window lies in the image.
struct Within<M, const K: usize> {
    masks: [M; K],
    /// Whether that is so for all of them.
    whole: bool,
}

/// What windows that begin at a column have within the image, for all columns at which blocks begin.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn within<I: Isa, const K: usize>(
    isa: I,
    copies: &Gapless,
    offsets: &[isize],
    starts: &[usize],
) -> Vec<Within<I::M32, K>> {
    let ops = isa.f32();
    let mut all = Vec::with_capacity(starts.len());
    for &start in starts {
        let mut within = Within { masks: [ops.first_n_mask(0); K], whole: true };
        for (mask, &offset) in within.masks.iter_mut().zip(offsets) {
            let mut lanes = [0.0; LANES];
            for (lane, number) in lanes.iter_mut().enumerate().take(ops.len()) {
                let holds = copies.holds(offset, start + lane);
                *number = f32::from(holds);
                within.whole &= holds;
            }
            *mask = ops.gt(ops.load(&lanes), ops.zero());
        }
        all.push(within);
    }
    all
}

/// What a window reads in a copy.
struct Reads<const K: usize> {
    /// The first row of each kind.
    rows: [usize; 2],
    /// The columns, relative to a row.
    columns: [usize; K],
}

impl<const K: usize> Reads<K> {
    fn new(copies: &Gapless, [rows, columns]: &[Vec<isize>; 2]) -> Self {
        Self {
            rows: [0, 1].map(|i| copies.row(rows[i])),
            columns: std::array::from_fn(|k| copies.column(columns[k])),
        }
    }
}

/// Sums over windows of a channel.
#[derive(Clone, Copy)]
struct Sums<'a, const K: usize> {
    copy: &'a [f32],
    reads: &'a Reads<K>,
    weights: &'a [f32],
    /// From one row to the next.
    row: usize,
}

impl<const K: usize> Sums<'_, K> {
    /// Vectors of outputs from `at` on, in `R` rows.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn of<
        I: Isa,
        const A: usize,
        const B: usize,
        const R: usize,
        const MA: usize,
        const MB: usize,
    >(
        self,
        isa: I,
        at: usize,
        masks: Option<&[I::M32; K]>,
    ) -> [I::F32; R] {
        let mut sums = [isa.f32().zero(); R];
        let [first, second] = self.reads.rows;
        self.add::<I, A, R, MA>(isa, at + first, 0, masks, &mut sums);
        if B > 0 {
            self.add::<I, B, R, MB>(isa, at + second, A * K, masks, &mut sums);
        }
        sums
    }

    /// Adds products with `N` rows of weights, which read `M` rows of the copy from `at` on.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn add<I: Isa, const N: usize, const R: usize, const M: usize>(
        self,
        isa: I,
        at: usize,
        weights: usize,
        masks: Option<&[I::M32; K]>,
        sums: &mut [I::F32; R],
    ) {
        let ops = isa.f32();
        let weights = &self.weights[weights..][..N * K];
        for k in 0..K {
            let mut rows: [I::F32; M] =
                spaced::load(isa, self.copy, at + self.reads.columns[k], self.row);
            if let Some(masks) = masks {
                for row in &mut rows {
                    *row = ops.select(*row, ops.zero(), masks[k]);
                }
            }
            for n in 0..N {
                let weight = ops.splat(weights[n * K + k]);
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = ops.mul_add(rows[r + n], weight, *sum);
                }
            }
        }
    }
}
