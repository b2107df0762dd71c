//! Score models held against data.

use ndarray::ArrayD;
use taste_data::InMemory;
use taste_engine::Backend;
use taste_graph::{Build, Id, Tensor};
use taste_ops::functions;
use taste_stats::random::Random;
use taste_stein::{
    Error, FieldCheck, check_field,
    fields::{self, Field, FieldSpec, Learner, Learning},
};

use crate::common::{Scaled, engine, normal, single};

fn check(factor: f64, shift: f64) -> FieldCheck {
    let data = normal(3000, 5, shift, 4);
    check_field(&Scaled(factor), &data, &engine(&Backend::RTEN), 0).expect("a check")
}

#[test]
fn the_right_score_passes() {
    let found = check(1.0, 0.0);
    assert!(found.is_good, "{found:?}");
    assert!((found.scale - 1.0).abs() < 4.0 * found.scale_error);
    assert!(found.mean.typical < 2.0 && found.waves.typical < 2.0);
}

#[test]
fn a_smoothed_score_is_held_against_smoothed_data() {
    for text in ["gaussian:noise=0.7", "gmm:1,noise=0.7", "kde:0.4"] {
        let spec = fields::parse(text).expect("a specification");
        let data = normal(6000, 3, 0.5, 4);
        let found = check_field(&*spec, &data, &engine(&Backend::RTEN), 0).expect("a check");
        assert!((found.scale - 1.0).abs() < 0.1, "{text}: {found:?}");
    }
}

#[test]
fn a_wrong_size_sign_or_place_is_named() {
    let half = check(0.5, 0.0);
    assert!(!half.is_good && half.verdict.contains("0.5"), "{}", half.verdict);
    let turned = check(-1.0, 0.0);
    assert!(!turned.is_good && turned.verdict.contains("-1.0"), "{}", turned.verdict);
    let moved = check(1.0, 1.0);
    assert!(!moved.is_good && moved.verdict.contains("mean score of feature"), "{}", moved.verdict);
}

/// Rows of ten entries.
type Draw = fn(&mut Random) -> [f64; 10];

fn drawn(rows: usize, seed: u64, draw: Draw) -> InMemory {
    let mut random = Random::new(seed);
    let mut values = Vec::with_capacity(10 * rows);
    for _ in 0..rows {
        values.extend(draw(&mut random).map(single));
    }
    InMemory::new("drawn", ArrayD::from_shape_vec(vec![rows, 10], values).expect("rows of ten"))
}

fn normals(random: &mut Random) -> [f64; 10] {
    std::array::from_fn(|_| random.normal())
}

/// Neighbours depend on each other, as in a random walk.
fn correlated(random: &mut Random) -> [f64; 10] {
    let mut at = 0.0;
    std::array::from_fn(|_| {
        at = 0.8 * at + 0.6 * random.normal();
        at
    })
}

/// One of two places, 4 apart.
fn two_places(random: &mut Random) -> f64 {
    random.signs(1).sum::<f64>() * 2.0 + 0.3 * random.normal()
}

fn one_in_two_places(random: &mut Random) -> [f64; 10] {
    let mut row = normals(random);
    row[3] = two_places(random);
    row
}

fn two_places_along_the_diagonal(random: &mut Random) -> [f64; 10] {
    let row = normals(random);
    let mean = row.iter().sum::<f64>() / 10.0;
    let along = two_places(random) / 10f64.sqrt();
    row.map(|v| v - mean + along)
}

fn half_uniform(random: &mut Random) -> [f64; 10] {
    let row = normals(random);
    std::array::from_fn(|i| if i < 5 { random.uniform() } else { row[i] })
}

/// Neighbours are nearly equal, so that shrunk correlations are far from theirs.
fn nearly_equal(random: &mut Random) -> [f64; 10] {
    let mut at = random.normal();
    std::array::from_fn(|_| {
        at += 0.15 * random.normal();
        at
    })
}

/// What is said of a score model that is fitted to some rows, for several draws of them.
fn verdicts(text: &str, rows: usize, draw: Draw, runs: u64) -> Vec<(bool, String)> {
    let spec = fields::parse(text).expect("a specification");
    let run = |seed| {
        let data = drawn(rows, 1000 + seed, draw);
        let found = check_field(&*spec, &data, &engine(&Backend::RTEN), seed).expect("a check");
        (found.is_good, found.verdict)
    };
    (0..runs).map(run).collect()
}

#[test]
fn the_right_family_is_hardly_ever_refused() {
    for draw in [normals as Draw, correlated] {
        for text in ["gaussian", "gaussian:noise=0.3"] {
            let refused = verdicts(text, 500, draw, 60).iter().filter(|v| !v.0).count();
            assert_eq!(refused, 0, "{text}");
            let refused = verdicts(text, 5000, draw, 5).iter().filter(|v| !v.0).count();
            assert_eq!(refused, 0, "{text}");
        }
    }
}

