//! A margin of zeros.

use ndarray::{ArrayD, Axis, IxDyn, Slice};

/// Images (N × C × H × W) in the middle of larger ones; an odd margin is wider below and to the right.
pub(super) fn all(images: &ArrayD<f32>, (height, width): (usize, usize)) -> ArrayD<f32> {
    let &[n, channels, h, w] = images.shape() else { return images.clone() };
    let mut padded = ArrayD::zeros(IxDyn(&[n, channels, height, width]));
    let (top, left) = ((height - h) / 2, (width - w) / 2);
    let mut middle = padded.slice_axis_mut(Axis(2), Slice::from(top..top + h));
    middle.slice_axis_mut(Axis(3), Slice::from(left..left + w)).assign(images);
    padded
}
