use super::{Act, Corruption, Picture, Suite, picture::clipped};
use taste_stats::random::Random;

const PHOTONS: [f64; 5] = [500.0, 250.0, 100.0, 75.0, 50.0];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "shot-noise",
    "the noise of few photons: Poisson numbers (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, random| counted(picture, PHOTONS[level], random))
);

pub(super) const LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-shot-noise",
    "the last frame of CIFAR-10-P: Poisson numbers at 700 photons",
    Once(|picture, random| counted(picture, 700.0, random))
);

/// Light as a number of photons, of which there are `photons` at full brightness.
fn counted(picture: &Picture, photons: f64, random: &mut Random) -> Picture {
    clipped(picture.mapv(|v| random.poisson(v * photons) as f64 / photons))
}
