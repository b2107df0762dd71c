//! Where images keep their channels.

use ndarray::{ArrayD, Axis};

/// The axis of the channels in samples of three axes: the first, unless only the last looks like it.
pub fn channel_axis(sample_shape: &[usize]) -> Option<usize> {
    let few = |size: usize| matches!(size, 1 | 3 | 4);
    match *sample_shape {
        [first, _, last] if few(last) && !few(first) => Some(2),
        [_, _, _] => Some(0),
        _ => None,
    }
}

/// Maps, one a row, summed over channels: what is left has the axes of an image.
pub fn over_channels(maps: &ArrayD<f32>) -> ArrayD<f32> {
    match maps.shape().get(1..).and_then(channel_axis) {
        Some(axis) => maps.sum_axis(Axis(axis + 1)),
        None => maps.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::IxDyn;

    #[test]
    fn channels_are_first_or_last() {
        for (shape, axis) in [
            (&[3, 32, 32][..], Some(0)),
            (&[32, 32, 3], Some(2)),
            (&[28, 28, 1], Some(2)),
            (&[1, 28, 28], Some(0)),
            (&[3, 40, 3], Some(0)),
            (&[13, 8, 8], Some(0)),
            (&[28, 28], None),
            (&[7], None),
        ] {
            assert_eq!(channel_axis(shape), axis, "{shape:?}");
            let maps: Vec<usize> = std::iter::once(2).chain(shape.iter().copied()).collect();
            let summed = over_channels(&ArrayD::ones(IxDyn(&maps)));
            let channels = axis.map_or(1, |a| shape[a]);
            let mut left = maps.clone();
            axis.map(|a| left.remove(a + 1));
            assert_eq!(summed, ArrayD::from_elem(IxDyn(&left), channels as f32), "{shape:?}");
        }
    }
}
