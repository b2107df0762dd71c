//! What changes are drawn from: the same for the same seed.

use taste_stats::random::Random;

/// Integers that break arithmetic.
const INTS: &[i64] = &[
    0,
    1,
    -1,
    2,
    -2,
    3,
    4,
    5,
    7,
    8,
    9,
    16,
    64,
    100,
    1000,
    1009,
    4096,
    1 << 16,
    1 << 20,
    1 << 24,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    1 << 33,
    -(1 << 31),
    1 << 40,
    1 << 53,
    1 << 62,
    -(1 << 62),
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    i64::MIN + 1,
];
const FLOATS: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-30,
    1e30,
    -1e30,
    1e-7,
    3.7,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Random choices of one change.
pub(crate) struct Draws(Random);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// A number in 0..`n`; 0 where `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    pub(crate) fn pick_mut<'a, T>(&mut self, of: &'a mut [T]) -> Option<&'a mut T> {
        let n = self.below(of.len());
        of.get_mut(n)
    }

    /// An integer that is near another, small, or breaks arithmetic.
    pub(crate) fn int(&mut self, near: i64) -> i64 {
        match self.below(4) {
            0 => near.wrapping_add(self.below(7) as i64 - 3),
            1 => self.below(6) as i64,
            _ => INTS[self.below(INTS.len())],
        }
    }

    pub(crate) fn float(&mut self) -> f32 {
        FLOATS[self.below(FLOATS.len())]
    }
}
