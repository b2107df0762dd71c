//! Waves as test functions.

use std::f64::consts::{FRAC_PI_2, TAU};

use ndarray::{Array1, Array2, ArrayView1};
use taste_stats::random::Random;

use super::{
    held::{Held, Wave, mean_and_error, principal_axes},
    identity::Identity,
};

/// Random directions.
const RANDOM: usize = 32;
/// The most single entries.
const COLUMNS: usize = 64;
/// The most axes.
const AXES: usize = 8;
/// Angles that a step of one standard deviation turns by.
const FREQUENCIES: [f64; 2] = [1.0, 2.0];
/// Fewer samples tell nothing of axes.
const LEAST: usize = 40;

pub(super) struct Waves {
    pub(super) random: Identity,
    pub(super) columns: Identity,
    pub(super) axes: Identity,
}

pub(super) fn waves(held: &Held, centred: &Array2<f64>, seed: u64) -> Waves {
    let (n, dimension) = centred.dim();
    let mut random = Random::new(seed);
    let mut draw = || -> Array1<f64> { (0..dimension).map(|_| random.normal()).collect() };
    let directions: Vec<Array1<f64>> = (0..RANDOM + AXES.min(dimension)).map(|_| draw()).collect();
    let isotropic = directions[..RANDOM].iter().flat_map(|direction| {
        let phase = random.uniform() * TAU;
        along(held, centred, &direction.view(), &[(1.0, phase)])
    });
    let isotropic = Identity::of(&isotropic.collect::<Vec<_>>());
    let pure: Vec<(f64, f64)> =
        FREQUENCIES.iter().flat_map(|&f| [(f, 0.0), (f, FRAC_PI_2)]).collect();
    let mut places: Vec<usize> = (0..dimension).collect();
    random.shuffle_front(&mut places, COLUMNS.min(dimension));
    places.truncate(COLUMNS);
    places.sort_unstable();
    let single = places.iter().flat_map(|&j| {
        let unit: Array1<f64> = (0..dimension).map(|i| f64::from(i == j)).collect();
        along(held, centred, &unit.view(), &pure)
    });
    let columns = Identity::of(&single.collect::<Vec<_>>());
    let columns =
        Identity { at: places.get(columns.at / pure.len()).copied().unwrap_or(0), ..columns };
    let mut axes = Identity::of(&[]);
    if dimension > 1 && n >= LEAST {
        // Samples vary more along axes that were found from them than others do.
        let half = n / 2;
        let start = Array2::from_shape_fn((dimension, AXES.min(dimension)), |(i, k)| {
            directions[RANDOM + k][i]
        });
        let found = principal_axes(&centred.slice(ndarray::s![..half, ..]), start);
        let rest: Vec<usize> = (half..n).collect();
        let held = held.select(&rest);
        let centred = held.centred();
        let each =
            found.columns().into_iter().flat_map(|axis| along(&held, &centred, &axis, &pure));
        axes = Identity::of(&each.collect::<Vec<_>>());
        axes.at /= pure.len();
    }
    Waves { random: isotropic, columns, axes }
}

/// The means of waves along a direction, in standard errors. Nothing for one along which nothing varies.
fn along(
    held: &Held,
    centred: &Array2<f64>,
    direction: &ArrayView1<'_, f64>,
    waves: &[(f64, f64)],
) -> Vec<f64> {
    let along = centred.dot(direction);
    let deviation = along.std(0.0);
    if deviation.is_nan() || deviation <= 0.0 {
        return vec![f64::NAN; waves.len()];
    }
    let ratio = |&(frequency, phase): &(f64, f64)| {
        let rate = frequency / deviation;
        let (w, angles) = (direction * rate, &along * rate);
        let values = held.wave(&Wave { w: w.view(), angles: angles.view(), phase });
        let (mean, error) = mean_and_error(&values.view());
        mean / error
    };
    waves.iter().map(ratio).collect()
}
