//! Several vectors that lie apart, with one check for all of them.

use rten_simd::{Isa, ops::BitOps};

/// Panics unless `N` vectors of `length` lie within so many numbers, the first at `at` and each `distance` behind the one before.
#[expect(clippy::inline_always, reason = "what does not change is computed outside of loops")]
#[inline(always)]
fn check<const N: usize>(length: usize, numbers: usize, at: usize, distance: usize) {
    // What would wrap is the largest number instead, and no slice is that long.
    let taken = N.saturating_sub(1).saturating_mul(distance).saturating_add(length);
    assert!(at.saturating_add(taken) <= numbers, "vectors lie within");
}

/// Reads `N` vectors, the first at `at` and each `distance` behind the one before.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[expect(unsafe_code, reason = "a check for every vector would cost as much as its arithmetic")]
#[inline(always)]
pub(crate) fn load<I: Isa, const N: usize>(
    isa: I,
    numbers: &[f32],
    at: usize,
    distance: usize,
) -> [I::F32; N] {
    let ops = isa.f32();
    check::<N>(ops.len(), numbers.len(), at, distance);
    let mut vectors = [ops.zero(); N];
    for (i, vector) in vectors.iter_mut().enumerate() {
        // SAFETY: i < N, so that the vector ends at most at at + (N − 1) · distance + its length, which `check` found within
        // the numbers.
        *vector = unsafe { ops.load_ptr(numbers.as_ptr().add(at + i * distance)) };
    }
    vectors
}

/// Writes `N` vectors, the first to `at` and each `distance` behind the one before.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[expect(unsafe_code, reason = "a check for every vector would cost as much as its arithmetic")]
#[inline(always)]
pub(crate) fn store<I: Isa, const N: usize>(
    isa: I,
    numbers: &mut [f32],
    at: usize,
    distance: usize,
    vectors: &[I::F32; N],
) {
    let ops = isa.f32();
    check::<N>(ops.len(), numbers.len(), at, distance);
    for (i, &vector) in vectors.iter().enumerate() {
        // SAFETY: i < N, so that the vector ends at most at at + (N − 1) · distance + its length, which `check` found within
        // the numbers.
        unsafe { ops.store_ptr(vector, numbers.as_mut_ptr().add(at + i * distance)) };
    }
}

#[cfg(test)]
mod tests {
    use rten_simd::SimdOp;

    use super::*;

    /// Reads three vectors and writes them back, one behind the next.
    struct Move<'a> {
        from: &'a [f32],
        at: usize,
        distance: usize,
        into: &'a mut [f32],
        to: (usize, usize),
    }

    impl SimdOp for Move<'_> {
        type Output = usize;

        #[expect(clippy::inline_always, reason = "as elsewhere")]
        #[inline(always)]
        fn eval<I: Isa>(self, isa: I) -> usize {
            let vectors: [I::F32; 3] = load(isa, self.from, self.at, self.distance);
            store(isa, self.into, self.to.0, self.to.1, &vectors);
            isa.f32().len()
        }
    }

    fn moved(at: usize, distance: usize, to: (usize, usize)) -> (usize, Vec<f32>) {
        let from: Vec<f32> = (0..64).map(|i| i as f32).collect();
        let mut into = vec![-1.0; 64];
        let length = Move { from: &from, at, distance, into: &mut into, to }.dispatch();
        (length, into)
    }

    #[test]
    fn vectors_are_read_and_written_at_their_distances() {
        let (length, into) = moved(1, 2, (5, 16));
        for (i, start) in [5, 21, 37].into_iter().enumerate() {
            let wanted: Vec<f32> = (0..length).map(|lane| (1 + 2 * i + lane) as f32).collect();
            assert_eq!(into[start..start + length], wanted);
        }
    }

    #[test]
    #[should_panic(expected = "vectors lie within")]
    fn vectors_beyond_the_end_are_not_read() {
        moved(63, 0, (0, 16));
    }

    #[test]
    #[should_panic(expected = "vectors lie within")]
    fn places_to_read_do_not_wrap() {
        moved(usize::MAX - 3, 2, (0, 16));
    }

    #[test]
    #[should_panic(expected = "vectors lie within")]
    fn distances_to_read_do_not_wrap() {
        moved(0, usize::MAX / 2 + 1, (0, 16));
    }

    #[test]
    #[should_panic(expected = "vectors lie within")]
    fn places_to_write_do_not_wrap() {
        moved(0, 2, (usize::MAX - 3, 16));
    }

    #[test]
    #[should_panic(expected = "vectors lie within")]
    fn distances_to_write_do_not_wrap() {
        moved(0, 2, (0, usize::MAX / 2 + 1));
    }
}
