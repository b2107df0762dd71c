//! Copies of channels whose rows follow each other with nothing between them.
//!
//! Rows are as long as those of the output. Above and below them are zeros, which stay from one channel to the next. With a stride of
//! two, rows and columns with the same remainder are put together, so that neighbouring outputs read neighbours.

use rten_simd::{Isa, ops::BitOps};

use crate::{pairs::halves, spaced, work::LINE};

/// Rows of outputs that are summed together, so that a row of the copy is read once for several of them.
pub(crate) const ROWS: usize = 4;

/// Vectors that are copied side by side.
const SIDE: usize = 4;

/// So many numbers ahead are asked for while others are copied, since those of large images come from memory. Measured.
const AHEAD: usize = 2048;

/// Where entries of a channel lie in its copy.
pub(crate) struct Gapless {
    inner: [usize; 2],
    stride: usize,
    /// Entries of a row.
    width: usize,
    /// Rows above those of the image, and all.
    above: usize,
    rows: usize,
    /// Entries with the same remainders.
    plane: usize,
    /// All entries.
    pub(crate) length: usize,
}

impl Gapless {
    /// For windows that read rows and columns at ascending `offsets`, of which the first are not above zero.
    pub(crate) fn new(
        stride: usize,
        [rows, _]: &[Vec<isize>; 2],
        inner: [usize; 2],
        [height, width]: [usize; 2],
    ) -> Self {
        let steps = |offset: isize| offset.div_euclid(stride as isize);
        let above = steps(rows[0]).unsigned_abs();
        let reach = steps(rows[rows.len() - 1]).abs_diff(steps(rows[0]));
        let rows = height + reach;
        // Columns reach beyond both ends, and what is copied ends with a whole vector.
        let plane = (rows * width).next_multiple_of(LINE) + 3 * LINE;
        Self { inner, stride, width, above, rows, plane, length: stride * stride * plane }
    }

    /// What a row of windows reads, relative to the output's place.
    pub(crate) fn row(&self, offset: isize) -> usize {
        let (phase, steps) = self.phase(offset);
        let row = self.above.strict_add_signed(steps);
        phase * self.stride * self.plane + row * self.width
    }

    /// What a column of windows reads, relative to a row.
    pub(crate) fn column(&self, offset: isize) -> usize {
        let (phase, steps) = self.phase(offset);
        (phase * self.plane + LINE).strict_add_signed(steps)
    }

    /// The remainder by the stride, and how many strides it is to.
    fn phase(&self, offset: isize) -> (usize, isize) {
        let stride = self.stride as isize;
        (offset.rem_euclid(stride).unsigned_abs(), offset.div_euclid(stride))
    }

    /// Whether a column of the window of an output lies in the image.
    pub(crate) fn holds(&self, offset: isize, output: usize) -> bool {
        let column = (output % self.width * self.stride).checked_add_signed(offset);
        column.is_some_and(|c| c < self.inner[1])
    }

    /// Copies a channel, with which `image` begins.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn copy<I: Isa>(&self, isa: I, image: &[f32], into: &mut [f32]) {
        let ([height, width], stride) = (self.inner, self.stride);
        let start = LINE + self.above * self.width;
        let rows = height.min((self.rows - self.above) * stride);
        if stride == 1 && width == self.width {
            copy(isa, &image[..rows * width], &mut into[start..]);
        } else if stride == 1 {
            let lines = image[..rows * width].chunks_exact(width);
            for (line, cells) in lines.zip(into[start..].chunks_mut(self.width)) {
                cells[..width].copy_from_slice(line);
            }
        } else {
            let lines = Lines { image, length: width, width: self.width, plane: self.plane };
            lines.divide(isa, rows, into, start);
        }
    }
}

/// Asks for what is read some time after an entry.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn ask<I: Isa>(isa: I, image: &[f32], at: usize) {
    isa.f32().prefetch(image.as_ptr().wrapping_add(at + AHEAD));
}

/// Copies numbers in whole vectors, of which the last begins within the one before.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn copy<I: Isa>(isa: I, from: &[f32], into: &mut [f32]) {
    let lanes = isa.f32().len();
    let Some(last) = from.len().checked_sub(lanes) else {
        into[..from.len()].copy_from_slice(from);
        return;
    };
    let mut at = 0;
    while at + SIDE * lanes <= from.len() {
        for n in 0..SIDE {
            ask(isa, from, at + n * lanes);
        }
        let vectors: [I::F32; SIDE] = spaced::load(isa, from, at, lanes);
        spaced::store(isa, into, at, lanes, &vectors);
        at += SIDE * lanes;
    }
    for at in (at..from.len()).step_by(lanes) {
        let vectors: [I::F32; 1] = spaced::load(isa, from, at.min(last), 0);
        spaced::store(isa, into, at.min(last), 0, &vectors);
    }
}

