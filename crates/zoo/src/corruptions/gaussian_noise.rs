use super::{Act, Corruption, Picture, Suite, picture::clipped};
use taste_stats::random::Random;

const DEVIATIONS: [f64; 5] = [0.04, 0.06, 0.08, 0.09, 0.1];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "gaussian-noise",
    "normal noise on every value (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, random| noisy(picture, DEVIATIONS[level], random))
);

pub(super) const LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-gaussian-noise",
    "the last frame of CIFAR-10-P: normal noise with deviation 0.02",
    Once(|picture, random| noisy(picture, 0.02, random))
);

fn noisy(picture: &Picture, deviation: f64, random: &mut Random) -> Picture {
    clipped(picture.mapv(|v| v + deviation * random.normal()))
}
