//! Where a score lies among calibration scores.

use serde::{Deserialize, Serialize};
use taste_stats::conformal::Calibration;

/// The rank of a score among n calibration scores, counted from the largest: 1 is beyond all of them, n + 1 below all.
/// With ties it is an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rank {
    /// 1 + the number of calibration scores above it.
    pub low: usize,
    /// 1 + the number of calibration scores at or above it; (n + 1) times the conformal p-value.
    pub high: usize,
}

impl Rank {
    /// The rank of a score. A score that is no number is as far out as any.
    pub fn of(score: f64, calibration: &Calibration) -> Self {
        let ascending = calibration.scores();
        if score.is_nan() {
            return Self::single(1);
        }
        let at_or_above = ascending.len() - ascending.partition_point(|&s| s < score);
        let above = ascending.len() - ascending.partition_point(|&s| s <= score);
        Self { low: 1 + above, high: 1 + at_or_above }
    }

    /// A rank without ties.
    pub const fn single(rank: usize) -> Self {
        Self { low: rank, high: rank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_make_intervals_and_what_is_no_number_is_furthest_out() {
        let calibration = Calibration::new([1.0, 2.0, 2.0, 3.0]);
        let rank = |score| {
            let Rank { low, high } = Rank::of(score, &calibration);
            (low, high)
        };
        assert_eq!([rank(4.0), rank(3.0), rank(2.5)], [(1, 1), (1, 2), (2, 2)]);
        assert_eq!([rank(2.0), rank(0.0), rank(f64::NAN)], [(2, 4), (5, 5), (1, 1)]);
        assert_eq!(rank(f64::INFINITY), (1, 1));
    }
}
