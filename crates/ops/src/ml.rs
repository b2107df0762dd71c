//! Operators of classical models, from the domain ai.onnx.ml.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{DType, Dim, Id, OpError, Tensor, algebra::Concat};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    arg::ArgExtreme,
    arithmetic::Div,
    cast::Cast,
    gather::GatherNd,
    matmul::MatMul,
    norm::LpNormalization,
    pointwise::{SIGMOID, Unary},
    reduce::{Extreme, ReduceExtreme, magnitude},
    softmax::Softmax,
};

/// The features of samples: a matrix of floats, and how many columns it has.
fn features(r: &mut Reader<'_, '_>) -> Result<(Id, usize), OpError> {
    let [x] = r.take()?;
    let x = match r.fact(x).dtype {
        DType::Float => x,
        _ => r.b.push(Cast { to: DType::Float }, &[x])?,
    };
    match r.rank(x) {
        1 => {
            let size = r.fixed_size(x, 0)?;
            Ok((r.b.reshape(x, &[Dim::from(1), Dim::from(size)])?, size))
        }
        2 => Ok((x, r.fixed_size(x, 1)?)),
        rank => Err(OpError::shape("a matrix of features", "rank 2", rank)),
    }
}

fn vector(r: &mut Reader<'_, '_>, values: Vec<f64>) -> Id {
    let shape = IxDyn(&[values.len()]);
    r.b.graph_mut().constant(ArrayD::from_shape_vec(shape, values).unwrap_or_default().into())
}

/// (x − offset) · scale.
fn read_scaler(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (mut y, count) = features(r)?;
    let (offset, scale) = (r.weights("offset"), r.weights("scale"));
    for values in [&offset, &scale] {
        if ![0, 1, count].contains(&values.len()) {
            return Err(OpError::shape("one number a feature", count, values.len()));
        }
    }
    if !offset.is_empty() {
        let offset = vector(r, offset);
        y = r.b.sub(y, offset)?;
    }
    if !scale.is_empty() {
        let scale = vector(r, scale);
        y = r.b.mul(y, scale)?;
    }
    Ok(vec![y])
}

/// x Wᵀ + b, where `rows` of W are given one after the other.
fn linear(r: &mut Reader<'_, '_>, rows: Option<usize>) -> Result<(Id, usize), OpError> {
    let (x, count) = features(r)?;
    let (weights, intercepts) = (r.weights("coefficients"), r.weights("intercepts"));
    let rows = rows.unwrap_or_else(|| weights.len().checked_div(count).unwrap_or(0));
    let misfit = || OpError::shape("coefficients", (rows, count), weights.len());
    if rows == 0 || rows.checked_mul(count) != Some(weights.len()) {
        return Err(misfit());
    }
    let matrix = ArrayD::from_shape_vec(IxDyn(&[rows, count]), weights.clone());
    let matrix = matrix.map_err(|_| misfit())?.reversed_axes().as_standard_layout().into_owned();
    let matrix = r.b.graph_mut().constant(matrix.into());
    let mut y = r.b.push(MatMul, &[x, matrix])?;
    if !intercepts.is_empty() {
        if intercepts.len() != rows {
            return Err(OpError::shape("intercepts", rows, intercepts.len()));
        }
        let intercepts = vector(r, intercepts);
        y = r.b.add(y, intercepts)?;
    }
    Ok((y, rows))
}

fn transform(r: &mut Reader<'_, '_>, scores: Id, name: &str) -> Result<Id, OpError> {
    match name {
        "NONE" => Ok(scores),
        "LOGISTIC" => r.b.push(Unary(&SIGMOID), &[scores]),
        "SOFTMAX" => r.b.push(Softmax { axis: 1, log: false }, &[scores]),
        _ => Err(OpError::unsupported("post_transform", name)),
    }
}

/// The label and the scores of a linear classifier. One row of weights for two classes scores the second;
/// labels that are names become positions.
fn read_classifier(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let post = r.string_or("post_transform", "NONE");
    let labels = r.ints("classlabels_ints");
    r.ignore("classlabels_strings");
    r.ignore("multi_class");
    let (mut scores, rows) = linear(r, None)?;
    if rows == 1 {
        if post == "SOFTMAX" {
            return Err(OpError::unsupported("post_transform of one score", post));
        }
        let first = r.b.neg(scores)?;
        scores = r.b.push(Concat { axis: 1 }, &[first, scores])?;
    }
    let classes = rows.max(2);
    let scores = transform(r, scores, &post)?;
    let batch = r.fact(scores).shape[0];
    let best = ArgExtreme { axis: 1, extreme: Extreme::Max, last: false };
    let mut label = r.b.push(best, &[scores])?;
    if let Some(labels) = labels.filter(|l| !l.is_empty()) {
        if labels.len() != classes {
            return Err(OpError::shape("labels", classes, labels.len()));
        }
        let labels = r.b.graph_mut().constant(Tensor::ints(&labels));
        label = r.b.push(GatherNd { lead: 0 }, &[labels, label])?;
    }
    let label = r.b.reshape(label, &[batch])?;
    Ok(vec![label, scores])
}

