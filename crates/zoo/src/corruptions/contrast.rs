use super::{
    Act, Corruption, Suite,
    picture::{clipped, each_channel},
};

const FACTORS: [f64; 5] = [0.75, 0.5, 0.4, 0.3, 0.15];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "contrast",
    "values nearer to the mean of their channel (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, _| {
        clipped(each_channel(picture, |plane| {
            let mean = plane.mean().unwrap_or(0.0);
            plane.mapv(|v| (v - mean) * FACTORS[level] + mean)
        }))
    })
);
