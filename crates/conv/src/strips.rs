//! Outputs in strips: two rows of a vector each.

use rten_simd::{Isa, ops::BitOps};

use crate::{
    batch::{LANES, Part},
    finish::Finish,
};

/// A vector of neighbouring outputs of a row, and those below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strip {
    pub(crate) sample: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// Where it begins in the first channel of the part's output.
    at: usize,
    /// How many entries of a row are outputs, and how many rows.
    length: usize,
    height: usize,
    /// Whether all entries are outputs, and those of the next strip follow them.
    goes_on: bool,
}

/// Strips that make up all outputs of a part, in order; every row of them has a multiple of `multiple`, of which the last ones may
/// have no output.
pub(crate) fn strips(part: &Part<'_>, lanes: usize, multiple: usize) -> Vec<Strip> {
    let ([height, width], channels) = (part.size, part.channels.1 - part.channels.0);
    let columns = width.div_ceil(lanes).next_multiple_of(multiple);
    let mut strips = Vec::with_capacity(part.samples * height.div_ceil(2) * columns);
    for sample in 0..part.samples {
        for row in (0..height).step_by(2) {
            strips.extend((0..columns).map(|i| i * lanes).map(|column| Strip {
                sample,
                row,
                column,
                at: (sample * channels * height + row) * width + column,
                length: width.saturating_sub(column).min(lanes),
                height: (height - row).min(2),
                goes_on: column + 2 * lanes <= width,
            }));
        }
    }
    strips
}

/// A channel of the output.
pub(crate) struct Channel<'a, 'b> {
    pub(crate) finish: &'a mut Finish<'b>,
    pub(crate) number: usize,
    /// Where it begins in a sample.
    pub(crate) start: usize,
    /// Entries of a row.
    pub(crate) width: usize,
}

impl Channel<'_, '_> {
    /// Writes `N` strips and says so, if all their entries are outputs and follow each other.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn write_row<I: Isa, const N: usize>(
        &mut self,
        isa: I,
        strips: &[Strip],
        sums: [[I::F32; N]; 2],
    ) -> bool {
        if strips.len() != N || !strips[..N - 1].iter().all(|s| s.goes_on) {
            return false;
        }
        let (at, lanes) = (self.start + strips[0].at, isa.f32().len());
        self.finish.vectors(isa, self.number, at, lanes, sums[0]);
        if strips[0].height == 2 {
            self.finish.vectors(isa, self.number, at + self.width, lanes, sums[1]);
        }
        true
    }

    /// Writes the outputs of two strips.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn write<I: Isa>(&mut self, isa: I, strips: &[Strip], sums: [[I::F32; 2]; 2]) {
        if self.write_row(isa, strips, sums) {
            return;
        }
        for (i, strip) in strips.iter().enumerate() {
            for (row, sums) in sums.iter().enumerate().take(strip.height) {
                let at = self.start + strip.at + row * self.width;
                if strip.length == isa.f32().len() {
                    self.finish.vectors(isa, self.number, at, 0, [sums[i]]);
                } else {
                    let mut numbers = [0.0; LANES];
                    isa.f32().store(sums[i], &mut numbers);
                    self.finish.scalars(self.number, at, 1, &numbers[..strip.length]);
                }
            }
        }
    }
}
