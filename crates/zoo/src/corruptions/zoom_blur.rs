use super::{Act, Corruption, Picture, Suite, picture::zoomed};

/// How many enlargements in steps of a hundredth, from none on.
const ZOOMS: [usize; 5] = [7, 12, 16, 21, 26];
/// A hundredth as `numpy.arange` steps: a little more, which decides how 26 · 1.25 pixels are rounded.
const STEP: f64 = 1.01 - 1.0;

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "zoom-blur",
    "a camera that comes nearer: the mean over enlargements (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, _| averaged(picture, (0..ZOOMS[level]).map(|i| 1.0 + STEP * i as f64)))
);

pub(super) const LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-zoom-blur",
    "the last frame of CIFAR-10-P: the mean over enlargements up to 1.12",
    Once(|picture, _| averaged(picture, (1..=30).map(|i| 1.0 + 0.004 * f64::from(i))))
);

/// The mean of a picture and of its enlargements.
fn averaged(picture: &Picture, zooms: impl Iterator<Item = f64>) -> Picture {
    let (mut sum, mut count) = (picture.clone(), 1.0);
    for zoom in zooms {
        sum += &zoomed(picture, zoom);
        count += 1.0;
    }
    sum / count
}
