//! Several vectors that lie apart, with one check for all of them.

use rten_simd::{Isa, ops::BitOps};

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
    assert!(at + N.saturating_sub(1) * distance + ops.len() <= numbers.len(), "vectors lie within");
    let mut vectors = [ops.zero(); N];
    for (i, vector) in vectors.iter_mut().enumerate() {
        // SAFETY: i < N, so that the vector ends within the numbers.
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
    assert!(at + N.saturating_sub(1) * distance + ops.len() <= numbers.len(), "vectors lie within");
    for (i, &vector) in vectors.iter().enumerate() {
        // SAFETY: i < N, so that the vector ends within the numbers.
        unsafe { ops.store_ptr(vector, numbers.as_mut_ptr().add(at + i * distance)) };
    }
}