/// Rows whose entries are divided among planes, two for each of two rows.
#[derive(Clone, Copy)]
struct Lines<'a> {
    /// Begins with the first row, and goes on behind the last.
    image: &'a [f32],
    length: usize,
    /// From one row of a plane to the next.
    width: usize,
    plane: usize,
}

impl Lines<'_> {
    /// Divides a number of rows; those of the first plane begin at `start`.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn divide<I: Isa>(self, isa: I, count: usize, into: &mut [f32], start: usize) {
        let lanes = isa.f32().len();
        let Self { image, length, width, plane } = self;
        // Whole vectors reach beyond the end of a row, and those of the last rows may do so beyond the end of all images.
        let beyond = image.len().checked_sub(length.next_multiple_of(2 * lanes));
        let vectors = beyond.map_or(0, |beyond| (beyond / length + 1).min(count));
        for row in (0..vectors / 2 * 2).step_by(2) {
            self.rows::<I, 2>(isa, row, into, start);
        }
        if vectors % 2 == 1 {
            self.rows::<I, 1>(isa, vectors - 1, into, start);
        }
        for row in vectors..count {
            let place = start + row % 2 * 2 * plane + row / 2 * width;
            for (i, number) in image[row * length..][..length].iter().enumerate() {
                into[place + i % 2 * plane + i / 2] = *number;
            }
        }
        // Rows were written with whole vectors, so that they went on in the next one.
        for phase in 0..4 {
            let rows = (count + 1 - phase / 2) / 2;
            into[start + phase * plane + rows * width..][..lanes].fill(0.0);
        }
    }

    /// Divides `N` rows, of which the first has an even number.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn rows<I: Isa, const N: usize>(self, isa: I, row: usize, into: &mut [f32], start: usize) {
        let (lanes, from) = (isa.f32().len(), row * self.length);
        let to = start + row / 2 * self.width;
        for column in (0..self.length.div_ceil(2)).step_by(lanes) {
            let from = from + 2 * column;
            for row in 0..N {
                ask(isa, self.image, from + row * self.length);
                ask(isa, self.image, from + row * self.length + lanes);
            }
            let mut first: [I::F32; N] = spaced::load(isa, self.image, from, self.length);
            let mut second: [I::F32; N] = spaced::load(isa, self.image, from + lanes, self.length);
            for (first, second) in first.iter_mut().zip(&mut second) {
                [*first, *second] = halves(isa, [*first, *second]);
            }
            spaced::store(isa, into, to + column, 2 * self.plane, &first);
            spaced::store(isa, into, to + column + self.plane, 2 * self.plane, &second);
        }
    }
}

/// Vectors of outputs that are summed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first output.
    pub(crate) at: usize,
    /// The number of the column that it is in, among those in which blocks begin.
    pub(crate) start: usize,
    /// Whether there are `ROWS` vectors, each below the one before, or one.
    pub(crate) tall: bool,
}

/// Blocks that have all outputs in rows of a width, of which there is at least one vector, and the columns in which they begin. Some
/// have outputs of others again.
pub(crate) fn blocks(area: usize, width: usize, lanes: usize) -> (Vec<Block>, Vec<usize>) {
    let (mut blocks, mut starts, mut numbers) = (Vec::new(), Vec::new(), vec![None; width]);
    let mut block = |at: usize, tall: bool| {
        let start = *numbers[at % width].get_or_insert_with(|| {
            starts.push(at % width);
            starts.len() - 1
        });
        blocks.push(Block { at, start, tall });
    };
    let reach = (ROWS - 1) * width + lanes;
    // Vectors that are longer than a row go on in the next one.
    let each = if width <= lanes { reach } else { ROWS * width };
    let mut done = 0;
    while done + each <= area {
        for at in (done..done + width.max(lanes)).step_by(lanes) {
            block(at.min(area - reach), true);
        }
        done += each;
    }
    for at in (done..area).step_by(lanes) {
        block(at.min(area - lanes), false);
    }
    (blocks, starts)
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::ProptestConfig, prop_assert, prop_assert_eq, proptest};

    use super::*;

    /// Few cases under miri, which does not reach the file of regressions either.
    fn config() -> ProptestConfig {
        let all = ProptestConfig::default();
        if cfg!(miri) { ProptestConfig { cases: 4, failure_persistence: None, ..all } } else { all }
    }

    proptest! {
        #![proptest_config(config())]
        #[test]
        fn every_output_is_in_a_block(rows in 1usize..40, width in 1usize..60, wide in 2u32..5) {
            let lanes = 1 << wide;
            // There is at least one vector.
            let area = (rows * width).max(lanes).next_multiple_of(width);
            let (blocks, starts) = blocks(area, width, lanes);
            let mut found = vec![false; area];
            for block in blocks {
                prop_assert_eq!(starts[block.start], block.at % width);
                for row in 0..if block.tall { ROWS } else { 1 } {
                    let first = block.at + row * width;
                    prop_assert!(first + lanes <= area);
                    found[first..first + lanes].fill(true);
                }
            }
            prop_assert!(found.into_iter().all(|f| f));
        }
    }
}
