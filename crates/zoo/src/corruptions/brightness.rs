use super::{Act, Corruption, Suite, picture::hsv_change};

const STEPS: [f64; 5] = [0.05, 0.1, 0.15, 0.2, 0.3];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "brightness",
    "more light: the value of every colour is raised (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, _| hsv_change(picture, |s, v| (s, v + STEPS[level])))
);

pub(super) const LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-brightness",
    "the last frame of CIFAR-10-P: the value of every colour is raised by 0.225",
    Once(|picture, _| hsv_change(picture, |s, v| (s, v + 0.225)))
);
