use ndarray::Axis;

use super::{Picture, Plane, PlaneRef, each_channel};

/// What lies beyond the edge.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Border {
    /// The last pixel: a a a | a b c.
    Nearest,
    /// A mirror on the last pixel: c b | a b c.
    Mirror,
    /// A mirror behind the last pixel: b a | a b c.
    Reflect,
}

impl Border {
    /// The pixel of `size` that stands at a place which may lie beyond them.
    #[expect(clippy::cast_sign_loss, reason = "remainders and clamped numbers are not negative")]
    pub(in super::super) fn place(self, at: isize, size: usize) -> usize {
        let n = size as isize;
        let folded = match self {
            Self::Nearest => at.clamp(0, n - 1),
            Self::Mirror if n == 1 => 0,
            Self::Mirror => {
                let at = at.rem_euclid(2 * n - 2);
                at.min(2 * n - 2 - at)
            }
            Self::Reflect => {
                let at = at.rem_euclid(2 * n);
                at.min(2 * n - 1 - at)
            }
        };
        folded as usize
    }
}

/// A Gaussian filter, its tails cut at `truncate` standard deviations, as scipy's `gaussian_filter` has it.
pub(in super::super) fn gaussian(
    plane: &PlaneRef,
    sigma: f64,
    truncate: f64,
    border: Border,
) -> Plane {
    if sigma <= 0.0 {
        return plane.to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "a number of pixels")]
    let radius = (truncate * sigma + 0.5) as isize;
    let weights: Vec<f64> =
        (-radius..=radius).map(|i| (-0.5 * (i as f64 / sigma).powi(2)).exp()).collect();
    let total: f64 = weights.iter().sum();
    let weights: Vec<f64> = weights.iter().map(|w| w / total).collect();
    along(&along(plane, Axis(0), &weights, border), Axis(1), &weights, border)
}

/// [`gaussian`] of every channel as scikit-image's `gaussian` has it.
pub(in super::super) fn smooth(picture: &Picture, sigma: f64) -> Picture {
    each_channel(picture, |plane| gaussian(plane, sigma, 4.0, Border::Nearest))
}

/// The mean of three by three pixels.
pub(in super::super) fn box_of_three(plane: &PlaneRef) -> Plane {
    let weights = [1.0 / 3.0; 3];
    let rows = along(plane, Axis(0), &weights, Border::Mirror);
    along(&rows, Axis(1), &weights, Border::Mirror)
}

/// An odd number of weights along an axis.
fn along(plane: &PlaneRef, axis: Axis, weights: &[f64], border: Border) -> Plane {
    let half = weights.len() as isize / 2;
    let size = plane.len_of(axis);
    let mut out = Plane::zeros(plane.raw_dim());
    for (at, mut line) in out.axis_iter_mut(axis).enumerate() {
        for (k, &weight) in weights.iter().enumerate() {
            let from = border.place(at as isize + k as isize - half, size);
            line.scaled_add(weight, &plane.index_axis(axis, from));
        }
    }
    out
}

/// Correlation with a square of weights of odd size.
pub(in super::super) fn correlate(plane: &PlaneRef, kernel: &Plane, border: Border) -> Plane {
    let (height, width) = plane.dim();
    let half = kernel.nrows() as isize / 2;
    Plane::from_shape_fn((height, width), |(y, x)| {
        let mut sum = 0.0;
        for ((i, j), &weight) in kernel.indexed_iter() {
            if weight != 0.0 {
                let row = border.place(y as isize + i as isize - half, height);
                let column = border.place(x as isize + j as isize - half, width);
                sum += weight * plane[[row, column]];
            }
        }
        sum
    })
}
