//! A smooth regressor, and its derivatives at points.

use ndarray::ArrayD;
use taste_engine::{Model, Request, Value, Wants};
use taste_stats::random::Random;
use taste_train::{Network, Training};

use super::density::Mixture;
use crate::{
    Error, Run,
    error::refused,
    experiments::plane::{self, Point},
};

/// Points that go through the engine at once.
const ROWS: usize = 1024;

/// A point with the derivatives of f there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) x: Point,
    pub(super) gradient: Point,
    /// ∂²f/∂xᵢ².
    pub(super) diagonal: Point,
}

impl Row {
    /// ∂ᵢᵢf + sᵢ∂ᵢf.
    pub(super) fn entry(&self, i: usize, score: Point) -> f64 {
        self.diagonal[i] + score[i] * self.gradient[i]
    }

    /// Δf + s·∇f.
    pub(super) fn residual(&self, score: Point) -> f64 {
        self.entry(0, score) + self.entry(1, score)
    }

    /// v·∇f.
    pub(super) fn along(&self, v: Point) -> f64 {
        v[0] * self.gradient[0] + v[1] * self.gradient[1]
    }
}

/// A regressor of a wavy function with smooth layers, trained here.
pub(super) fn trained(run: &Run<'_>, p: &Mixture) -> Result<Model, Error> {
    let path = run.kept().join(format!("smooth-{}.onnx", run.effort_name()));
    run.step("training of a smooth regressor", &"smooth", || {
        let points = p.draw(2000, &mut Random::stream(run.seed_value(), 0));
        let wave = |x: Point| (1.5 * x[0]).sin() + 0.5 * x[0] * x[1];
        #[expect(clippy::cast_possible_truncation, reason = "targets are single precision")]
        let targets = ArrayD::from_shape_fn(vec![points.len(), 1], |at| wave(points[at[0]]) as f32);
        let network = Network::new(&[2]).dense(32).tanh().dense(32).tanh().dense(1);
        let watch = run.training("steps");
        let trained = Training::regressor(&network)
            .steps(run.pick(3000, 2000, 200))
            .batch(64)
            .rate(0.005)
            .held_out(0.0)
            .seed(run.seed_value())
            .progress(&watch)
            .run_with_targets(&plane::samples("draws of p", &points), &targets)?;
        Ok(trained.model()?.onnx().save(&path)?)
    })?;
    Ok(Model::open(&path)?)
}

/// Gradient and second derivatives at points.
pub(super) fn derivatives(
    run: &Run<'_>,
    model: &Model,
    points: &[Point],
) -> Result<Vec<Row>, Error> {
    let wants = Wants { gradient: true, diagonal: true, ..Wants::default() };
    let target = Some("output".parse()?);
    let derived = model.derive(&Request { target, wants, ..Request::default() })?;
    let engine = run.engine_used();
    let compiled = derived.compile(&engine.backend, engine.threads)?;
    let input = derived.wrt().to_owned();
    let mut rows = Vec::with_capacity(points.len());
    for part in points.chunks(ROWS) {
        let values = Value::from(plane::samples("points", part).values().clone());
        let outputs = compiled.run(&[(&input, &values)], rows.len())?;
        let plain =
            |value: Option<Value>| value.map(|v| v.to_f64().into_iter().collect::<Vec<_>>());
        let (Some(gradient), Some(diagonal)) = (plain(outputs.gradient), plain(outputs.diagonal))
        else {
            return Err(refused("the engine gave no derivatives"));
        };
        rows.extend(part.iter().enumerate().map(|(i, x)| Row {
            x: *x,
            gradient: [gradient[2 * i], gradient[2 * i + 1]],
            diagonal: [diagonal[2 * i], diagonal[2 * i + 1]],
        }));
    }
    Ok(rows)
}
