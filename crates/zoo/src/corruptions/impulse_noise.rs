use super::{Act, Corruption, Suite};

const SHARES: [f64; 5] = [0.01, 0.02, 0.03, 0.05, 0.07];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "impulse-noise",
    "values that are lost, half to black and half to white (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, random| {
        picture.mapv(|v| {
            if random.uniform() < SHARES[level] { f64::from(random.uniform() < 0.5) } else { v }
        })
    })
);
