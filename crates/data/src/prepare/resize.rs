//! Images of another size: a triangle filter that widens when an image shrinks, as PIL and torchvision use by default.

use ndarray::{Array3, ArrayD, ArrayView2, ArrayView3, Axis, Ix3, IxDyn};
use rayon::prelude::*;

/// The pixels that one pixel of the result is made of.
struct Taps {
    first: usize,
    weights: Vec<f32>,
}

/// For every pixel of the result along one axis, what it is made of.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positions within the image"
)]
fn taps(from: usize, to: usize) -> Vec<Taps> {
    let scale = from as f64 / to as f64;
    let reach = scale.max(1.0);
    let tap = |target: usize| {
        let centre = (target as f64 + 0.5) * scale;
        let first = (centre - reach + 0.5).max(0.0) as usize;
        let end = ((centre + reach + 0.5) as usize).min(from);
        let weight = |i: usize| (1.0 - ((i as f64 + 0.5 - centre) / reach).abs()).max(0.0);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        Taps { first, weights: weights.iter().map(|w| (w / sum) as f32).collect() }
    };
    (0..to).map(tap).collect()
}

/// An image (C × H × W) in another size.
pub(crate) fn resize(image: &ArrayView3<'_, f32>, (height, width): (usize, usize)) -> Array3<f32> {
    let (channels, h, w) = image.dim();
    let (rows, columns) = (taps(h, height), taps(w, width));
    let mut resized = Array3::zeros((channels, height, width));
    for (from, mut to) in image.outer_iter().zip(resized.outer_iter_mut()) {
        let wide = filtered(&from, &columns);
        to.assign(&filtered(&wide.t(), &rows).t());
    }
    resized
}

/// Applies the taps along the second axis.
fn filtered(plane: &ArrayView2<'_, f32>, taps: &[Taps]) -> ndarray::Array2<f32> {
    let mut result = ndarray::Array2::zeros((plane.nrows(), taps.len()));
    for (from, mut to) in plane.outer_iter().zip(result.outer_iter_mut()) {
        for (target, tap) in to.iter_mut().zip(taps) {
            let pixels = from.iter().skip(tap.first);
            *target = pixels.zip(&tap.weights).map(|(p, w)| p * w).sum();
        }
    }
    result
}

/// Images (N × C × H × W) in another size.
pub(super) fn all(images: &ArrayD<f32>, (height, width): (usize, usize)) -> ArrayD<f32> {
    let &[n, channels, ..] = images.shape() else { return images.clone() };
    let mut resized = ArrayD::zeros(IxDyn(&[n, channels, height, width]));
    let from: Vec<_> = images.outer_iter().collect();
    let to: Vec<_> = resized.axis_iter_mut(Axis(0)).collect();
    taste_threads::within(|| {
        from.into_par_iter().zip(to).for_each(|(from, mut to)| {
            if let Ok(image) = from.into_dimensionality::<Ix3>() {
                to.assign(&resize(&image, (height, width)));
            }
        });
    });
    resized
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn shrinking_averages_and_growing_interpolates() {
        // Pillow 13.0.0: Image.fromarray(np.float32([[0, 1, 2, 3]])).resize((2, 1), BILINEAR),
        // and of [[0, 4]] to (4, 1).
        let ramp = array![[[0.0f32, 1.0, 2.0, 3.0]]];
        let small = resize(&ramp.view(), (1, 2));
        assert!((small[[0, 0, 0]] - 0.714_285_7).abs() < 1e-6, "{small}");
        assert!((small[[0, 0, 1]] - 2.285_714_3).abs() < 1e-6, "{small}");
        let large = resize(&array![[[0.0f32, 4.0]]].view(), (1, 4));
        assert_eq!(large, array![[[0.0, 1.0, 3.0, 4.0]]]);
    }

    #[test]
    fn a_constant_stays_constant() {
        let flat = Array3::from_elem((2, 7, 5), 3.0f32);
        for size in [(3, 2), (7, 5), (20, 31), (1, 1)] {
            assert!(resize(&flat.view(), size).iter().all(|v| (v - 3.0).abs() < 1e-5));
        }
    }
}
