//! Linear models.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{Id, OpError, algebra::Concat};

use super::{entry, features, floats, label_of, transform, vector};
use crate::{Entry, Reader, Sample, matmul::MatMul, softmax::Softmax};

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

/// The label and the scores of a linear classifier. One row of weights for two classes scores the second;
/// labels that are names become positions.
fn read_classifier(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let post = r.string_or("post_transform", "NONE");
    let labels = r.ints("classlabels_ints");
    r.ignore("classlabels_strings");
    r.ignore("multi_class");
    let (x, count) = features(r)?;
    let weights = Weights::read(r, count, None)?;
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
    let label = label_of(r, scores, labels.as_deref())?;
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

pub(crate) const ENTRIES: &[Entry] = &[
    entry("LinearClassifier", read_classifier, classifier_samples),
    entry("LinearRegressor", read_regressor, regressor_samples),
];
