use super::{
    Act, Corruption, Suite,
    picture::{clipped, plasma, size},
};

/// The strength, and how fast clouds lose detail.
const FOGS: [(f64, f64); 5] = [(0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75)];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "fog",
    "clouds over the picture (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, random| {
        let (strength, decay) = FOGS[level];
        let most = picture.iter().copied().fold(0.0, f64::max);
        let clouds = plasma(size(picture), decay, random);
        clipped((picture + &(strength * clouds)) * (most / (most + strength)))
    })
);
