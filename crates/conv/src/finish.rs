//! What is done with sums, and where they are written.

use rten_simd::{
    Isa,
    ops::{BitOps, NumOps},
};

use crate::{After, Numbers, spaced};

/// A part of the output.
pub(crate) struct Finish<'a> {
    pub(crate) after: &'a [After<'a>],
    pub(crate) output: &'a mut [f32],
    /// Where the part begins in the whole.
    pub(crate) offset: usize,
}

impl Finish<'_> {
    /// Writes vectors of a channel to an entry and those behind it.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn vectors<I: Isa, const N: usize>(
        &mut self,
        isa: I,
        channel: usize,
        at: usize,
        mut sums: [I::F32; N],
    ) {
        let ops = isa.f32();
        let numbers = |numbers: &Numbers<'_>| match numbers {
            Numbers::Entries(n) => spaced::load(isa, n, self.offset + at, ops.len()),
            Numbers::Channels(n) => [ops.splat(n[channel]); N],
        };
        for step in self.after {
            match step {
                After::Add(n) => {
                    for (sum, &n) in sums.iter_mut().zip(&numbers(n)) {
                        *sum = ops.add(*sum, n);
                    }
                }
                After::Mul(n) => {
                    for (sum, &n) in sums.iter_mut().zip(&numbers(n)) {
                        *sum = ops.mul(*sum, n);
                    }
                }
                // Not a maximum, which may drop NaN.
                After::Relu => {
                    for sum in &mut sums {
                        *sum = ops.select(ops.zero(), *sum, ops.lt(*sum, ops.zero()));
                    }
                }
            }
        }
        spaced::store(isa, self.output, at, ops.len(), &sums);
    }

    /// Writes numbers of a channel to an entry and every `step`-th behind it.
    pub(crate) fn scalars(&mut self, channel: usize, at: usize, step: usize, sums: &[f32]) {
        let places = (at..self.output.len()).step_by(step);
        for (at, &sum) in places.zip(sums) {
            let number = |numbers: &Numbers<'_>| match numbers {
                Numbers::Entries(n) => n[self.offset + at],
                Numbers::Channels(n) => n[channel],
            };
            let mut value = sum;
            for step in self.after {
                value = match step {
                    After::Add(n) => value + number(n),
                    After::Mul(n) => value * number(n),
                    After::Relu if value < 0.0 => 0.0,
                    After::Relu => value,
                };
            }
            self.output[at] = value;
        }
    }
}
