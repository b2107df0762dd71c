//! Images of another size, as PIL and with it torchvision make them: filters that widen when an image shrinks, and bytes
//! that are rounded after each of the two directions.

use ndarray::{Array2, Array3, ArrayD, ArrayView2, ArrayView3, Axis, Ix3, IxDyn};
use rayon::prelude::*;

use crate::Filter;

/// The pixels that one pixel of the result is made of.
struct Taps {
    first: usize,
    weights: Vec<f64>,
}

/// How far a filter reaches in pixels of the larger image, and its weight there.
fn kernel(filter: Filter) -> (f64, fn(f64) -> f64) {
    match filter {
        Filter::Bilinear | Filter::Nearest => (1.0, |x| (1.0 - x.abs()).max(0.0)),
        // R. Keys, Cubic convolution interpolation for digital image processing, 1981, with a = −1/2.
        Filter::Bicubic => (2.0, |x| {
            let x = x.abs();
            if x < 1.0 {
                (1.5 * x - 2.5) * x * x + 1.0
            } else if x < 2.0 {
                ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
            } else {
                0.0
            }
        }),
    }
}

/// For every pixel of the result along one axis, what it is made of.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positions within the image"
)]
fn taps(from: usize, to: usize, filter: Filter) -> Vec<Taps> {
    let scale = from as f64 / to as f64;
    let (support, weight) = kernel(filter);
    let widened = scale.max(1.0);
    if filter == Filter::Nearest {
        // Pillow adds the scale up, and what falls on an edge falls as that rounds.
        let mut centre = 0.5 * scale;
        let step = |_| {
            let first = (centre as usize).min(from - 1);
            centre += scale;
            Taps { first, weights: vec![1.0] }
        };
        return (0..to).map(step).collect();
    }
    let tap = |target: usize| {
        let centre = (target as f64 + 0.5) * scale;
        let reach = support * widened;
        let first = (centre - reach + 0.5).max(0.0) as usize;
        let end = ((centre + reach + 0.5) as usize).min(from);
        let weights: Vec<f64> =
            (first..end).map(|i| weight((i as f64 - centre + 0.5) / widened)).collect();
        let sum: f64 = weights.iter().sum();
        Taps { first, weights: weights.iter().map(|w| w / sum).collect() }
    };
    (0..to).map(tap).collect()
}

/// How numbers are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Whole numbers from 0 to 255, which come out as such.
    Bytes,
    /// Any numbers.
    Floats,
}

/// An image (C × H × W) in another size.
pub(crate) fn resize(
    image: &ArrayView3<'_, f32>,
    (height, width): (usize, usize),
    filter: Filter,
    depth: Depth,
) -> Array3<f32> {
    let (channels, h, w) = image.dim();
    let (rows, columns) = (taps(h, height, filter), taps(w, width, filter));
    let wide = |plane: &Array2<f32>| filtered(&plane.view(), &columns, depth);
    let high = |plane: &Array2<f32>| filtered(&plane.t(), &rows, depth).t().to_owned();
    let mut resized = Array3::zeros((channels, height, width));
    for (from, mut to) in image.outer_iter().zip(resized.outer_iter_mut()) {
        let mut plane = from.to_owned();
        // Bytes are rounded in between, so the order matters. Pillow 13 begins with the height where more than twice as many
        // rows as columns go; that was found by trying.
        if height < h && (h - height) as f64 > 2.0 * (w as f64 - width as f64) {
            plane = high(&plane);
            if w != width {
                plane = wide(&plane);
            }
        } else {
            if w != width {
                plane = wide(&plane);
            }
            if h != height {
                plane = high(&plane);
            }
        }
        to.assign(&plane);
    }
    resized
}

/// Bits behind the point of the weights for bytes: sums of 255 times weights with some overshoot stay within 32 bits.
const BITS: u32 = 22;

