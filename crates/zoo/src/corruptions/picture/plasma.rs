use ndarray::s;
use taste_stats::random::Random;

use super::Plane;

/// Clouds by the diamond-square algorithm with edges that meet (Fournier, Fussell and Carpenter 1982), from 0 to 1: a
/// square with a power of two of pixels on a side, cut to size. Noise shrinks by `decay` with every halving of the grid.
pub(in super::super) fn plasma(
    (height, width): (usize, usize),
    decay: f64,
    random: &mut Random,
) -> Plane {
    const START: f64 = 100.0;
    let size = height.max(width).next_power_of_two();
    let mut map = Plane::zeros((size, size));
    let (mut step, mut wobble) = (size, START);
    while step >= 2 {
        let half = step / 2;
        // The noise is the wobble times a number within ±wobble, as in the reference.
        let mut noisy = |sum: f64| sum / 4.0 + wobble * wobble * (2.0 * random.uniform() - 1.0);
        let at = |v: usize| v % size;
        for y in (0..size).step_by(step) {
            for x in (0..size).step_by(step) {
                let corners = map[[y, x]]
                    + map[[at(y + step), x]]
                    + map[[y, at(x + step)]]
                    + map[[at(y + step), at(x + step)]];
                map[[y + half, x + half]] = noisy(corners);
            }
        }
        let back = |v: usize| (v + size - half) % size;
        for y in (0..size).step_by(step) {
            for x in (0..size).step_by(step) {
                let sides = map[[y, x]] + map[[y, at(x + step)]];
                let middles = map[[y + half, x + half]] + map[[back(y), x + half]];
                map[[y, x + half]] = noisy(sides + middles);
                let sides = map[[y, x]] + map[[at(y + step), x]];
                let middles = map[[y + half, x + half]] + map[[y + half, back(x)]];
                map[[y + half, x]] = noisy(sides + middles);
            }
        }
        step = half;
        wobble /= decay;
    }
    let least = map.iter().copied().fold(f64::INFINITY, f64::min);
    let most = map.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = (most - least).max(f64::MIN_POSITIVE);
    map.slice(s![..height, ..width]).mapv(|v| (v - least) / range)
}
