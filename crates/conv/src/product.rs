//! Sums of weights times entries of the input, a vector of outputs at a time.

use std::ops::Range;

use rten_simd::{
    Isa,
    ops::{BitOps, NumOps},
};

use crate::{batch::LANES, work::room};

/// Sums of this many channels are kept in registers: six channels by two vectors are twelve sums, which with the two vectors
/// and a weight fill the sixteen registers of AVX2.
pub(crate) const OUTPUTS: usize = 6;
/// Weights that are read together, in numbers: half of a small first cache.
const WEIGHTS: usize = 4096;
/// The most vectors that are summed side by side.
pub(crate) const VECTORS: usize = 8;
/// What vectors of all inputs take that are summed for every output before the next ones, in numbers: they stay in the second
/// cache meanwhile. There is a multiple of what is summed side by side.
const TOGETHER: usize = 32768;
const MULTIPLE: usize = 24;

/// The fewest parts of a number, of nearly the same size, that have at most `most` of it: seven channels are three and four,
/// since a single one would leave most registers unused.
pub(crate) fn blocks(number: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = number.div_ceil(most.max(1));
    (0..count).map(move |i| i * number / count..(i + 1) * number / count)
}

/// Weights in the order in which they are read: for every block of outputs, inputs × taps × outputs of the block.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    weights: Vec<f32>,
    inputs: usize,
    outputs: usize,
    taps: usize,
}

impl Packed {
    /// From the weight of an output, an input and a tap.
    pub(crate) fn new(
        [outputs, inputs, taps]: [usize; 3],
        weight: impl Fn(usize, usize, usize) -> f32,
    ) -> Self {
        let mut weights = Vec::with_capacity(outputs * inputs * taps);
        for block in blocks(outputs, OUTPUTS) {
            for input in 0..inputs {
                for tap in 0..taps {
                    weights.extend(block.clone().map(|output| weight(output, input, tap)));
                }
            }
        }
        Self { weights, inputs, outputs, taps }
    }
}

/// Which weights of an input count, and where each reads relative to a vector's place.
pub(crate) struct Taps {
    places: Vec<(usize, usize)>,
    /// The largest distance from a vector's place.
    reach: usize,
    /// All weights of an input for an output.
    weights: usize,
}

impl Taps {
    /// All weights, by what each reads.
    pub(crate) fn new(offsets: Vec<usize>) -> Self {
        let weights = offsets.len();
        Self::some(offsets.into_iter().enumerate().collect(), weights)
    }

    /// Some of a number of weights, and what each of them reads.
    pub(crate) fn some(places: Vec<(usize, usize)>, weights: usize) -> Self {
        assert!(places.iter().all(|p| p.0 < weights), "every place has a weight");
        let reach = places.iter().map(|p| p.1).max().unwrap_or(0);
        Self { places, reach, weights }
    }
}

/// What takes sums.
pub(crate) trait Sink<I: Isa> {
    /// Takes sums of outputs from `output` on, each in `count` vectors from `vector` on.
    fn block<const OC: usize, const V: usize>(
        &mut self,
        isa: I,
        output: usize,
        vector: usize,
        count: usize,
        sums: &[[I::F32; V]; OC],
    );
}

/// A sum for every output and every vector: over inputs, each a plane of `images`, and over taps.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    pub(crate) weights: &'a Packed,
    pub(crate) images: &'a [f32],
    /// From one plane to the next.
    pub(crate) plane: usize,
    pub(crate) taps: &'a Taps,
    /// The places of vectors in the first plane.
    pub(crate) sources: &'a [usize],
    /// The first output and the one behind the last; they are the bounds of blocks.
    pub(crate) outputs: (usize, usize),
}

