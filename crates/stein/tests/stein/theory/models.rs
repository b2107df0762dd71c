//! Networks, and what the library says of them.

use ndarray::ArrayD;
use taste_engine::{Backend, Model, Request, Target, Value, Wants};
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto},
};
use taste_stats::random::Random;
use taste_stein::{Raw, Residuals, fields::Field, operators};

use super::{
    density::{double_rows, single},
    estimate::Estimate,
};
use crate::common::engine;

/// Samples that go through an engine at once.
const CHUNK: usize = 4096;

fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| single(v)).collect()
}

/// Rows of weights as the columns of a matrix.
fn columns(weights: &[Vec<f64>]) -> Vec<f32> {
    (0..weights[0].len()).flat_map(|d| weights.iter().map(move |w| single(w[d]))).collect()
}

/// A network of one hidden layer, Σ outᵢ·activation(inᵢ·x + biasᵢ), by its weights.
pub(crate) fn one_hidden(
    weights: &[Vec<f64>],
    biases: &[f64],
    outs: &[f64],
    activation: &str,
) -> Model {
    let (hidden, dimension) = (weights.len(), weights[0].len());
    let columns = columns(weights);
    let initializer = vec![
        builders::tensor_f32("w", &[dimension, hidden], &columns),
        builders::tensor_f32("b", &[hidden], &singles(biases)),
        builders::tensor_f32("a", &[hidden, 1], &singles(outs)),
    ];
    let nodes = vec![
        builders::node("Gemm", &["x", "w", "b"], &["z"], "dense"),
        builders::node(activation, &["z"], &["h"], "act"),
        builders::node("MatMul", &["h", "a"], &["y"], "out"),
    ];
    model(nodes, initializer, &[dimension], 1)
}

/// w·x + bias for every row w of the weights.
pub(crate) fn linear(weights: &[Vec<f64>], bias: &[f64]) -> Model {
    let (outputs, dimension) = (weights.len(), weights[0].len());
    let columns = columns(weights);
    let initializer = vec![
        builders::tensor_f32("w", &[dimension, outputs], &columns),
        builders::tensor_f32("b", &[outputs], &singles(bias)),
    ];
    let nodes = vec![builders::node("Gemm", &["x", "w", "b"], &["y"], "dense")];
    model(nodes, initializer, &[dimension], outputs)
}

/// Convolution, activation, convolution with stride, activation, dense: 1 × 6 × 6 images to three classes.
pub(crate) fn convolutional(activation: &str, seed: u64) -> Model {
    let mut random = Random::new(seed);
    let mut draw = |name: &str, dims: &[usize], scale: f64| {
        let count = dims.iter().product();
        let values: Vec<f32> = (0..count).map(|_| single(random.normal() * scale)).collect();
        builders::tensor_f32(name, dims, &values)
    };
    let initializer = vec![
        draw("k0", &[4, 1, 3, 3], 0.45),
        draw("c0", &[4], 0.3),
        draw("k1", &[4, 4, 3, 3], 0.25),
        draw("c1", &[4], 0.3),
        draw("w", &[36, 3], 0.4),
        draw("b", &[3], 0.3),
    ];
    let mut first = builders::node("Conv", &["x", "k0", "c0"], &["z0"], "conv0");
    first.attribute.push(builders::attr_ints("pads", &[1, 1, 1, 1]));
    let mut second = builders::node("Conv", &["h0", "k1", "c1"], &["z1"], "conv1");
    second.attribute.push(builders::attr_ints("pads", &[1, 1, 1, 1]));
    second.attribute.push(builders::attr_ints("strides", &[2, 2]));
    let nodes = vec![
        first,
        builders::node(activation, &["z0"], &["h0"], "act0"),
        second,
        builders::node(activation, &["z1"], &["h1"], "act1"),
        builders::node("Flatten", &["h1"], &["flat"], "flatten"),
        builders::node("Gemm", &["flat", "w", "b"], &["y"], "dense"),
    ];
    model(nodes, initializer, &[1, 6, 6], 3)
}

