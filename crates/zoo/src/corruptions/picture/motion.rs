use super::{Border, Plane, PlaneRef};

/// The motion blur of `ImageMagick`: a one-sided Gaussian along a line of 2·radius + 1 whole pixels, the last pixel beyond
/// the edge. The angle is in degrees, clockwise from the right.
pub(in super::super) fn motion(plane: &PlaneRef, radius: usize, sigma: f64, degrees: f64) -> Plane {
    let (height, width) = plane.dim();
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let taps: Vec<(f64, isize, isize)> = (0..=2 * radius)
        .map(|i| {
            let far = i as f64;
            let weight = (-0.5 * (far / sigma).powi(2)).exp();
            (weight, whole(far * sine), whole(far * cosine))
        })
        .collect();
    let total: f64 = taps.iter().map(|t| t.0).sum();
    let mut out = Plane::zeros((height, width));
    for &(weight, down, right) in &taps {
        let rows: Vec<usize> =
            (0..height).map(|y| Border::Nearest.place(y as isize + down, height)).collect();
        let columns: Vec<usize> =
            (0..width).map(|x| Border::Nearest.place(x as isize + right, width)).collect();
        for (y, &row) in rows.iter().enumerate() {
            for (x, &column) in columns.iter().enumerate() {
                out[[y, x]] += weight / total * plane[[row, column]];
            }
        }
    }
    out
}

/// The nearest whole number, halves down.
#[expect(clippy::cast_possible_truncation, reason = "a number of pixels")]
fn whole(v: f64) -> isize {
    (v - 0.5).ceil() as isize
}
