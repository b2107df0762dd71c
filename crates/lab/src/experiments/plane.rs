//! The paper's Gaussian plane: p = N(0, I), the task x₂ − x₁, a regressor with one hidden layer of `ReLUs`, and what is
//! known of it in closed form.

use ndarray::{Array2, ArrayD};
use serde::{Deserialize, Serialize};
use taste_data::InMemory;
use taste_engine::Model;
use taste_stats::{normal, random::Random};
use taste_train::{Training, networks};

use crate::{Error, Run, error::refused};

/// The length of the shift.
pub(super) const LENGTH: f64 = 10.0;
const EPOCHS: usize = 100;
const BATCH: usize = 32;
const RATE: f64 = 0.001;

/// A point of the plane.
pub(super) type Point = [f64; 2];

/// A hidden unit: a · max(0, w·x + b).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Unit {
    w: Point,
    b: f64,
    a: f64,
}

/// A regressor that was trained here.
#[derive(Debug)]
pub(super) struct Regressor {
    pub(super) model: Model,
    hidden: Hidden,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Hidden {
    units: Vec<Unit>,
    offset: f64,
}

/// How many samples a regressor learns from.
pub(super) fn training_samples(run: &Run<'_>) -> usize {
    run.pick(1000, 1000, 200)
}

/// The task.
pub(super) fn task(x: Point) -> f64 {
    x[1] - x[0]
}

/// The shift of length [`LENGTH`] at an angle from (1, 1)/√2, in degrees.
pub(super) fn shift(degrees: f64) -> Point {
    let angle = (45.0 + degrees).to_radians();
    [LENGTH * angle.cos(), LENGTH * angle.sin()]
}

/// Angles from 0 up to 360°, so many degrees apart.
pub(super) fn angles(apart: usize) -> Vec<f64> {
    (0..360).step_by(apart).map(f64::from).collect()
}

/// Draws of N(mean, I).
pub(super) fn draw(count: usize, mean: Point, random: &mut Random) -> Vec<Point> {
    (0..count).map(|_| mean.map(|m| m + random.normal())).collect()
}

/// Points as samples.
pub(super) fn samples(name: &str, points: &[Point]) -> InMemory {
    #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
    let values = Array2::from_shape_fn((points.len(), 2), |(i, j)| points[i][j] as f32);
    InMemory::new(name, values.into_dyn())
}

/// The mean log-likelihood of points under p.
pub(super) fn log_likelihood(points: &[Point]) -> f64 {
    let log = |x: &Point| -(std::f64::consts::TAU).ln() - f64::midpoint(x[0] * x[0], x[1] * x[1]);
    points.iter().map(log).sum::<f64>() / points.len().max(1) as f64
}

impl Regressor {
    /// The regressor with a seed: trained now, or kept from an earlier run.
    pub(super) fn trained(run: &Run<'_>, seed: u64) -> Result<Self, Error> {
        let name = format!("training with seed {seed}");
        let path = run.kept().join(format!("regressor-{}-{seed}.onnx", run.effort_name()));
        let hidden = run.step(&name, &"weights", || {
            let mut random = Random::stream(seed, 0);
            let points = draw(training_samples(run), [0.0; 2], &mut random);
            #[expect(clippy::cast_possible_truncation, reason = "targets are single precision")]
            let targets =
                ArrayD::from_shape_fn(vec![points.len(), 1], |at| task(points[at[0]]) as f32);
            let network = networks::paper_regressor();
            let watch = run.training(&name);
            let trained = Training::regressor(&network)
                .steps(run.pick(EPOCHS, EPOCHS, 60) * points.len() / BATCH)
                .batch(BATCH)
                .rate(RATE)
                .held_out(0.0)
                .seed(seed)
                .progress(&watch)
                .run_with_targets(&samples("p", &points), &targets)?;
            trained.model()?.onnx().save(&path)?;
            Hidden::of(&trained)
        })?;
        Ok(Self { model: Model::open(&path)?, hidden })
    }

    /// E f under N(mean, I).
    pub(super) fn mean(&self, mean: Point) -> f64 {
        let of = |u: &Unit| {
            let at = u.at(mean);
            u.a * ((at.dot + u.b) * normal::cdf(at.ratio) + at.length * density(at.ratio))
        };
        self.hidden.units.iter().map(of).sum::<f64>() + self.hidden.offset
    }

    /// −E ∇f · shift under N(shift, I): the Stein functional by the projection identity, kinks included.
    pub(super) fn functional(&self, shift: Point) -> f64 {
        let of = |u: &Unit| {
            let at = u.at(shift);
            -u.a * at.dot * normal::cdf(at.ratio)
        };
        self.hidden.units.iter().map(of).sum()
    }

    /// What the adjusted residual has for a mean under N(shift, I): the residual almost everywhere, s·∇f, less its mean
    /// under p. It differs from the functional by what the Laplacian has on kinks.
    pub(super) fn adjusted(&self, shift: Point) -> f64 {
        self.drift(shift) - self.drift([0.0; 2])
    }

    /// E s·∇f under N(mean, I), with s(x) = −x.
    fn drift(&self, mean: Point) -> f64 {
        let of = |u: &Unit| {
            let at = u.at(mean);
            -u.a * (at.dot * normal::cdf(at.ratio) + at.length * density(at.ratio))
        };
        self.hidden.units.iter().map(of).sum()
    }
}

/// A unit's argument under N(mean, I).
struct Argument {
    /// w · mean.
    dot: f64,
    /// ‖w‖.
    length: f64,
    /// Mean by deviation of w·x + b.
    ratio: f64,
}

impl Unit {
    fn at(&self, mean: Point) -> Argument {
        let dot = self.w[0] * mean[0] + self.w[1] * mean[1];
        let length = self.w[0].hypot(self.w[1]).max(f64::MIN_POSITIVE);
        Argument { dot, length, ratio: (dot + self.b) / length }
    }
}

impl Hidden {
    fn of(trained: &taste_train::Trained) -> Result<Self, Error> {
        let weights: Vec<Vec<f64>> = trained
            .parameters()
            .iter()
            .map(|(_, values)| values.iter().map(|v| f64::from(*v)).collect())
            .collect();
        let [first, biases, second, offset] = &weights[..] else {
            return Err(refused("the regressor does not have two layers"));
        };
        let count = biases.len();
        let unit = |k: usize| Unit { w: [first[k], first[count + k]], b: biases[k], a: second[k] };
        Ok(Self { units: (0..count).map(unit).collect(), offset: offset[0] })
    }
}

fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}
