//! Linear maps of planes that act on rows and columns apart: blurs, means of neighbours, changes of size.

use ndarray::{Array2, linalg::general_mat_mul};
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use crate::evidence::density::stored;

/// One matrix for the rows of a plane and one for its columns, each with a row for every place of the result.
#[derive(Clone, Debug)]
pub(super) struct Planes {
    down: Array2<f64>,
    across: Array2<f64>,
}

impl Planes {
    /// A Gaussian blur.
    pub(super) fn blur([height, width]: [usize; 2], deviation: f64) -> Self {
        let weight = |distance: f64| (-0.5 * (distance / deviation).powi(2)).exp();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
        let reach = (4.0 * deviation).ceil() as usize;
        Self { down: window(height, reach, weight), across: window(width, reach, weight) }
    }

    /// Means of 3 × 3 neighbours.
    pub(super) fn neighbours([height, width]: [usize; 2]) -> Self {
        Self { down: window(height, 1, |_| 1.0), across: window(width, 1, |_| 1.0) }
    }

    /// Bilinear interpolation to another size, pixels being squares.
    pub(super) fn resized(from: [usize; 2], to: [usize; 2]) -> Self {
        Self { down: interpolation(from[0], to[0]), across: interpolation(from[1], to[1]) }
    }

    /// This one and then another.
    pub(super) fn then(&self, next: &Self) -> Self {
        let after = |a: &Array2<f64>, b: &Array2<f64>| {
            let mut product = Array2::zeros((b.nrows(), a.ncols()));
            general_mat_mul(1.0, b, a, 0.0, &mut product);
            product
        };
        Self { down: after(&self.down, &next.down), across: after(&self.across, &next.across) }
    }

    /// Of planes N × C × height × width.
    pub(super) fn apply(&self, b: &mut Build<'_>, planes: Id) -> Result<Id, OpError> {
        let down = stored(b, &self.down)?;
        let across = stored(b, &self.across.t().as_standard_layout().into_owned())?;
        let rows = functions::matmul(b, planes, across)?;
        functions::matmul(b, down, rows)
    }
}

/// Weighted means of what is within reach; beyond the edge lies what is at the edge.
fn window(size: usize, reach: usize, weight: impl Fn(f64) -> f64) -> Array2<f64> {
    let mut matrix = Array2::zeros((size, size));
    let total: f64 = (0..=2 * reach).map(|k| weight(k as f64 - reach as f64)).sum();
    for i in 0..size {
        for k in 0..=2 * reach {
            let at = (i + k).saturating_sub(reach).min(size - 1);
            matrix[[i, at]] += weight(k as f64 - reach as f64) / total;
        }
    }
    matrix
}

fn interpolation(from: usize, to: usize) -> Array2<f64> {
    let mut matrix = Array2::zeros((to, from));
    let last = from.saturating_sub(1);
    for i in 0..to {
        let place = ((i as f64 + 0.5) * from as f64 / to as f64 - 0.5).clamp(0.0, last as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let left = place.floor() as usize;
        let share = place - left as f64;
        matrix[[i, left]] += 1.0 - share;
        matrix[[i, (left + 1).min(last)]] += share;
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_equal_everywhere_stays_so_and_a_ramp_stays_a_ramp() {
        let all = [
            Planes::blur([9, 14], 2.0),
            Planes::neighbours([9, 14]),
            Planes::resized([9, 14], [30, 5]),
            Planes::resized([9, 14], [3, 3]).then(&Planes::blur([3, 3], 1.0)),
        ];
        for planes in &all {
            for matrix in [&planes.down, &planes.across] {
                assert!(matrix.outer_iter().all(|row| (row.sum() - 1.0).abs() < 1e-12));
            }
        }
        let ramp = ndarray::Array1::from_iter((0..14).map(f64::from));
        let finer = interpolation(14, 28).dot(&ramp);
        // Pixels of half the size: their middles lie a quarter of a pixel beside those of the larger ones.
        assert!((1..27).all(|i| (finer[i] - (i as f64 / 2.0 - 0.25)).abs() < 1e-12), "{finer}");
        let blurred = window(14, 4, |d| (-0.5 * d * d).exp()).dot(&ramp);
        assert!((4..10).all(|i| (blurred[i] - ramp[i]).abs() < 1e-12), "{blurred}");
    }
}
