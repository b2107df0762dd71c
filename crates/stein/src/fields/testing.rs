//! What the tests of score models share.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn};
use taste_data::Samples;
use taste_detector::passes::{Gathered, Watch, gather_inputs};
use taste_engine::{Backend, Value};
use taste_graph::{Build, Dim, Fact, Graph};
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto, TensorProto},
};
use taste_stats::random::Random;
use tempfile::NamedTempFile;

use super::Field;
use crate::Error;

/// Standard normal samples: rows × columns.
pub(crate) fn normal_samples(rows: usize, columns: usize, seed: u64) -> ArrayD<f32> {
    let mut random = Random::new(seed);
    ArrayD::from_shape_simple_fn(IxDyn(&[rows, columns]), || single(random.normal()))
}

/// m + A·z for every row z.
pub(crate) fn affine(rows: &ArrayD<f32>, a: &Array2<f64>, mean: &Array1<f64>) -> ArrayD<f32> {
    let mut out = ArrayD::zeros(rows.raw_dim());
    for (z, mut x) in rows.axis_iter(Axis(0)).zip(out.axis_iter_mut(Axis(0))) {
        let z: Array1<f64> = z.iter().map(|&v| f64::from(v)).collect();
        let moved = a.dot(&z) + mean;
        x.iter_mut().zip(&moved).for_each(|(x, v)| *x = single(*v));
    }
    out
}

/// Samples of some columns as rows, in double precision.
pub(crate) fn matrix(samples: &ArrayD<f32>, columns: usize) -> Array2<f64> {
    let shape = (samples.shape()[0], columns);
    samples.mapv(f64::from).into_shape_with_order(shape).expect("rows of these columns")
}

/// What one pass over samples gathers.
pub(crate) fn gathered(samples: &dyn Samples, watches: &[Watch]) -> Gathered {
    gather_inputs(samples, watches, &|_| ControlFlow::Continue(())).expect("a pass")
}

#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
pub(crate) fn single(value: f64) -> f32 {
    value as f32
}

fn run(model: &dyn Field, y: &Value, backend: &Backend) -> Result<ArrayD<f64>, Error> {
    let mut graph = Graph::new();
    let sample = y.shape()[1..].iter().map(|&d| Dim::from(d));
    let input = graph.input("y", Fact::float(std::iter::once(Dim::BATCH).chain(sample).collect()));
    let score = model.build(&mut Build::new(&mut graph), input)?;
    assert_eq!(graph.fact(score), graph.fact(input));
    let session = backend.compile(&graph, &[("score".to_owned(), score)], 1)?;
    Ok(session.run(&[("y", y)])?[0].to_f64())
}

/// s at every sample, in double precision.
pub(crate) fn try_scores(model: &dyn Field, y: &ArrayD<f32>) -> Result<ArrayD<f64>, Error> {
    run(model, &Value::F32(y.clone()), &Backend::REFERENCE)
}

/// s at every sample, in double precision.
pub(crate) fn scores(model: &dyn Field, y: &ArrayD<f32>) -> ArrayD<f64> {
    try_scores(model, y).expect("the score runs")
}

/// s at points in double precision.
pub(crate) fn scores_at(model: &dyn Field, y: &Array2<f64>) -> Array2<f64> {
    let scores = run(model, &Value::F64(y.clone().into_dyn()), &Backend::REFERENCE);
    scores.expect("the score runs").into_dimensionality().expect("a matrix")
}

/// The embedded engine gives what the reference gives.
#[track_caller]
pub(crate) fn engines_agree(model: &dyn Field, y: &ArrayD<f32>) {
    let y = Value::F32(y.clone());
    let exact = run(model, &y, &Backend::REFERENCE).expect("the reference runs");
    let single = run(model, &y, &Backend::RTEN).expect("rten runs");
    let size = exact.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    let worst = (&exact - &single).iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(worst < 1e-4 * size, "engines differ by {worst} on scores of size {size}");
}

/// s is the gradient of a log density, by central differences.
#[track_caller]
pub(crate) fn is_gradient(
    model: &dyn Field,
    log_density: impl Fn(&Array2<f64>) -> Array1<f64>,
    points: &Array2<f64>,
) {
    let scores = scores_at(model, points);
    let step = 1e-5;
    for axis in 0..points.ncols() {
        let moved = |by: f64| {
            let mut moved = points.clone();
            moved.column_mut(axis).mapv_inplace(|v| v + by);
            log_density(&moved)
        };
        let slope = (moved(step) - moved(-step)) / (2.0 * step);
        for (got, want) in scores.column(axis).iter().zip(&slope) {
            assert!((got - want).abs() < 1e-5 * (1.0 + want.abs()), "{got} for {want}");
        }
    }
}

/// A node with one result, which names it.
pub(crate) fn node(op: &str, args: &[&str], out: &str) -> NodeProto {
    builders::node(op, args, &[out], out)
}

/// A file with the inputs x and, if it has a shape, t, and the output y; −1 is an open size.
pub(crate) fn file(
    x: &[i64],
    t: Option<(ElemType, &[i64])>,
    nodes: Vec<NodeProto>,
    tensors: Vec<TensorProto>,
) -> NamedTempFile {
    let dims = |sizes: &[i64]| -> Vec<DimSpec> {
        let named = |&d: &i64| if d < 0 { DimSpec::Symbol("N".into()) } else { DimSpec::Fixed(d) };
        sizes.iter().map(named).collect()
    };
    let mut input = vec![builders::value_info("x", ElemType::F32, &dims(x))];
    input.extend(t.map(|(kind, shape)| builders::value_info("t", kind, &dims(shape))));
    let graph = GraphProto {
        name: "network".into(),
        node: nodes,
        initializer: tensors,
        input,
        output: vec![builders::value_info("y", ElemType::F32, &[])],
        ..GraphProto::default()
    };
    let bytes = taste_onnx::Model::new(builders::model(graph, 17)).to_bytes().expect("encodes");
    let file = NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("written");
    file
}
