//! Operators of classical models, from the domain ai.onnx.ml.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{DType, Dim, Id, OpError, Tensor, algebra::Concat};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    arg::ArgExtreme,
    arithmetic::Div,
    cast::Cast,
    functions::softmax_argument,
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

/// W and b of a linear model, row by row.
struct Weights {
    rows: usize,
    matrix: Vec<f64>,
    intercepts: Vec<f64>,
}

impl Weights {
    /// Reads them for `count` features and a number of rows, or as many as there are.
    fn read(r: &mut Reader<'_, '_>, count: usize, rows: Option<usize>) -> Result<Self, OpError> {
        let (matrix, intercepts) = (r.weights("coefficients"), r.weights("intercepts"));
        let rows = rows.unwrap_or_else(|| matrix.len().checked_div(count).unwrap_or(0));
        if rows == 0 || rows.checked_mul(count) != Some(matrix.len()) {
            return Err(OpError::shape("coefficients", (rows, count), matrix.len()));
        }
        if ![0, rows].contains(&intercepts.len()) {
            return Err(OpError::shape("intercepts", rows, intercepts.len()));
        }
        Ok(Self { rows, matrix, intercepts })
    }

    /// The second of two rows, if the first is its negative.
    fn second_of_opposites(&self) -> Option<Self> {
        let opposite = |values: &[f64]| {
            let (first, second) = values.split_at(values.len() / 2);
            first.iter().zip(second).all(|(a, b)| a + b == 0.0)
        };
        let half = |values: &[f64]| values[values.len() / 2..].to_vec();
        (self.rows == 2 && opposite(&self.matrix) && opposite(&self.intercepts)).then(|| Self {
            rows: 1,
            matrix: half(&self.matrix),
            intercepts: half(&self.intercepts),
        })
    }

    /// x Wᵀ + b.
    fn apply(self, r: &mut Reader<'_, '_>, x: Id, count: usize) -> Result<Id, OpError> {
        let matrix = ArrayD::from_shape_vec(IxDyn(&[self.rows, count]), self.matrix)
            .map_err(|e| OpError::invalid(e.to_string()))?;
        let matrix = matrix.reversed_axes().as_standard_layout().into_owned();
        let matrix = r.b.graph_mut().constant(matrix.into());
        let y = r.b.push(MatMul, &[x, matrix])?;
        if self.intercepts.is_empty() {
            return Ok(y);
        }
        let intercepts = vector(r, self.intercepts);
        r.b.add(y, intercepts)
    }
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
    let (x, count) = features(r)?;
    let weights = Weights::read(r, count, None)?;
    let classes = weights.rows.max(2);
    let logistic = post == "LOGISTIC";
    let weights = weights.second_of_opposites().filter(|_| logistic).unwrap_or(weights);
    let single = weights.rows == 1;
    let scores = weights.apply(r, x, count)?;
    let scores = match (single, post.as_str()) {
        // 1 − σ(s) and σ(s).
        (true, "LOGISTIC") => {
            let zeros = r.b.zeros_like(scores)?;
            let pair = r.b.push(Concat { axis: 1 }, &[zeros, scores])?;
            r.b.push(Softmax { axis: 1, log: false }, &[pair])?
        }
        (true, "NONE") => {
            let first = r.b.neg(scores)?;
            r.b.push(Concat { axis: 1 }, &[first, scores])?
        }
        (true, _) => return Err(OpError::unsupported("post_transform of one score", post)),
        (false, name) => transform(r, scores, name)?,
    };
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
    let targets = usize::try_from(targets).map_err(|_| OpError::unsupported("targets", targets))?;
    let (x, count) = features(r)?;
    let y = Weights::read(r, count, Some(targets))?.apply(r, x, count)?;
    Ok(vec![transform(r, y, &post)?])
}

/// x over a norm of its sample.
fn read_normalizer(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (x, _) = features(r)?;
    let norm = r.string_or("norm", "MAX");
    Ok(vec![match norm.as_str() {
        // It sums to one already.
        "L1" if softmax_argument(r.b.graph(), x).is_some() => x,
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
    let opposites = Sample::new("opposite rows").active(&[2, 2]).batched();
    let opposites = floats(opposites, "coefficients", &[0.5, -0.3, -0.5, 0.3]);
    let opposites = floats(opposites, "intercepts", &[0.2, -0.2]);
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
        opposites.string("post_transform", "LOGISTIC").results(2),
        linear_sample("two logistic rows", 2)
            .string("post_transform", "LOGISTIC")
            .int_list("classlabels_ints", &[0, 1])
            .results(2),
        linear_sample("scores of one row", 1).int_list("classlabels_ints", &[0, 1]).results(2),
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
