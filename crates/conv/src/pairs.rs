//! Neighbours taken apart and brought together again.

use rten_simd::{Isa, ops::BitOps};

/// The first and the second numbers of the pairs of two vectors. Every four entries of a result have two pairs of each vector, as
/// processors shuffle four numbers at a time most easily.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn apart<I: Isa>(isa: I, both: [I::F32; 2]) -> [I::F32; 2] {
    shuffle(isa, both, |_, second, i| (i % 4 / 2, 2 * (i / 4 * 2 + i % 2) + second))
}

/// The vectors that [`apart`] took apart.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn together<I: Isa>(isa: I, both: [I::F32; 2]) -> [I::F32; 2] {
    shuffle(isa, both, |_, second, i| (i % 2, i / 4 * 4 + i % 4 / 2 + 2 * second))
}

/// Numbers of two vectors by turns: those of their first halves, then those of their second halves.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn by_turns<I: Isa>(isa: I, both: [I::F32; 2]) -> [I::F32; 2] {
    shuffle(isa, both, |length, second, i| (i % 2, second * length / 2 + i / 2))
}

/// The first and the second numbers of the pairs of two vectors, in order.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
pub(crate) fn halves<I: Isa>(isa: I, both: [I::F32; 2]) -> [I::F32; 2] {
    shuffle(isa, both, |length, second, i| (2 * i / length, 2 * i % length + second))
}

/// Two vectors whose entries are picked from two others: for the length of vectors, a vector and an entry of it, the vector and the entry
/// there.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn shuffle<I: Isa>(
    isa: I,
    both: [I::F32; 2],
    pick: impl Fn(usize, usize, usize) -> (usize, usize),
) -> [I::F32; 2] {
    match isa.f32().len() {
        16 => shuffle_by::<I, 16>(isa, both, pick),
        8 => shuffle_by::<I, 8>(isa, both, pick),
        _ => shuffle_by::<I, 4>(isa, both, pick),
    }
}

/// Arrays of a known length become registers, and this a few instructions.
#[expect(clippy::inline_always, reason = "vector instructions are compiled where it is called")]
#[inline(always)]
fn shuffle_by<I: Isa, const L: usize>(
    isa: I,
    both: [I::F32; 2],
    pick: impl Fn(usize, usize, usize) -> (usize, usize),
) -> [I::F32; 2] {
    let ops = isa.f32();
    let mut from = [[0.0; L]; 2];
    ops.store(both[0], &mut from[0]);
    ops.store(both[1], &mut from[1]);
    let mut into = [[0.0; L]; 2];
    for (vector, into) in into.iter_mut().enumerate() {
        for (i, number) in into.iter_mut().enumerate() {
            let (vector, i) = pick(L, vector, i);
            *number = from[vector][i];
        }
    }
    [ops.load(&into[0]), ops.load(&into[1])]
}

#[cfg(test)]
mod tests {
    use rten_simd::SimdOp;

    use super::*;

    /// What becomes of 0, 1, 2, … and 100, 101, 102, …
    struct Shuffles;

    impl SimdOp for Shuffles {
        type Output = [[Vec<f32>; 2]; 3];

        #[expect(clippy::inline_always, reason = "as elsewhere")]
        #[inline(always)]
        fn eval<I: Isa>(self, isa: I) -> Self::Output {
            let ops = isa.f32();
            let numbers: Vec<f32> = (0..116).map(|i| i as f32).collect();
            let both = [ops.load(&numbers), ops.load(&numbers[100..])];
            let list = |vectors: [I::F32; 2]| {
                vectors.map(|v| {
                    let mut list = vec![0.0; ops.len()];
                    ops.store(v, &mut list);
                    list
                })
            };
            let divided = apart(isa, both);
            [list(divided), list(together(isa, divided)), list(by_turns(isa, both))]
        }
    }

    #[test]
    fn pairs_are_divided_and_brought_back() {
        let [[first, second], [a, b], turns] = Shuffles.dispatch();
        let length = a.len();
        let next: Vec<f32> = first.iter().map(|f| f + 1.0).collect();
        assert!(first.iter().all(|f| f % 2.0 == 0.0) && second == next);
        assert_eq!(a, (0..length).map(|i| i as f32).collect::<Vec<_>>());
        assert_eq!(b, (0..length).map(|i| 100.0 + i as f32).collect::<Vec<_>>());
        let turns = turns.concat();
        assert!(turns.chunks(2).enumerate().all(|(i, t)| t == [i as f32, 100.0 + i as f32]));
    }
}
