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
    /// Writes vectors of a channel, the first to an entry and those behind it, each `distance` behind the one before.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn vectors<I: Isa, const N: usize>(
        &mut self,
        isa: I,
        channel: usize,
        at: usize,
        distance: usize,
        mut sums: [I::F32; N],
    ) {
        let ops = isa.f32();
        let numbers = |numbers: &Numbers<'_>| match numbers {
            Numbers::Entries(n) => spaced::load(isa, n, self.offset + at, distance),
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
                After::Clip(low, high) => {
                    let (low, high) = (ops.splat(*low), ops.splat(*high));
                    for sum in &mut sums {
                        *sum = ops.select(low, *sum, ops.lt(*sum, low));
                        *sum = ops.select(high, *sum, ops.gt(*sum, high));
                    }
                }
            }
        }
        spaced::store(isa, self.output, at, distance, &sums);
    }

    /// Writes numbers of a channel to an entry and every `step`-th behind it, as far as there are such.
    pub(crate) fn scalars(&mut self, channel: usize, at: usize, step: usize, sums: &[f32]) {
        // Step by step over a few numbers rather than number by number: such loops become vector instructions.
        let mut values = [0.0; FEW];
        for (part, sums) in sums.chunks(FEW).enumerate() {
            let first = at + part * FEW * step;
            let values = &mut values[..sums.len()];
            values.copy_from_slice(sums);
            for after in self.after {
                match after {
                    After::Add(n) => self.combine(n, channel, first, step, values, |v, n| v + n),
                    After::Mul(n) => self.combine(n, channel, first, step, values, |v, n| v * n),
                    After::Relu => {
                        for value in &mut *values {
                            *value = if *value < 0.0 { 0.0 } else { *value };
                        }
                    }
                    After::Clip(low, high) => {
                        for value in &mut *values {
                            *value = if *value < *low { *low } else { *value };
                            *value = if *value > *high { *high } else { *value };
                        }
                    }
                }
            }
            let places = self.output.iter_mut().skip(first).step_by(step);
            for (place, &value) in places.zip(&*values) {
                *place = value;
            }
        }
    }

    #[inline]
    fn combine(
        &self,
        numbers: &Numbers<'_>,
        channel: usize,
        first: usize,
        step: usize,
        values: &mut [f32],
        f: impl Fn(f32, f32) -> f32,
    ) {
        match numbers {
            Numbers::Channels(n) => {
                for value in values {
                    *value = f(*value, n[channel]);
                }
            }
            Numbers::Entries(n) => {
                let n = n.get(self.offset + first..).unwrap_or_default();
                // Without a step the loop becomes vector instructions.
                if step == 1 {
                    for (value, &n) in values.iter_mut().zip(n) {
                        *value = f(*value, n);
                    }
                } else {
                    for (value, &n) in values.iter_mut().zip(n.iter().step_by(step)) {
                        *value = f(*value, n);
                    }
                }
            }
        }
    }
}

/// How many numbers are finished at once.
const FEW: usize = 64;
