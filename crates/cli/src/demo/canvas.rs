//! Small grey images: bright strokes upon black, and what can happen to them.

use ndarray::Array2;

/// The height and width of an image.
pub(super) const SIDE: usize = 16;

/// A place: to the right, then down.
pub(super) type Point = [f64; 2];

/// An image without any stroke.
pub(super) fn black() -> Array2<f32> {
    Array2::zeros((SIDE, SIDE))
}

/// Draws lines through points, given in pixels. Where strokes meet, the brighter one is seen.
pub(super) fn stroke(image: &mut Array2<f32>, line: &[Point], thickness: f64, ink: f64) {
    for ((row, column), value) in image.indexed_iter_mut() {
        let at = [column as f64 + 0.5, row as f64 + 0.5];
        let distance =
            line.windows(2).map(|ends| to_segment(at, ends[0], ends[1])).fold(f64::MAX, f64::min);
        let covered = (thickness / 2.0 + 0.5 - distance).clamp(0.0, 1.0);
        *value = value.max(single(covered * ink));
    }
}

/// The distance of a point from the straight line between two others.
fn to_segment(p: Point, from: Point, to: Point) -> f64 {
    let along = [to[0] - from[0], to[1] - from[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    let off = [p[0] - from[0], p[1] - from[1]];
    let part = if square > 0.0 {
        ((off[0] * along[0] + off[1] * along[1]) / square).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (off[0] - part * along[0]).hypot(off[1] - part * along[1])
}

/// A Gaussian blur of this deviation in pixels; beyond the border all is black.
pub(super) fn blur(image: &Array2<f32>, deviation: f64) -> Array2<f32> {
    let weight = |a: usize, b: usize| {
        let apart = a.abs_diff(b) as f64 / deviation;
        (-0.5 * apart * apart).exp()
    };
    // The weights of a point in the middle of an image without borders.
    let all: f64 = (0..=6 * SIDE).map(|at| weight(at, 3 * SIDE)).sum();
    let kernel = Array2::from_shape_fn((SIDE, SIDE), |(a, b)| single(weight(a, b) / all));
    kernel.dot(image).dot(&kernel)
}

/// Makes a square black.
pub(super) fn cover(image: &mut Array2<f32>, [left, top]: [usize; 2], side: usize) {
    for ((row, column), value) in image.indexed_iter_mut() {
        if (top..top + side).contains(&row) && (left..left + side).contains(&column) {
            *value = 0.0;
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "images are single precision")]
pub(super) fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stroke_covers_its_own_area() {
        let mut image = black();
        stroke(&mut image, &[[3.0, 8.0], [13.0, 8.0]], 2.0, 0.8);
        assert!((image[[7, 8]] - 0.8).abs() < 1e-6 && (image[[8, 8]] - 0.8).abs() < 1e-6);
        assert!(image[[5, 8]] == 0.0 && image[[8, 0]] == 0.0);
        // Ten pixels long, two thick, with a round end of radius one at each side.
        let area = f64::from(image.sum()) / 0.8;
        assert!((area - (20.0 + std::f64::consts::PI)).abs() < 1.5, "{area}");
    }

    #[test]
    fn a_blur_keeps_the_light_and_spreads_it() {
        let mut image = black();
        image[[8, 8]] = 1.0;
        let soft = blur(&image, 1.2);
        assert!((soft.sum() - 1.0).abs() < 1e-3, "{}", soft.sum());
        assert!(soft[[8, 8]] < 0.2 && soft[[8, 9]] > 0.05);
        assert!((soft[[8, 6]] - soft[[10, 8]]).abs() < 1e-6);
    }

    #[test]
    fn a_cover_is_black_and_leaves_the_rest() {
        let mut image = Array2::ones((SIDE, SIDE));
        cover(&mut image, [2, 3], 5);
        assert!((image.sum() - (256.0 - 25.0)).abs() < 1e-6);
        assert!(image[[3, 2]] == 0.0 && image[[2, 3]] > 0.0);
    }
}
