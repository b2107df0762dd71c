//! The middle of images.

use ndarray::{Array3, ArrayD, ArrayView3, Axis, IxDyn, s};

/// The middle of an image (C × H × W), as torchvision's `CenterCrop` cuts it: margins of an image that is too small are
/// zeros, one pixel wider below and to the right if they are odd; where a cut falls between two pixels, it goes to the even
/// one.
pub(crate) fn crop(image: &ArrayView3<'_, f32>, (height, width): (usize, usize)) -> Array3<f32> {
    let (channels, h, w) = image.dim();
    let mut middle = Array3::zeros((channels, height, width));
    let ((from_top, to_top, rows), (from_left, to_left, columns)) =
        (place(h, height), place(w, width));
    let from = image.slice(s![.., from_top..from_top + rows, from_left..from_left + columns]);
    middle.slice_mut(s![.., to_top..to_top + rows, to_left..to_left + columns]).assign(&from);
    middle
}

/// Where to begin to read and to write along an axis, and how many pixels.
fn place(there: usize, wanted: usize) -> (usize, usize, usize) {
    if there <= wanted {
        return (0, (wanted - there) / 2, there);
    }
    let over = there - wanted;
    // Half of an odd number is rounded to the even neighbour.
    let start = if over.is_multiple_of(2) { over / 2 } else { over.div_ceil(2) / 2 * 2 };
    (start, 0, wanted)
}

/// Images (N × C × H × W), likewise.
pub(super) fn all(images: &ArrayD<f32>, (height, width): (usize, usize)) -> ArrayD<f32> {
    let &[n, channels, ..] = images.shape() else { return images.clone() };
    let mut middle = ArrayD::zeros(IxDyn(&[n, channels, height, width]));
    for (from, mut to) in images.outer_iter().zip(middle.axis_iter_mut(Axis(0))) {
        if let Ok(image) = from.into_dimensionality() {
            to.assign(&crop(&image, (height, width)));
        }
    }
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_and_margins_are_those_of_torchvision() {
        // int(round((n − k) / 2)) of Python: 0.5 → 0, 1.5 → 2, 2.5 → 2, 3.5 → 4.
        let starts =
            [(4, 4), (5, 4), (6, 4), (7, 4), (8, 4), (9, 4), (11, 4)].map(|(n, k)| place(n, k).0);
        assert_eq!(starts, [0, 0, 1, 2, 2, 2, 4]);
        assert_eq!(place(3, 6), (0, 1, 3));
        assert_eq!(place(4, 6), (0, 1, 4));
    }
}
