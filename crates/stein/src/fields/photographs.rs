//! Photographs in general: the spectrum that natural images have, whatever they show.
//!
//! The power of a frequency of f cycles a pixel falls as f^−β, and grey and colour hardly go together: the cosine basis of
//! the channels (for red, green and blue their mean, red less blue, and green against both) makes them independent. The
//! numbers are least squares fits to the logarithms of the power of 10,000 images of CIFAR-10 and 3,000 outdoor scenes, both
//! of 32 × 32 pixels in 0..1, for f from .02 to .35, the mean of the two sets; the deviation from the law is .39 in
//! logarithms.

use ndarray::{Array2, Array3, s};
use taste_detector::Described;

use super::dct::{Dct, Layout, basis, check_varies};
use crate::Error;

/// β.
const FALL: f64 = 2.58;
/// The power at one cycle a pixel, of grey and of the axes of colour; further axes are as the last.
const POWER: [f64; 3] = [9.5e-4, 4.1e-5, 1.0e-5];

impl Dct {
    /// The field of photographs whose channels have these ranges, with noise of this share of them.
    pub(crate) fn of_photographs(layout: &Layout, range: Vec<(f64, f64)>, share: f64) -> Self {
        let Layout { channels, height, width, .. } = *layout;
        let axes = basis(channels);
        let mut precision = Array3::zeros((channels, channels, height * width));
        let cycles = |k: usize, size: usize| k as f64 / (2 * size) as f64;
        for (w, h) in (0..width).flat_map(|w| (0..height).map(move |h| (w, h))) {
            let f = cycles(w, width).hypot(cycles(h, height)).max(0.5 / width.max(height) as f64);
            let certain =
                |k: usize| 1.0 / (POWER[k.min(POWER.len() - 1)] * f.powf(-FALL) + share * share);
            let scaled = Array2::from_shape_fn((channels, channels), |(k, c)| {
                axes[[k, c]] * certain(k).sqrt() / (range[c].1 - range[c].0)
            });
            let place = w * height + h;
            precision.slice_mut(s![.., .., place]).assign(&scaled.t().dot(&scaled));
        }
        let mut mean = Array3::zeros((channels, width, height));
        for (c, (low, high)) in range.iter().enumerate() {
            mean[[c, 0, 0]] = (low + high) / 2.0 * ((height * width) as f64).sqrt();
        }
        let noise = range.iter().map(|(low, high)| share * (high - low)).collect();
        Self { layout: *layout, mean, precision, noise, range, generic: true }
    }
}

/// What black and white are in every channel: as the data were read, if that is known; 0 and 1 or 0 and 255 for values
/// within; else the smallest and the largest value.
pub(crate) fn pixel_range(
    layout: &Layout,
    data: &Described,
    seen: &[(f32, f32)],
) -> Result<Vec<(f64, f64)>, Error> {
    if let Some(known) = known_range(layout, data) {
        return Ok(known);
    }
    let range = layout.channel_ranges(seen);
    let within = |top: f64| range.iter().all(|(low, high)| *low >= 0.0 && *high <= top);
    for top in [1.0, 255.0] {
        if within(top) {
            return Ok(vec![(0.0, top); layout.channels]);
        }
    }
    check_varies(&range)?;
    Ok(range)
}

/// What black and white are in every channel, if the data hold bytes.
pub(crate) fn known_range(layout: &Layout, data: &Described) -> Option<Vec<(f64, f64)>> {
    let reading = &data.reading;
    if !data.bytes {
        return None;
    }
    let white = if reading.raw { 255.0 } else { 1.0 };
    let at = |list: &[f32], c: usize, default: f32| {
        f64::from(list.get(c).or(list.first()).copied().unwrap_or(default))
    };
    let range = |c: usize| {
        let (mean, std) = (at(&reading.mean, c, 0.0), at(&reading.std, c, 1.0));
        ((0.0 - mean) / std, (white - mean) / std)
    };
    Some((0..layout.channels).map(range).collect())
}