fn model(
    node: Vec<NodeProto>,
    initializer: Vec<taste_onnx::proto::TensorProto>,
    sample: &[usize],
    outputs: usize,
) -> Model {
    let batch = DimSpec::Symbol("N".into());
    let shape = |sizes: &[usize]| -> Vec<DimSpec> {
        let fixed = sizes.iter().map(|&n| DimSpec::Fixed(n as i64));
        std::iter::once(batch.clone()).chain(fixed).collect()
    };
    let graph = GraphProto {
        name: "network".into(),
        input: vec![builders::value_info("x", ElemType::F32, &shape(sample))],
        output: vec![builders::value_info("y", ElemType::F32, &shape(&[outputs]))],
        node,
        initializer,
        ..GraphProto::default()
    };
    Model::from_onnx("network.onnx", taste_onnx::Model::new(builders::model(graph, 20)))
}

fn parts(samples: &ArrayD<f32>) -> impl Iterator<Item = ArrayD<f32>> {
    let axis = ndarray::Axis(0);
    samples.axis_chunks_iter(axis, CHUNK).map(|part| part.to_owned())
}

/// Raw residuals, in single precision.
pub(crate) fn residuals(
    model: &Model,
    score: &dyn Field,
    operator: &str,
    target: Option<Target>,
    with_map: bool,
    samples: &ArrayD<f32>,
) -> Raw {
    residuals_on(&Backend::RTEN, model, score, operator, target, with_map, samples)
}

/// Raw residuals, computed by an engine.
pub(crate) fn residuals_on(
    backend: &Backend,
    model: &Model,
    score: &dyn Field,
    operator: &str,
    target: Option<Target>,
    with_map: bool,
    samples: &ArrayD<f32>,
) -> Raw {
    let wants = Wants { diagonal: with_map, ..Wants::default() };
    let asked = Request { target, wants, ..Request::default() };
    let parsed = operators::parse(operator).expect("an operator");
    let residuals = Residuals::new(model, score, &*parsed, &asked, &engine(backend))
        .unwrap_or_else(|e| panic!("{operator}: {e}"));
    let found: Vec<Raw> =
        parts(samples).map(|part| residuals.of(&part).expect("residuals")).collect();
    let axis = ndarray::Axis(0);
    let components: Vec<_> = found.iter().map(|r| r.components.view()).collect();
    let maps: Option<Vec<_>> = found.iter().map(|r| r.map.as_ref().map(|m| m.view())).collect();
    Raw {
        components: ndarray::concatenate(axis, &components).expect("equal widths"),
        map: maps.map(|maps| ndarray::concatenate(axis, &maps).expect("equal shapes")),
    }
}

/// The mean residual of the only function, or of a given one.
pub(crate) fn mean_residual(
    model: &Model,
    score: &dyn Field,
    operator: &str,
    target: Target,
    samples: &ArrayD<f32>,
) -> Estimate {
    let found = residuals(model, score, operator, Some(target), false, samples);
    Estimate::of_column(&found.components.column(0))
}

/// f and ∇f at a sample.
pub(crate) struct First {
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f64>,
}

/// f and ∇f, sample by sample.
pub(crate) fn first(model: &Model, target: Target, samples: &ArrayD<f32>) -> Vec<First> {
    let wants = Wants { gradient: true, ..Wants::default() };
    let asked = Request { target: Some(target), wants, ..Request::default() };
    let derived = model.derive(&asked).expect("a derivative");
    let compiled = derived.compile(&Backend::RTEN, 1).expect("an engine");
    let run = |part: ArrayD<f32>| {
        let found = compiled.run(&[(derived.wrt(), &Value::from(part))], 0).expect("derivatives");
        let gradients = double_rows(&found.gradient.expect("a gradient").to_f32());
        let values = found.value.to_f32();
        let pair = |(&value, gradient)| First { value: f64::from(value), gradient };
        values.iter().zip(gradients).map(pair).collect::<Vec<_>>()
    };
    parts(samples).flat_map(run).collect()
}

/// x·y.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