/// Applies the taps along the second axis.
fn filtered(plane: &ArrayView2<'_, f32>, taps: &[Taps], depth: Depth) -> Array2<f32> {
    let plane = plane.as_standard_layout();
    let mut result = Array2::zeros((plane.nrows(), taps.len()));
    match depth {
        Depth::Bytes => {
            let whole: Vec<(usize, Vec<i32>)> = taps.iter().map(fixed).collect();
            for (from, mut to) in plane.outer_iter().zip(result.outer_iter_mut()) {
                let from: Vec<i32> = from.iter().map(|&v| byte(v)).collect();
                for (target, (first, weights)) in to.iter_mut().zip(&whole) {
                    let sum: i32 = from[*first..].iter().zip(weights).map(|(p, w)| p * w).sum();
                    *target = ((sum + (1 << (BITS - 1))) >> BITS).clamp(0, 255) as f32;
                }
            }
        }
        Depth::Floats => {
            for (from, mut to) in plane.outer_iter().zip(result.outer_iter_mut()) {
                for (target, tap) in to.iter_mut().zip(taps) {
                    let pixels = from.iter().skip(tap.first);
                    let sum: f64 = pixels.zip(&tap.weights).map(|(p, w)| f64::from(*p) * w).sum();
                    *target = single(sum);
                }
            }
        }
    }
    result
}

/// Weights as whole numbers, rounded away from zero where they lie between two.
#[expect(clippy::cast_possible_truncation, reason = "weights are below 2 in size")]
fn fixed(tap: &Taps) -> (usize, Vec<i32>) {
    let whole = |w: &f64| (w * f64::from(1 << BITS)).round() as i32;
    (tap.first, tap.weights.iter().map(whole).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to a byte")]
fn byte(value: f32) -> i32 {
    value.round().clamp(0.0, 255.0) as i32
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to single precision")]
fn single(value: f64) -> f32 {
    value as f32
}

/// Images (N × C × H × W) in another size.
pub(super) fn all(
    images: &ArrayD<f32>,
    (height, width): (usize, usize),
    filter: Filter,
    depth: Depth,
) -> ArrayD<f32> {
    let &[n, channels, ..] = images.shape() else { return images.clone() };
    let mut resized = ArrayD::zeros(IxDyn(&[n, channels, height, width]));
    let from: Vec<_> = images.outer_iter().collect();
    let to: Vec<_> = resized.axis_iter_mut(Axis(0)).collect();
    taste_threads::within(|| {
        from.into_par_iter().zip(to).for_each(|(from, mut to)| {
            if let Ok(image) = from.into_dimensionality::<Ix3>() {
                to.assign(&resize(&image, (height, width), filter, depth));
            }
        });
    });
    resized
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    const FILTERS: [Filter; 3] = [Filter::Bilinear, Filter::Bicubic, Filter::Nearest];

    #[test]
    fn shrinking_averages_and_growing_interpolates() {
        // Pillow 13.0.0: Image.fromarray(np.float32([[0, 1, 2, 3]])).resize((2, 1), BILINEAR),
        // and of [[0, 4]] to (4, 1).
        let ramp = array![[[0.0f32, 1.0, 2.0, 3.0]]];
        let floats = |image: &Array3<f32>, size| {
            resize(&image.view(), size, Filter::Bilinear, Depth::Floats)
        };
        let small = floats(&ramp, (1, 2));
        assert!((small[[0, 0, 0]] - 0.714_285_7).abs() < 1e-6, "{small}");
        assert!((small[[0, 0, 1]] - 2.285_714_3).abs() < 1e-6, "{small}");
        let large = floats(&array![[[0.0f32, 4.0]]], (1, 4));
        assert_eq!(large, array![[[0.0, 1.0, 3.0, 4.0]]]);
    }

    #[test]
    fn a_constant_stays_constant() {
        let flat = Array3::from_elem((2, 7, 5), 3.0f32);
        for (size, filter) in [(3, 2), (7, 5), (20, 31), (1, 1)].into_iter().zip(FILTERS.repeat(2))
        {
            for depth in [Depth::Bytes, Depth::Floats] {
                let resized = resize(&flat.view(), size, filter, depth);
                assert!(resized.iter().all(|v| (v - 3.0).abs() < 1e-5), "{filter:?} {depth:?}");
            }
        }
    }
}
