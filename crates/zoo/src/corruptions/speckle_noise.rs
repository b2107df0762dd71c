use super::{Act, Corruption, Suite, picture::clipped};

const DEVIATIONS: [f64; 5] = [0.06, 0.1, 0.12, 0.16, 0.2];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "speckle-noise",
    "normal noise in proportion to the value (Hendrycks and Dietterich 2019, extra)",
    Graded(|picture, level, random| {
        clipped(picture.mapv(|v| v + v * DEVIATIONS[level] * random.normal()))
    })
);
