use ndarray::s;
use taste_stats::random::Random;

use super::{
    Act, Corruption, Picture, Suite,
    picture::{size, smooth},
};

/// The blur before and after, and how often pixels are moved.
const GLASS: [(f64, usize); 5] = [(0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2)];

pub(super) const CORRUPTION: Corruption = corruption!(
    Cifar10C,
    "glass-blur",
    "frosted glass: pixels copied from a neighbour between two blurs (Hendrycks and Dietterich 2019)",
    Graded(|picture, level, random| {
        let (sigma, times) = GLASS[level];
        let bytes = smooth(picture, sigma).mapv(|v| (255.0 * v + 1e-6).floor() / 255.0);
        smooth(&shattered(bytes, times, random), sigma)
    })
);

/// Every pixel becomes that at itself or one up, and at itself or one to the left. What the reference writes as an exchange
/// is a copy there: both sides are views of one array.
fn shattered(mut picture: Picture, times: usize, random: &mut Random) -> Picture {
    let (height, width) = size(&picture);
    for _ in 0..times {
        for y in (2..height).rev() {
            for x in (2..width).rev() {
                let (left, up) = (random.below(2), random.below(2));
                let from = picture.slice(s![.., y - up, x - left]).to_owned();
                picture.slice_mut(s![.., y, x]).assign(&from);
            }
        }
    }
    picture
}
