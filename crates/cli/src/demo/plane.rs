//! The plane: normal data, the task x₂ − x₁, and a shift of fixed length whose direction turns (section 6.1 of the
//! paper).

use std::f64::consts::{FRAC_PI_4, TAU};

use anyhow::{Context, Result};
use ndarray::{Array2, ArrayD, IxDyn};
use serde::Serialize;
use taste_data::InMemory;
use taste_detector::{Detector, Engine, Fit, Named, Scorer, Settings};
use taste_engine::{Backend, Model, Session, Value};
use taste_stats::{interval, moments::Summary, random::Random};
use taste_train::{Decay, Network, Training};

use super::{Seeds, Size, canvas::single, watch::Watch};

/// How far data are moved, in standard deviations.
pub(super) const LENGTH: f64 = 3.0;
/// How many directions are tried.
pub(super) const DIRECTIONS: usize = 36;
/// Half the side of the square that the field is shown on.
pub(super) const REACH: f64 = 5.5;
const GRID: usize = 56;

/// What was found.
pub(super) struct Plane {
    pub(super) model: Model,
    pub(super) detector: Detector,
    /// Without a shift.
    pub(super) rest: Moved,
    /// One entry a direction, from (1, 1) on, anticlockwise.
    pub(super) turns: Vec<Moved>,
    /// The residual over the plane; the first row has the lowest x₂.
    pub(super) field: Array2<f32>,
}

/// Data that were moved in one direction.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Moved {
    /// The angle from (1, 1), in degrees; none without a shift.
    pub(super) angle: Option<f64>,
    /// The mean size of f(x) − (x₂ − x₁).
    pub(super) error: f64,
    /// The mean of the adjusted residual, the paper's S̃.
    pub(super) signal: f64,
    /// Its 95 % interval.
    pub(super) interval: (f64, f64),
    /// The mean of log p, less that of data without a shift.
    pub(super) log_likelihood: f64,
    /// The share of samples that are flagged one by one.
    pub(super) flagged: f64,
    #[serde(skip)]
    pub(super) points: ArrayD<f32>,
}

pub(super) fn run(size: &Size, seeds: Seeds, watch: &Watch) -> Result<Plane> {
    let train = normal([0.0, 0.0], size.plane_samples, seeds.of("plane, training"));
    let task = ArrayD::from_shape_fn(IxDyn(&[size.plane_samples, 1]), |at| {
        train[[at[0], 1]] - train[[at[0], 0]]
    });
    let samples = InMemory::new("plane-train.npy", train);
    // Smooth: the curvature that sits in the kinks of a ReLU shows at no sample, and the mean residual lacks it.
    let network = Network::new(&[2]).dense(64).tanh().dense(1);
    let trained = watch.training("steps for the plane", |progress| {
        Training::regressor(&network)
            .steps(size.plane_steps)
            .batch(128)
            .rate(3e-3)
            .decay(Decay::Cosine)
            .seed(seeds.of("plane, network"))
            .progress(progress)
            .run_with_targets(&samples, &task)
    })?;
    let model = Model::from_onnx("plane.onnx", trained.model()?.onnx().clone());
    let held_out = normal([0.0, 0.0], size.plane_samples, seeds.of("plane, calibration"));
    let named = Named::new().with("score-model", "standard-normal");
    let detector = Fit::new(&model, taste_catalog::method("stein", &named)?)
        .settings(Settings { seed: seeds.of("plane, detector"), ..Settings::default() })
        .run(&samples, Some(&InMemory::new("plane-calibration.npy", held_out)))?;

    let mut bench = Bench::new(&model, &detector)?;
    let rest = bench.moved(None, size.plane_batch, seeds.of("plane, rest"), 0.0)?;
    let usual = mean_log_density(&rest.points);
    let rest = Moved { log_likelihood: 0.0, ..rest };
    let turns = (0..DIRECTIONS).map(|k| {
        let angle = 360.0 * k as f64 / DIRECTIONS as f64;
        bench.moved(Some(angle), size.plane_batch, seeds.of(&format!("plane, {k}")), usual)
    });
    let turns: Vec<Moved> = turns.collect::<Result<_>>()?;
    let field = bench.field()?;
    Ok(Plane { model, detector, rest, turns, field })
}

/// (1, 1) / √2 after a turn by an angle in degrees.
pub(super) fn direction(angle: f64) -> [f64; 2] {
    let (sin, cos) = (FRAC_PI_4 + TAU * angle / 360.0).sin_cos();
    [cos, sin]
}

fn normal(mean: [f64; 2], count: usize, seed: u64) -> ArrayD<f32> {
    let mut random = Random::new(seed);
    ArrayD::from_shape_fn(IxDyn(&[count, 2]), |at| single(mean[at[1]] + random.normal()))
}

fn mean_log_density(points: &ArrayD<f32>) -> f64 {
    let square: f64 = points.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    -TAU.ln() - 0.5 * square / points.shape()[0] as f64
}

/// Model and detector in an engine.
struct Bench<'a> {
    session: Session,
    input: String,
    scorer: Scorer,
    /// The residuals of calibration samples.
    calibration: Summary,
    detector: &'a Detector,
}

impl<'a> Bench<'a> {
    fn new(model: &Model, detector: &'a Detector) -> Result<Self> {
        let facts = &detector.manifest().model;
        let rows = &detector.reference().rows;
        let residuals: Vec<f64> = rows.column(0).iter().map(|&v| f64::from(v)).collect();
        Ok(Self {
            session: Backend::default().load(model, &[&facts.output], 1)?,
            input: facts.input.clone(),
            scorer: detector.start(&Engine { threads: 1, ..Engine::default() }, false)?,
            calibration: Summary::of(&residuals).context("too few calibration samples")?,
            detector,
        })
    }

    fn moved(&mut self, angle: Option<f64>, count: usize, seed: u64, usual: f64) -> Result<Moved> {
        let mean = angle.map_or([0.0, 0.0], |angle| direction(angle).map(|u| LENGTH * u));
        let points = normal(mean, count, seed);
        let feed = Value::from(points.clone());
        let predicted = self.session.run(&[(&self.input, &feed)])?;
        let predicted = predicted.first().context("the model gave nothing")?.to_f64();
        let wrong =
            predicted.iter().zip(points.rows()).map(|(f, x)| (f - f64::from(x[1] - x[0])).abs());
        let error = wrong.sum::<f64>() / count as f64;
        let scores = self.scorer.score(points.view())?;
        let residuals = scores.column("residual").context("no residual")?;
        let residuals: Vec<f64> = residuals.into_iter().map(f64::from).collect();
        let own = Summary::of(&residuals).context("too few samples")?;
        let found = interval::welch(own, self.calibration, 0.95)?;
        let flagged = scores.flag.iter().filter(|&&f| f).count() as f64 / count as f64;
        Ok(Moved {
            angle,
            error,
            signal: found.estimate,
            interval: (found.low, found.high),
            log_likelihood: mean_log_density(&points) - usual,
            flagged,
            points,
        })
    }

    fn field(&mut self) -> Result<Array2<f32>> {
        let place = |k: usize| REACH * (2.0 * (k as f64 + 0.5) / GRID as f64 - 1.0);
        let grid = ArrayD::from_shape_fn(IxDyn(&[GRID * GRID, 2]), |at| {
            single(place(if at[1] == 0 { at[0] % GRID } else { at[0] / GRID }))
        });
        let residual = self.scorer.score(grid.view())?.column("residual").context("no residual")?;
        Array2::from_shape_vec((GRID, GRID), residual)
            .with_context(|| format!("a field of {}", self.detector.manifest().model.file))
    }
}
