//! Sizes that may depend on the batch.

use std::fmt;

/// An integer that is affine in the batch size N: `per_batch · N + fixed`.
///
/// Shapes, and the integers that exporters compute from shapes, have this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// The factor of N.
    pub per_batch: i64,
    /// The part that does not depend on N.
    pub fixed: i64,
}

/// Batch sizes at which facts and shape arithmetic are evaluated; three points determine an affine
/// integer and check it. Large primes, so that a batch is not mistaken for a layer's width.
pub(crate) const WORLDS: [usize; 3] = [1009, 1013, 1019];
/// Shape arithmetic is evaluated at small batch sizes too: what a large batch leaves out (`min(N, 8)`, `N mod 2`)
/// must not pass for a number that no batch changes.
pub(crate) const ALL_WORLDS: [usize; 5] = [WORLDS[0], WORLDS[1], WORLDS[2], 1, 2];

impl Dim {
    /// The batch size itself.
    pub const BATCH: Self = Self { per_batch: 1, fixed: 0 };

    /// A size that does not depend on the batch.
    pub fn fixed(size: usize) -> Self {
        Self { per_batch: 0, fixed: i64::try_from(size).unwrap_or(i64::MAX) }
    }

    /// Whether the batch size enters.
    pub fn depends_on_batch(self) -> bool {
        self.per_batch != 0
    }

    /// The value, if it is the same for every batch size.
    pub fn as_fixed(self) -> Option<i64> {
        (self.per_batch == 0).then_some(self.fixed)
    }

    /// The value for a batch of `batch`; sizes below zero do not occur in a valid shape.
    pub fn at(self, batch: usize) -> usize {
        usize::try_from(self.value_at(batch)).unwrap_or(0)
    }

    /// The value for a batch of `batch`, with its sign.
    pub fn value_at(self, batch: usize) -> i64 {
        let batch = i64::try_from(batch).unwrap_or(i64::MAX);
        self.per_batch.saturating_mul(batch).saturating_add(self.fixed)
    }

    /// The affine integer with these values at `WORLDS`, if there is one.
    pub fn fit(values: [i64; 3]) -> Option<Self> {
        let [n0, n1, _] = WORLDS;
        let (run, rise) = ((n1 - n0) as i64, values[1].checked_sub(values[0])?);
        if rise % run != 0 {
            return None;
        }
        let per_batch = rise / run;
        let fixed = values[0].checked_sub(per_batch.checked_mul(n0 as i64)?)?;
        let dim = Self { per_batch, fixed };
        (0..3).all(|w| dim.value_at(WORLDS[w]) == values[w]).then_some(dim)
    }

    /// The sign, if it is the same for every batch size: an affine integer has no other extremes than its ends.
    pub(crate) fn sign(self) -> Option<i64> {
        let smallest = self.value_at(1).signum();
        let largest = if self.per_batch == 0 { self.fixed } else { self.per_batch }.signum();
        (smallest == largest).then_some(smallest)
    }

    /// N replaced by `factor · N + offset`. Sizes beyond 64 bits stay at the end of the range, where every
    /// shape is refused.
    #[must_use]
    pub fn with_batch(self, batch: Self) -> Self {
        Self {
            per_batch: self.per_batch.saturating_mul(batch.per_batch),
            fixed: self.per_batch.saturating_mul(batch.fixed).saturating_add(self.fixed),
        }
    }
}

impl From<usize> for Dim {
    fn from(size: usize) -> Self {
        Self::fixed(size)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.per_batch, self.fixed) {
            (0, fixed) => write!(f, "{fixed}"),
            (1, 0) => write!(f, "N"),
            (k, 0) => write!(f, "{k}·N"),
            (1, fixed) => write!(f, "N{fixed:+}"),
            (k, fixed) => write!(f, "{k}·N{fixed:+}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_worlds_determine_an_affine_size() {
        for dim in [Dim::BATCH, Dim::fixed(7), Dim { per_batch: 4, fixed: -1 }] {
            assert_eq!(Dim::fit(WORLDS.map(|n| dim.value_at(n))), Some(dim));
        }
        let square = WORLDS.map(|n| (n * n) as i64);
        assert_eq!(Dim::fit(square), None);
    }

    #[test]
    fn a_sign_holds_for_every_batch_or_is_unknown() {
        let sign = |per_batch, fixed| Dim { per_batch, fixed }.sign();
        assert_eq!([sign(1, 1), sign(0, 0), sign(-2, 1)], [Some(1), Some(0), Some(-1)]);
        assert_eq!([sign(1, -1), sign(1, -5000), sign(-1, 7)], [None; 3]);
    }

    #[test]
    fn a_batch_can_be_replaced() {
        let dim = Dim { per_batch: 3, fixed: 2 };
        assert_eq!(dim.with_batch(Dim::fixed(1)), Dim::fixed(5));
        assert_eq!(dim.to_string(), "3·N+2");
        let large = Dim { per_batch: i64::MAX, fixed: 2 };
        assert_eq!(large.with_batch(Dim { per_batch: 2, fixed: 3 }).fixed, i64::MAX);
    }
}
