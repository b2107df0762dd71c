use super::{
    Act, Corruption, Picture, Suite,
    picture::{between, each_channel, motion, rounded},
};

/// The radius in pixels, and the deviation along the line.
const LINES: [(usize, f64); 5] = [(6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5)];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "motion-blur",
    "a camera that moves, at an angle within ±45° (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, random| {
        let (radius, sigma) = LINES[level];
        blurred(picture, radius, sigma, between(-45.0, 45.0, random))
    })
);

pub(super) const LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-motion-blur",
    "the last frame of CIFAR-10-P: motion to the left, radius 6, deviation 1.8",
    Once(|picture, _| blurred(picture, 6, 1.8, 0.0))
);

fn blurred(picture: &Picture, radius: usize, sigma: f64, degrees: f64) -> Picture {
    rounded(each_channel(picture, |plane| motion(plane, radius, sigma, degrees)))
}
