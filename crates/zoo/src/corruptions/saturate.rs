use super::{Act, Corruption, Suite, picture::hsv_change};

/// What saturation is multiplied by, and what is added to it.
const CHANGES: [(f64, f64); 5] = [(0.3, 0.0), (0.1, 0.0), (1.5, 0.0), (2.0, 0.1), (2.5, 0.2)];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "saturate",
    "paler, then stronger colours (Hendrycks and Dietterich 2019, extra)",
    Graded(|picture, level, _| {
        let (factor, offset) = CHANGES[level];
        hsv_change(picture, |s, v| (factor * s + offset, v))
    })
);