#[test]
fn the_wrong_shape_is_seen_along_entries_and_axes() {
    for (draw, rows, place) in [
        (one_in_two_places as Draw, 500, "along feature 3 the Stein identity is off"),
        (two_places_along_the_diagonal, 500, "along principal axis 1 the Stein identity is off"),
        (half_uniform, 3000, "along feature"),
    ] {
        for (is_good, verdict) in verdicts("gaussian", rows, draw, 10) {
            assert!(!is_good && verdict.contains(place), "{verdict}");
        }
    }
}

#[test]
fn a_shrunk_gaussian_is_called_what_it_is() {
    let refused: Vec<String> = verdicts("gaussian", 500, nearly_equal, 10)
        .into_iter()
        .filter(|v| !v.0)
        .map(|v| v.1)
        .collect();
    assert!(!refused.is_empty());
    for verdict in refused {
        assert!(!verdict.contains("coordinates"), "{verdict}");
        assert!(verdict.contains("its correlations are shrunk by 0.0"), "{verdict}");
    }
}

/// Entries of a smooth curve.
const CURVE: usize = 64;
/// Cosines that it is made of.
const COSINES: usize = 4;
const SIGMA: f64 = 0.5;
const VARIANCE: f64 = 4.0;
const LEVEL: f64 = 1.0;

fn cosine(k: usize, i: usize) -> f64 {
    let angle = std::f64::consts::PI * (k as f64 + 1.0) * (i as f64 + 0.5) / CURVE as f64;
    (2.0 / CURVE as f64).sqrt() * angle.cos()
}

fn curves(rows: usize) -> InMemory {
    let mut random = Random::new(5);
    let mut values = Vec::with_capacity(rows * CURVE);
    for _ in 0..rows {
        let parts: [f64; COSINES] = std::array::from_fn(|_| VARIANCE.sqrt() * random.normal());
        for i in 0..CURVE {
            let sum: f64 = parts.iter().enumerate().map(|(k, part)| part * cosine(k, i)).sum();
            values.push(single(LEVEL + sum));
        }
    }
    InMemory::new("curves", ArrayD::from_shape_vec(vec![rows, CURVE], values).expect("rows"))
}

/// The score of curves with noise, for curves of another level and size than those of the data.
#[derive(Clone, Copy, Debug)]
struct OfCurves {
    level: f64,
    size: f64,
}

impl Field for OfCurves {
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "family": "curves" })
    }

    fn noise(&self) -> Vec<f64> {
        vec![SIGMA]
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let (noise, variance) = (SIGMA * SIGMA, VARIANCE * self.size * self.size);
        let kept = variance / (variance + noise);
        let precision = (0..CURVE * CURVE).map(|at| {
            let (i, j) = (at / CURVE, at % CURVE);
            let signal: f64 = (0..COSINES).map(|k| cosine(k, i) * cosine(k, j)).sum();
            (kept * signal - f64::from(i == j)) / noise
        });
        let precision = Tensor::floats(&[CURVE, CURVE], precision.collect())?;
        let precision = b.graph_mut().constant(precision);
        let level = b.scalar(self.level);
        let off = b.sub(y, level)?;
        Ok(functions::matmul(b, off, precision)?)
    }
}

impl FieldSpec for OfCurves {
    fn learns(&self) -> bool {
        false
    }

    fn begin(&self, _: &Learner<'_>) -> Result<Learning, Error> {
        Ok(Learning::done(*self))
    }
}

fn of_curves(level: f64, size: f64) -> FieldCheck {
    let spec = OfCurves { level, size };
    check_field(&spec, &curves(1000), &engine(&Backend::RTEN), 0).expect("a check")
}

#[test]
fn what_a_score_is_beyond_its_noise_is_held_to_account() {
    let right = of_curves(LEVEL, 1.0);
    assert!(right.is_good, "{right:?}");
    let loss = right.denoising.expect("noise").loss;
    let least = COSINES as f64 / CURVE as f64 * VARIANCE / (VARIANCE + SIGMA * SIGMA);
    assert!((loss / least - 1.0).abs() < 0.1, "{loss} {least}");
    // Of the size of the whole score, all of these are within a tenth.
    for (level, size) in [(LEVEL, 2.0), (LEVEL, 0.5), (-LEVEL, 1.0), (LEVEL + 0.02, 1.0)] {
        let wrong = of_curves(level, size);
        assert!((wrong.scale - 1.0).abs() < 0.25, "{wrong:?}");
        assert!(!wrong.is_good, "{level} {size}: {wrong:?}");
    }
}

#[test]
fn a_score_that_a_gaussian_beats_is_not_right() {
    let spec = fields::parse("gaussian:diagonal,noise=0.5").expect("a specification");
    let found = check_field(&*spec, &curves(1000), &engine(&Backend::RTEN), 0).expect("a check");
    assert!(!found.is_good && found.verdict.contains("worse than a Gaussian does"), "{found:?}");
}
