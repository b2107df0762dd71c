use super::{Act, Corruption, Suite, picture::smooth};

const SIGMAS: [f64; 5] = [0.4, 0.6, 0.7, 0.8, 1.0];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "gaussian-blur",
    "a Gaussian filter (Hendrycks and Dietterich 2019, extra)",
    Graded(|picture, level, _| smooth(picture, SIGMAS[level]))
);