fn read_regressor(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let post = r.string_or("post_transform", "NONE");
    let targets = r.int_or("targets", 1);
    let targets =
        usize::try_from(targets).map_err(|_| OpError::unsupported("targets", targets))?;
    let (y, _) = linear(r, Some(targets))?;
    Ok(vec![transform(r, y, &post)?])
}

/// x over a norm of its sample.
fn read_normalizer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (x, _) = features(r)?;
    let norm = r.string_or("norm", "MAX");
    Ok(vec![match norm.as_str() {
        "L1" | "L2" => r.b.push(LpNormalization { axis: 1, euclidean: norm == "L2" }, &[x])?,
        "MAX" => {
            let sizes = magnitude(&mut r.b, x)?;
            let max = ReduceExtreme { axes: vec![1], extreme: Extreme::Max, frozen: false };
            let max = r.b.push(max, &[sizes])?;
            r.b.push(Div { fixed: false }, &[x, max])?
        }
        _ => return Err(OpError::unsupported("norm", norm)),
    }])
}

/// Scores by class stay the matrix that they are.
fn read_zip_map(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    r.ignore("classlabels_int64s");
    r.ignore("classlabels_strings");
    Ok(vec![r.arg(0)?])
}

fn floats(sample: Sample, name: &str, values: &[f32]) -> Sample {
    sample.attribute(builders::attr_floats(name, values))
}

fn scaler_samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 3]).batched();
    vec![
        floats(floats(of("by feature"), "offset", &[0.5, -1.0, 0.2]), "scale", &[2.0, 0.5, 3.0]),
        floats(floats(of("one for all"), "offset", &[0.5]), "scale", &[2.0]),
        floats(of("no offset"), "scale", &[2.0]),
    ]
}

fn linear_sample(title: &str, rows: usize) -> Sample {
    const WEIGHTS: [f32; 9] = [0.5, -0.3, 0.8, -0.6, 0.1, 0.9, -0.2, 0.7, -0.4];
    let sample = Sample::new(title).active(&[2, 3]).batched();
    let sample = floats(sample, "coefficients", &WEIGHTS[..3 * rows]);
    floats(sample, "intercepts", &[0.1, -0.2, 0.3][..rows])
}

fn classifier_samples() -> Vec<Sample> {
    vec![
        linear_sample("softmax", 3)
            .string("post_transform", "SOFTMAX")
            .int_list("classlabels_ints", &[4, 7, 9])
            .int("multi_class", 1)
            .results(2),
        linear_sample("one row", 1)
            .string("post_transform", "LOGISTIC")
            .int_list("classlabels_ints", &[0, 1])
            .results(2),
        linear_sample("scores", 2).int_list("classlabels_ints", &[0, 1]).results(2),
    ]
}

fn regressor_samples() -> Vec<Sample> {
    vec![linear_sample("one target", 1), linear_sample("two targets", 2).int("targets", 2)]
}

fn normalizer_samples() -> Vec<Sample> {
    let mixed = Tensor::from(ndarray::arr2(&[[0.5, -0.7, -1.5], [2.0, -0.3, 1.2]]).into_dyn());
    let of = |norm: &str| Sample::new(norm).fed(mixed.clone()).string("norm", norm).batched();
    vec![of("L1"), of("L2"), of("MAX")]
}

fn zip_map_samples() -> Vec<Sample> {
    vec![
        Sample::new("two classes")
            .active(&[2, 2])
            .int_list("classlabels_int64s", &[0, 1])
            .batched(),
    ]
}

const fn entry(
    name: &'static str,
    read: fn(&mut Reader<'_, '_>) -> Result<Vec<Id>, OpError>,
    samples: fn() -> Vec<Sample>,
) -> Entry {
    Entry { name, domain: "ai.onnx.ml", read, samples }
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry("LinearClassifier", read_classifier, classifier_samples),
    entry("LinearRegressor", read_regressor, regressor_samples),
    entry("Normalizer", read_normalizer, normalizer_samples),
    entry("Scaler", read_scaler, scaler_samples),
    entry("ZipMap", read_zip_map, zip_map_samples),
];