impl Product<'_> {
    /// Hands all sums to `sink`, block by block.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    pub(crate) fn run<I: Isa>(self, isa: I, partial: &mut Vec<f32>, sink: &mut impl Sink<I>) {
        let Packed { inputs, outputs, taps, .. } = *self.weights;
        let lanes = isa.f32().len();
        let most = WEIGHTS / (OUTPUTS * taps.max(1));
        let together = (TOGETHER / (inputs * lanes)).next_multiple_of(MULTIPLE).max(MULTIPLE);
        let several = usize::from(inputs > most);
        let vectors = self.sources.len().min(together) + VECTORS;
        let partial = room(partial, several * vectors * OUTPUTS * lanes);
        for (part, sources) in self.sources.chunks(together).enumerate() {
            let (now, vector) = (Self { sources, ..self }, part * together);
            for block in blocks(outputs, OUTPUTS) {
                let (first, partial) = (block.start, &mut *partial);
                if first < self.outputs.0 || first >= self.outputs.1 {
                    continue;
                }
                let at = (first, vector);
                // Not where most of what is summed side by side would be the last vector again.
                let lanes = if sources.len() > 2 { lanes } else { 0 };
                // A product takes four cycles and two begin in each, so that at least eight sums have to be on their way.
                // Where vectors are this long there are twice as many registers.
                match (block.len(), lanes) {
                    (6, LANES) => now.block::<I, 6, 4>(isa, at, most, partial, sink),
                    (5, LANES) => now.block::<I, 5, 4>(isa, at, most, partial, sink),
                    (6, _) => now.block::<I, 6, 2>(isa, at, most, partial, sink),
                    (5, _) => now.block::<I, 5, 2>(isa, at, most, partial, sink),
                    (4, _) => now.block::<I, 4, 2>(isa, at, most, partial, sink),
                    (3, _) => now.block::<I, 3, 3>(isa, at, most, partial, sink),
                    (2, _) => now.block::<I, 2, 4>(isa, at, most, partial, sink),
                    _ => now.block::<I, 1, 8>(isa, at, most, partial, sink),
                }
            }
        }
    }

    /// A block of `OC` outputs from `first` on, `V` vectors at a time and `most` inputs at a time; `vector` is the number of
    /// the first vector.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[inline(always)]
    fn block<I: Isa, const OC: usize, const V: usize>(
        self,
        isa: I,
        (first, vector): (usize, usize),
        most: usize,
        partial: &mut [f32],
        sink: &mut impl Sink<I>,
    ) {
        let ops = isa.f32();
        let Packed { ref weights, inputs, taps, .. } = *self.weights;
        let mut weights = &weights[first * inputs * taps..];
        for block in blocks(inputs, most) {
            let (now, later) = weights.split_at(block.len() * taps * OC);
            weights = later;
            let planes = Planes {
                numbers: &self.images[block.start * self.plane..],
                count: block.len(),
                distance: self.plane,
                taps: self.taps,
            };
            let (is_first, is_last) = (block.start == 0, block.end == inputs);
            for start in (0..self.sources.len()).step_by(V) {
                // The last vector may be summed more than once, to fill the registers.
                let end = self.sources.len() - 1;
                let sources = std::array::from_fn(|v| self.sources[(start + v).min(end)]);
                let kept = |o: usize, v: usize| (start * OC + o * V + v) * ops.len();
                let mut sums = [[[ops.zero(); V]; OC]];
                if !is_first {
                    for (o, sums) in sums[0].iter_mut().enumerate() {
                        for (v, sum) in sums.iter_mut().enumerate() {
                            *sum = ops.load(&partial[kept(o, v)..]);
                        }
                    }
                }
                planes.add(isa, [sources], now, &mut sums);
                let [sums] = sums;
                if is_last {
                    sink.block(isa, first, vector + start, (end + 1 - start).min(V), &sums);
                    continue;
                }
                for (o, sums) in sums.iter().enumerate() {
                    for (v, &sum) in sums.iter().enumerate() {
                        ops.store(sum, &mut partial[kept(o, v)..]);
                    }
                }
            }
        }
    }
}

/// Planes of numbers, and what is read of each.
#[derive(Clone, Copy)]
pub(crate) struct Planes<'a> {
    pub(crate) numbers: &'a [f32],
    /// How many there are, and from one to the next.
    pub(crate) count: usize,
    pub(crate) distance: usize,
    pub(crate) taps: &'a Taps,
}

impl Planes<'_> {
    /// Adds weights times vectors, summed over planes and taps, to `P` sums for each of `OC` outputs in `V` vectors; `sources` are the places
    /// of vectors in the first plane. Weights are in the order planes × taps × `P` × `OC`.
    #[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
    #[expect(unsafe_code, reason = "checks in the innermost loop would take a third of the time")]
    #[inline(always)]
    pub(crate) fn add<I: Isa, const P: usize, const OC: usize, const V: usize>(
        self,
        isa: I,
        sources: [[usize; V]; P],
        weights: &[f32],
        totals: &mut [[[I::F32; V]; OC]; P],
    ) {
        let ops = isa.f32();
        let Taps { ref places, reach, weights: of_input } = *self.taps;
        // What would wrap is the largest number instead, and no slice is that long.
        let needed = self.count.saturating_mul(of_input).saturating_mul(P * OC);
        assert!(weights.len() >= needed, "there is a weight for every product");
        let last = self.count.saturating_sub(1).saturating_mul(self.distance);
        let end = last.saturating_add(reach).saturating_add(ops.len());
        let within = sources.iter().flatten().all(|s| s.saturating_add(end) <= self.numbers.len());
        assert!(within, "vectors lie in the planes");
        let mut sums = *totals;
        // SAFETY: `Taps::some` makes sure that tap < of_input and offset ≤ reach, and plane < count here. So the P · OC weights
        // from (plane · of_input + tap) · P · OC on are among the first count · of_input · P · OC, and there are as many; and a
        // vector at plane · distance + offset + source ends at most at source + end, which is within the numbers. Every
        // place is at most one of these bounds, so that none wraps.
        unsafe {
            // One tap, as in Winograd's products and windows of 1 × 1: a list of one would be read for every few products.
            if let [(tap, offset)] = places[..] {
                for plane in 0..self.count {
                    let weights = weights.as_ptr().add((plane * of_input + tap) * P * OC);
                    let numbers = self.numbers.as_ptr().add(plane * self.distance + offset);
                    multiply(isa, weights, numbers, sources, &mut sums);
                }
            } else {
                for plane in 0..self.count {
                    let weights = weights.as_ptr().add(plane * of_input * P * OC);
                    let numbers = self.numbers.as_ptr().add(plane * self.distance);
                    for &(tap, offset) in places {
                        let (weights, numbers) = (weights.add(tap * P * OC), numbers.add(offset));
                        multiply(isa, weights, numbers, sources, &mut sums);
                    }
                }
            }
        }
        *totals = sums;
    }
}

