//! A model, data, and two small methods.

use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};
use taste_data::InMemory;
use taste_detector::{
    Baseline, Detector, Engine, Error, Fit, Job, Map, Method, Needs, Part, Settings, Split,
    Statistic, Step,
    passes::{Gather, Gathered, Watch},
    refused,
};
use taste_engine::{Backend, Model};
use taste_graph::{Build, Id, OpError, Tensor};
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};
use taste_ops::functions;
use taste_stats::{linear, random::Random};

/// Entries of a sample.
pub(crate) const WIDTH: usize = 4;

/// One thread of the embedded engine.
pub(crate) fn engine() -> Engine {
    Engine { backend: Backend::RTEN, threads: 1 }
}

/// Half of the held-out samples for the tails.
pub(crate) fn halves() -> Settings {
    Settings { tails: 0.5, ..Settings::default() }
}

/// w·x + b with three outputs.
pub(crate) fn model() -> Model {
    let weights: Vec<f32> = (0..WIDTH * 3).map(|i| 0.1 * i as f32 - 0.5).collect();
    let dims = |n: usize| [DimSpec::Symbol("N".into()), DimSpec::Fixed(n as i64)];
    let graph = GraphProto {
        name: "linear".into(),
        node: vec![builders::node("Gemm", &["x", "w", "b"], &["y"], "dense")],
        initializer: vec![
            builders::tensor_f32("w", &[WIDTH, 3], &weights),
            builders::tensor_f32("b", &[3], &[0.1, 0.2, -0.3]),
        ],
        input: vec![builders::value_info("x", ElemType::F32, &dims(WIDTH))],
        output: vec![builders::value_info("y", ElemType::F32, &dims(3))],
        ..GraphProto::default()
    };
    Model::from_onnx("linear.onnx", taste_onnx::Model::new(builders::model(graph, 20)))
}

/// A classifier of three classes that fills in missing values first.
pub(crate) fn imputing() -> Model {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/fixtures/classical");
    Model::open(&std::path::Path::new(fixtures).join("imputer.onnx")).expect("a fixture")
}

/// Standard normal samples that lack a share of their entries.
pub(crate) fn lacking(rows: usize, share: f64, seed: u64) -> InMemory {
    let mut random = Random::new(seed ^ 0x51);
    let lack = |v: f32| if random.uniform() < share { f32::NAN } else { v };
    InMemory::new("lacking", normal(rows, 0.0, seed).values().clone().mapv_into(lack))
}

/// Standard normal samples, moved by `shift` in every entry.
#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
pub(crate) fn normal(rows: usize, shift: f64, seed: u64) -> InMemory {
    let mut random = Random::new(seed);
    let shape = IxDyn(&[rows, WIDTH]);
    let values = ArrayD::from_shape_simple_fn(shape, || (random.normal() + shift) as f32);
    InMemory::new("normal", values)
}

/// Fits a method on this machine.
pub(crate) fn fitted(method: impl Method + 'static, settings: Settings, rows: usize) -> Detector {
    let model = model();
    let fit = Fit::new(&model, Arc::new(method)).settings(settings).engine(engine());
    fit.run(&normal(rows, 0.0, 2), None).expect("a detector")
}

/// The first entry of a sample is its score.
#[derive(Debug)]
pub(crate) struct Column;

impl Method for Column {
    fn name(&self) -> &'static str {
        "column"
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let (x, rows) = (job.draft.input(), job.draft.rows());
        let mut b = job.draft.build();
        let first = functions::slice(&mut b, x, 1, 0, 1)?;
        Ok(Statistic::new(b.reshape(first, &[rows])?).into())
    }
}

/// (x − m)ᵀ Σ⁻¹ (x − m) with mean and covariance of the training samples; its terms, less their means on held-out
/// samples, are part and map.
#[derive(Debug)]
pub(crate) struct Distance;

impl Method for Distance {
    fn name(&self) -> &'static str {
        "distance"
    }

    fn needs(&self) -> Needs {
        Needs { learns: true, tails: true, ..Needs::default() }
    }

    fn begin(&self, _: &mut Job<'_>) -> Result<Step, Error> {
        let watches = vec![Watch::input("samples", Gather::Covariance)];
        Ok(Step::pass("samples for the covariance", Split::Fit, watches, terms))
    }
}

fn row(b: &mut Build<'_>, values: &[f64]) -> Result<Id, OpError> {
    Ok(b.graph_mut().constant(Tensor::floats(&[1, values.len()], values.to_vec())?))
}

fn terms(job: &mut Job<'_>, seen: &Gathered) -> Result<Step, Error> {
    let found = seen.covariance("samples")?;
    let precision = found.matrix().and_then(|m| linear::inverse(&m));
    let precision = precision.ok_or_else(|| refused("too few samples"))?;
    let (x, seed) = (job.draft.input(), job.settings.seed);
    let mut b = job.draft.build();
    let mean = row(&mut b, &found.mean().to_vec())?;
    let off = b.sub(x, mean)?;
    let entries = precision.iter().copied().collect();
    let precision = b.graph_mut().constant(Tensor::floats(precision.shape(), entries)?);
    let pulled = functions::matmul(&mut b, off, precision)?;
    let terms = b.mul(off, pulled)?;
    let watches = vec![
        Watch::value("terms", terms, Gather::Moments),
        Watch::value("some", terms, Gather::Rows { most: 30, seed, whole: false }),
        Watch::input("ranges", Gather::Range),
    ];
    Ok(Step::pass("samples for the spread", Split::Tails, watches, move |job, seen| {
        finish(job, terms, seen)
    }))
}

fn finish(job: &mut Job<'_>, terms: Id, seen: &Gathered) -> Result<Step, Error> {
    let baseline =
        Baseline::of(seen.moments("terms")?).ok_or_else(|| refused("too few samples"))?;
    let rows = job.draft.rows();
    let mut b = job.draft.build();
    let means = row(&mut b, &baseline.means)?;
    let less = b.sub(terms, means)?;
    let sum = b.sum(terms, &[1])?;
    let mut statistic = Statistic::new(b.reshape(sum, &[rows])?);
    #[expect(clippy::cast_possible_truncation, reason = "files are single precision")]
    let deviations = baseline.deviations.iter().map(|&d| d as f32).collect();
    statistic.map = Some(Map { id: less, means: Vec::new(), deviations, one_sided: false });
    statistic.parts.push(Part {
        role: taste_detector::Role::Plain,
        name: "terms".to_owned(),
        id: less,
        columns: (0..WIDTH).map(|i| format!("term {i}")).collect(),
        baseline: Some(baseline),
    });
    statistic.facts = serde_json::json!({
        "ranges": seen.range("ranges")?,
        "some": seen.rows("some")?.keys,
    });
    Ok(statistic.into())
}
