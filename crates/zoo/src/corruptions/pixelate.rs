use ndarray::Axis;

use super::{
    Act, Corruption, Suite,
    picture::{Plane, PlaneRef, each_channel},
};

const FACTORS: [f64; 5] = [0.95, 0.9, 0.85, 0.75, 0.65];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "pixelate",
    "fewer pixels, enlarged again (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, _| {
        each_channel(picture, |plane| {
            let (height, width) = plane.dim();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "numbers of pixels"
            )]
            let small = |size: usize| ((size as f64 * FACTORS[level]) as usize).max(1);
            let few = resized(plane, small(height), small(width));
            resized(&few, height, width)
        })
    })
);

/// Means over the pixels whose middle lies within the new pixel, or the nearest; bytes, as Pillow's box filter has them.
fn resized(plane: &PlaneRef, height: usize, width: usize) -> Plane {
    let wide = along(plane, Axis(1), width);
    along(&wide, Axis(0), height)
}

fn along(plane: &PlaneRef, axis: Axis, size: usize) -> Plane {
    let before = plane.len_of(axis);
    let scale = before as f64 / size as f64;
    let half = 0.5 * scale.max(1.0);
    let mut shape = plane.raw_dim();
    shape[axis.index()] = size;
    let mut out = Plane::zeros(shape);
    for (at, mut line) in out.axis_iter_mut(axis).enumerate() {
        let middle = (at as f64 + 0.5) * scale;
        let within = |i: &usize| {
            let far = *i as f64 + 0.5 - middle;
            far > -half && far <= half
        };
        let taken: Vec<usize> = (0..before).filter(within).collect();
        for &i in &taken {
            line += &plane.index_axis(axis, i);
        }
        let count = taken.len().max(1) as f64;
        // Halves go up, whatever the rounding of the sum.
        line.mapv_inplace(|v| (255.0 * v / count + 0.5 + 1e-6).floor() / 255.0);
    }
    out
}