/// Adds `P` × `OC` weights times the vectors at `sources`.
///
/// # Safety
/// `weights` can be read for `P` · `OC` numbers, and `numbers` for a vector from each of `sources` on.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[expect(unsafe_code, reason = "checks in the innermost loop would take a third of the time")]
#[inline(always)]
unsafe fn multiply<I: Isa, const P: usize, const OC: usize, const V: usize>(
    isa: I,
    weights: *const f32,
    numbers: *const f32,
    sources: [[usize; V]; P],
    sums: &mut [[[I::F32; V]; OC]; P],
) {
    let ops = isa.f32();
    for (p, (sums, sources)) in sums.iter_mut().zip(sources).enumerate() {
        let mut values = [ops.zero(); V];
        for (value, source) in values.iter_mut().zip(sources) {
            // SAFETY: the caller lets a whole vector be read from every source on.
            *value = unsafe { ops.load_ptr(numbers.add(source)) };
        }
        for (o, sums) in sums.iter_mut().enumerate() {
            // SAFETY: p < P and o < OC, so that the place is below P · OC, the number of weights that the caller lets be read.
            let weight = ops.splat(unsafe { *weights.add(p * OC + o) });
            for (sum, &value) in sums.iter_mut().zip(&values) {
                *sum = ops.mul_add(value, weight, *sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rten_simd::SimdOp;

    use super::*;

    /// Adds planes of a size to one sum, from a source on.
    struct Add<'a> {
        planes: Planes<'a>,
        source: usize,
        weights: &'a [f32],
    }

    impl SimdOp for Add<'_> {
        type Output = f32;

        #[expect(clippy::inline_always, reason = "as elsewhere")]
        #[inline(always)]
        fn eval<I: Isa>(self, isa: I) -> f32 {
            let mut sums = [[[isa.f32().zero()]]];
            self.planes.add(isa, [[self.source]], self.weights, &mut sums);
            let mut first = [0.0; 16];
            isa.f32().store(sums[0][0][0], &mut first);
            first[0]
        }
    }

    /// The first entry of the sum of two planes of 16 numbers, of which one tap is read at `offset`.
    fn sum(count: usize, distance: usize, offset: usize, source: usize) -> f32 {
        let numbers: Vec<f32> = (0..48).map(|i| i as f32).collect();
        let taps = Taps::new(vec![offset]);
        let planes = Planes { numbers: &numbers, count, distance, taps: &taps };
        Add { planes, source, weights: &[1.0, 100.0] }.dispatch()
    }

    #[test]
    fn planes_are_read_at_their_distance() {
        assert_eq!(sum(2, 16, 3, 4).to_bits(), (7.0 + 100.0 * 23.0f32).to_bits());
    }

    /// A distance of which a few multiples make nothing, if they wrap.
    const WRAPS: usize = usize::MAX / 2 + 1;

    #[test]
    #[should_panic(expected = "there is a weight for every product")]
    fn more_planes_than_weights_are_refused() {
        sum(3, 0, 0, 0);
    }

    #[test]
    #[should_panic(expected = "there is a weight for every product")]
    fn a_number_of_weights_does_not_wrap() {
        let numbers = [0.0; 48];
        let taps = Taps::some(vec![(0, 0), (1, 0)], 2);
        let planes = Planes { numbers: &numbers, count: WRAPS, distance: 0, taps: &taps };
        Add { planes, source: 0, weights: &[] }.dispatch();
    }

    #[test]
    #[should_panic(expected = "vectors lie in the planes")]
    fn a_distance_of_planes_does_not_wrap() {
        let numbers = [0.0; 48];
        let taps = Taps::new(vec![0]);
        let planes = Planes { numbers: &numbers, count: 3, distance: WRAPS, taps: &taps };
        Add { planes, source: 0, weights: &[0.0; 3] }.dispatch();
    }

    #[test]
    #[should_panic(expected = "vectors lie in the planes")]
    fn the_reach_of_taps_does_not_wrap() {
        sum(2, 16, usize::MAX - 3, 4);
    }

    #[test]
    #[should_panic(expected = "vectors lie in the planes")]
    fn the_place_of_a_vector_does_not_wrap() {
        sum(2, 16, 3, usize::MAX - 3);
    }

    #[test]
    #[should_panic(expected = "vectors lie in the planes")]
    fn a_vector_beyond_the_last_plane_is_refused() {
        sum(2, 16, 0, 32);
    }
}
