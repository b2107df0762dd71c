//! Small models and data for the tests.

use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};
use taste_data::{InMemory, Samples};
use taste_detector::{Baseline, Detector, Engine, Fit};
use taste_engine::{Backend, Model};
use taste_graph::{Build, Id};
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};
use taste_stats::random::Random;
use taste_stein::{
    Error, Settings, SteinMethod, Tail, aggregates,
    fields::{Field, FieldSpec, Learner, Learning},
    operators,
};

/// One thread of an engine.
pub(crate) fn engine(backend: &Backend) -> Engine {
    Engine { backend: backend.clone(), threads: 1 }
}

/// A detector to be. Half of the held-out samples gives the baseline, half calibrates.
pub(crate) struct Trial<'m> {
    model: &'m Model,
    stein: Settings,
    pub(crate) shared: taste_detector::Settings,
    engine: Engine,
}

impl<'m> Trial<'m> {
    /// With a score model of the tests.
    pub(crate) fn new(model: &'m Model, field: impl FieldSpec + 'static) -> Self {
        Self::with(model, Settings::with(Arc::new(field), "of a test"))
    }

    /// With a score model of the library.
    pub(crate) fn named(model: &'m Model, field: &str) -> Self {
        Self::with(model, Settings::new(field).expect("a score model"))
    }

    fn with(model: &'m Model, stein: Settings) -> Self {
        let shared = taste_detector::Settings { tails: 0.5, ..taste_detector::Settings::default() };
        Self { model, stein, shared, engine: engine(&Backend::RTEN) }
    }

    pub(crate) fn aggregate(mut self, text: &str) -> Self {
        self.stein.aggregate = Some(aggregates::parse(text).expect("an aggregate"));
        self
    }

    pub(crate) fn operator(mut self, text: &str) -> Self {
        self.stein.operator = operators::parse(text).expect("an operator");
        self
    }

    pub(crate) fn target(mut self, text: &str) -> Self {
        self.stein.target = Some(text.parse().expect("a target"));
        self
    }

    pub(crate) fn tail(mut self, tail: Tail) -> Self {
        self.stein.tail = Some(tail);
        self
    }

    pub(crate) fn precondition(mut self, text: &str) -> Self {
        self.stein.precondition = Some(text.parse().expect("a precondition"));
        self
    }

    pub(crate) fn laplacian(mut self, text: &str) -> Self {
        self.stein.laplacian = text.parse().expect("a Laplacian method");
        self
    }

    pub(crate) fn baseline(mut self, text: &str) -> Self {
        self.stein.baseline = text.parse().expect("a baseline");
        self
    }

    pub(crate) fn alpha(mut self, alpha: f64) -> Self {
        self.shared.alpha = alpha;
        self
    }

    pub(crate) fn map(mut self, map: bool) -> Self {
        self.shared.map = Some(map);
        self
    }

    pub(crate) fn on(mut self, backend: &Backend) -> Self {
        self.engine = engine(backend);
        self
    }

    /// The fit itself.
    pub(crate) fn fit(&self) -> Fit<'m> {
        Fit::new(self.model, Arc::new(SteinMethod::new(self.stein.clone())))
            .settings(self.shared.clone())
            .engine(self.engine.clone())
    }

    pub(crate) fn run(&self, train: &dyn Samples) -> Result<Detector, Error> {
        self.fit().run(train, None)
    }
}

/// How the residual of every class, or of the only function, varied.
pub(crate) fn baseline(detector: &Detector) -> &Baseline {
    let parts = &detector.manifest().parts;
    parts.last().and_then(|p| p.baseline.as_ref()).expect("residuals with a baseline")
}

#[expect(clippy::cast_possible_truncation, reason = "models and samples are single precision")]
pub(crate) fn single(value: f64) -> f32 {
    value as f32
}

/// A network of dense layers; the last one has no activation.
pub(crate) fn network(widths: &[usize], activation: &str, seed: u64) -> Model {
    let mut random = Random::new(seed);
    let mut graph = GraphProto { name: "network".into(), ..GraphProto::default() };
    let mut current = "x".to_owned();
    for (i, pair) in widths.windows(2).enumerate() {
        let [from, to] = *pair else { continue };
        let scale = (1.5 / from as f64).sqrt();
        let draw = |random: &mut Random, n: usize, scale: f64| -> Vec<f32> {
            (0..n).map(|_| single(random.normal() * scale)).collect()
        };
        let (w, b) = (format!("w{i}"), format!("b{i}"));
        graph.initializer.push(builders::tensor_f32(
            &w,
            &[from, to],
            &draw(&mut random, from * to, scale),
        ));
        graph.initializer.push(builders::tensor_f32(&b, &[to], &draw(&mut random, to, 0.3)));
        let out = format!("z{i}");
        graph.node.push(builders::node("Gemm", &[&current, &w, &b], &[&out], &format!("dense{i}")));
        current = out;
        if i + 2 < widths.len() {
            let out = format!("h{i}");
            graph.node.push(builders::node(activation, &[&current], &[&out], &format!("act{i}")));
            current = out;
        }
    }
    let batch = DimSpec::Symbol("N".into());
    let dims = |n: usize| [batch.clone(), DimSpec::Fixed(n as i64)];
    graph.input.push(builders::value_info("x", ElemType::F32, &dims(widths[0])));
    graph.output.push(builders::value_info(
        &current,
        ElemType::F32,
        &dims(widths[widths.len() - 1]),
    ));
    Model::from_onnx("network.onnx", taste_onnx::Model::new(builders::model(graph, 20)))
}

/// Standard normal samples, moved by `shift` in every entry.
pub(crate) fn normal(rows: usize, dimension: usize, shift: f64, seed: u64) -> InMemory {
    let mut random = Random::new(seed);
    let values = (0..rows * dimension).map(|_| single(random.normal() + shift)).collect();
    let array =
        ArrayD::from_shape_vec(IxDyn(&[rows, dimension]), values).expect("rows × dimension");
    InMemory::new("normal", array)
}

/// s(y) = −factor · y: the score of a standard normal, if the factor is 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled(pub(crate) f64);

impl Field for Scaled {
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "family": "scaled", "factor": self.0 })
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        Ok(b.scale(y, -self.0)?)
    }
}

impl FieldSpec for Scaled {
    fn learns(&self) -> bool {
        false
    }

    fn begin(&self, _: &Learner<'_>) -> Result<Learning, Error> {
        Ok(Learning::done(*self))
    }
}
