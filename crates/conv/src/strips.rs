//! Outputs in tiles of 2 × 2, and tiles in strips.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    batch::{LANES, Part},
    finish::Finish,
    product,
};

/// Neighbouring tiles of a row, at most a vector of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip {
    /// Where they begin in the images.
    pub(crate) source: usize,
    /// The number of tiles before them.
    pub(crate) place: usize,
    pub(crate) length: usize,
    /// Where their sample begins in the output.
    pub(crate) target: usize,
    row: usize,
    column: usize,
}

/// All tiles of the samples of a part, in order.
pub(crate) fn strips(part: &Part<'_>, [rows, columns]: [usize; 2], lanes: usize) -> Vec<Strip> {
    let image = part.inputs * part.layout.plane;
    let output = (part.channels.1 - part.channels.0) * part.size[0] * part.size[1];
    let mut strips = Vec::with_capacity(part.samples * rows * columns.div_ceil(lanes));
    let mut place = 0;
    for sample in 0..part.samples {
        for row in 0..rows {
            for column in (0..columns).step_by(lanes) {
                let source = sample * image + row * part.layout.row() + column;
                let length = lanes.min(columns - column);
                strips.push(Strip { source, place, length, target: sample * output, row, column });
                place += length;
            }
        }
    }
    strips
}

/// Sums of one product for every output.
pub(crate) struct Sums<'a> {
    pub(crate) into: &'a mut [f32],
    /// From one output to the next.
    pub(crate) row: usize,
    /// The first output.
    pub(crate) first: usize,
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

/// Two rows of two outputs for every tile of a strip, in the order of the output.
pub(crate) type Lines = [[f32; 2 * LANES]; 2];

/// Brings outputs of a strip into the order of the output.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn interleave<I: Isa>(isa: I, outputs: [[I::F32; 2]; 2], lines: &mut Lines) {
    let ops = isa.f32();
    for (line, pair) in lines.iter_mut().zip(&outputs) {
        let [mut even, mut odd] = [[0.0; LANES]; 2];
        ops.store(pair[0], &mut even);
        ops.store(pair[1], &mut odd);
        for (two, (a, b)) in line.chunks_exact_mut(2).zip(even.iter().zip(&odd)).take(ops.len()) {
            two.copy_from_slice(&[*a, *b]);
        }
    }
}

/// Writes outputs of a channel. They were put in order a while ago: vectors can't be read at once that were written in pieces.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn write<I: Isa>(
    isa: I,
    finish: &mut Finish<'_>,
    [height, width]: [usize; 2],
    channel: usize,
    base: usize,
    strips: &[Strip],
    lines: &[Lines],
) {
    let ops = isa.f32();
    let lanes = ops.len();
    for (strip, lines) in strips.iter().zip(lines) {
        let (first, column) = (2 * strip.row, 2 * strip.column);
        let length = (2 * strip.length).min(width - column);
        for (row, line) in (first..height).zip(lines) {
            let at = strip.target + base + row * width + column;
            if length == 2 * lanes {
                finish.vector(isa, channel, at, ops.load(line));
                finish.vector(isa, channel, at + lanes, ops.load(&line[lanes..]));
            } else if length == lanes {
                finish.vector(isa, channel, at, ops.load(line));
            } else {
                finish.scalars(channel, at, 1, &line[..length]);
            }
        }
    }
}
