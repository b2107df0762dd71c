//! Support vector machines: sums of kernels between samples and support vectors.

use ndarray::{Array2, ArrayD, IxDyn};
use taste_graph::{Build, Dim, Id, OpError, Tensor, algebra::Concat};

use super::{entry, features, floats, label_of};
use crate::{
    Entry, Reader, Sample,
    compare::{Compare, Where},
    functions::at_most,
    matmul::MatMul,
    pointwise::{ABS, EXP, RECIPROCAL, SIGMOID, TANH, Unary},
};

fn matrix(b: &mut Build<'_>, rows: usize, columns: usize, values: Vec<f64>) -> Result<Id, OpError> {
    Ok(b.graph_mut().stored(Tensor::floats(&[rows, columns], values)?))
}

/// The squared distance of every sample (N × D) to every row of a constant (M × D): N × M. Differences are taken before they
/// are squared, so that nothing cancels.
pub(crate) fn squared_distances(b: &mut Build<'_>, x: Id, others: Id) -> Result<Id, OpError> {
    let ([n, d], [m, _]) = (two(b, x)?, two(b, others)?);
    let x = b.reshape(x, &[n, Dim::from(1), d])?;
    let others = b.reshape(others, &[Dim::from(1), m, d])?;
    let apart = b.sub(x, others)?;
    let squares = crate::reduce::sum_square(b, apart, &[2])?;
    b.reshape(squares, &[n, m])
}

fn two(b: &Build<'_>, x: Id) -> Result<[Dim; 2], OpError> {
    let shape = &b.fact(x).shape;
    shape[..].try_into().map_err(|_| OpError::shape("a matrix of", "rank 2", shape.len()))
}

/// How samples and support vectors are compared.
struct Kernel {
    kind: String,
    gamma: f64,
    offset: f64,
    degree: f64,
}

impl Kernel {
    fn read(r: &mut Reader<'_, '_>) -> Result<Self, OpError> {
        let kind = r.string_or("kernel_type", "LINEAR");
        let (gamma, offset, degree) = match r.weights("kernel_params")[..] {
            [] => (0.0, 0.0, 0.0),
            [gamma, offset, degree] => (gamma, offset, degree),
            ref other => return Err(OpError::shape("kernel parameters", 3, other.len())),
        };
        Ok(Self { kind, gamma, offset, degree })
    }

    /// Samples (N × D) against vectors (M × D): N × M.
    fn apply(&self, b: &mut Build<'_>, x: Id, vectors: Array2<f64>) -> Result<Id, OpError> {
        if self.kind == "RBF" {
            let (rows, columns) = vectors.dim();
            let vectors = matrix(b, rows, columns, vectors.into_iter().collect())?;
            let apart = squared_distances(b, x, vectors)?;
            let apart = b.scale(apart, -self.gamma)?;
            return b.push(Unary(&EXP), &[apart]);
        }
        let (rows, columns) = vectors.dim();
        let across: Vec<f64> = vectors.t().iter().copied().collect();
        let vectors = matrix(b, columns, rows, across)?;
        let products = b.push(MatMul, &[x, vectors])?;
        if self.kind == "LINEAR" {
            return Ok(products);
        }
        let scaled = b.scale(products, self.gamma)?;
        let moved = b.offset(scaled, self.offset)?;
        match self.kind.as_str() {
            "SIGMOID" => b.push(Unary(&TANH), &[moved]),
            "POLY" if self.degree.fract() == 0.0 && (1.0..=16.0).contains(&self.degree) => {
                let (mut power, mut degree) = (moved, 1.0);
                while degree < self.degree {
                    power = b.mul(power, moved)?;
                    degree += 1.0;
                }
                Ok(power)
            }
            "POLY" => Err(OpError::unsupported("a kernel of degree", self.degree)),
            other => Err(OpError::unsupported("kernel_type", other)),
        }
    }
}

fn vectors(r: &mut Reader<'_, '_>, count: usize) -> Result<Array2<f64>, OpError> {
    let values = r.weights("support_vectors");
    let rows = values.len().checked_div(count).unwrap_or(0);
    Array2::from_shape_vec((rows, count), values)
        .map_err(|_| OpError::shape("support vectors of this many entries", count, rows))
}

/// Σ coefficient · kernel + rho; linear in the samples if there are no support vectors.
fn read_regressor(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let post = r.string_or("post_transform", "NONE");
    let kernel = Kernel::read(r)?;
    let supports = r.int_or("n_supports", 0);
    let one_class = r.flag("one_class", false);
    let (coefficients, rho) = (r.weights("coefficients"), r.weights("rho"));
    let (x, count) = features(r)?;
    let vectors = vectors(r, count)?;
    let [rho] = rho[..] else { return Err(OpError::shape("rho", 1, rho.len())) };
    let values = if supports == 0 { x } else { kernel.apply(&mut r.b, x, vectors)? };
    let rows = r.fixed_size(values, 1)?;
    let weights = matrix(&mut r.b, rows, 1, coefficients)?;
    let sums = r.b.push(MatMul, &[values, weights])?;
    let sums = r.b.offset(sums, rho)?;
    if one_class {
        // 1 inside, −1 outside.
        let zero = r.b.scalar(0.0);
        let outside = at_most(&mut r.b, sums, zero)?;
        let outside = r.b.scale(outside, -2.0)?;
        return Ok(vec![r.b.offset(outside, 1.0)?]);
    }
    Ok(vec![super::transform(r, sums, &post)?])
}

/// What every pair of classes says of a sample: one number a pair, above 0 for the first. With it the machine of two classes.
struct Machine {
    classes: usize,
    /// One column a pair: vectors × pairs.
    weights: Vec<f64>,
    rho: Vec<f64>,
}

impl Machine {
    fn new(
        per_class: &[i64],
        coefficients: &[f64],
        rho: Vec<f64>,
        count: usize,
    ) -> Result<Self, OpError> {
        let classes = per_class.len();
        let sizes = crate::reader::to_sizes(per_class)?;
        let pairs = classes * classes.saturating_sub(1) / 2;
        let total: usize = sizes.iter().sum();
        if classes < 2 || total != count || coefficients.len() != (classes - 1) * count {
            return Err(OpError::shape("coefficients", (classes, count), coefficients.len()));
        }
        if rho.len() != pairs {
            return Err(OpError::shape("rho for every pair of classes", pairs, rho.len()));
        }
        let starts: Vec<usize> =
            sizes.iter().scan(0, |at, s| Some(std::mem::replace(at, *at + s))).collect();
        let mut weights = vec![0.0; count * pairs];
        let mut pair = 0;
        for i in 0..classes {
            for j in i + 1..classes {
                for v in starts[i]..starts[i] + sizes[i] {
                    weights[v * pairs + pair] = coefficients[(j - 1) * count + v];
                }
                for v in starts[j]..starts[j] + sizes[j] {
                    weights[v * pairs + pair] = coefficients[i * count + v];
                }
                pair += 1;
            }
        }
        Ok(Self { classes, weights, rho })
    }
}

/// The label and the scores of classes, or of pairs of them if there are no probabilities.
fn read_classifier(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let post = r.string_or("post_transform", "NONE");
    let labels = r.ints("classlabels_ints");
    r.ignore("classlabels_strings");
    let kernel = Kernel::read(r)?;
    let per_class = r.ints("vectors_per_class").unwrap_or_default();
    let (coefficients, rho) = (r.weights("coefficients"), r.weights("rho"));
    let (prob_a, prob_b) = (r.weights("prob_a"), r.weights("prob_b"));
    let (x, count) = features(r)?;
    let vectors = vectors(r, count)?;
    if post != "NONE" || per_class.is_empty() {
        return Err(OpError::unsupported("a support vector machine with post_transform", post));
    }
    let supports = vectors.nrows();
    let machine = Machine::new(&per_class, &coefficients, rho, supports)?;
    let kernels = kernel.apply(&mut r.b, x, vectors)?;
    let pairs = machine.rho.len();
    let weights = matrix(&mut r.b, supports, pairs, machine.weights)?;
    let sums = r.b.push(MatMul, &[kernels, weights])?;
    let rho = super::vector(r, machine.rho);
    let sums = r.b.add(sums, rho)?;
    let scores = match (machine.classes, &prob_a[..], &prob_b[..]) {
        // Platt's sigmoid of the one pair.
        (2, [a], [b]) => {
            let fitted = r.b.scale(sums, -a)?;
            let fitted = r.b.offset(fitted, -b)?;
            let pair = r.b.push(Unary(&SIGMOID), &[fitted])?;
            let first = coupled(&mut r.b, pair)?;
            let second = r.b.from_offset(1.0, first)?;
            r.b.push(Concat { axis: 1 }, &[first, second])?
        }
        (2, [], []) => {
            let other = r.b.neg(sums)?;
            let scores = r.b.push(Concat { axis: 1 }, &[sums, other])?;
            let label = label_of(r, scores, labels.as_deref())?;
            return Ok(vec![label, scores]);
        }
        (_, [], []) => {
            let votes = votes(r, sums, machine.classes)?;
            let label = label_of(r, votes, labels.as_deref())?;
            return Ok(vec![label, sums]);
        }
        _ => {
            return Err(OpError::unsupported(
                "probabilities of more than two classes, which are found by iteration",
                machine.classes,
            ));
        }
    };
    let label = label_of(r, scores, labels.as_deref())?;
    Ok(vec![label, scores])
}

/// libsvm takes what a pair says for an equation that it solves by steps, from one half on, until this error is left.
const LEFT: f64 = 0.005 / 2.0;
/// Steps that two classes take at most, whatever the pair says.
const MOST_STEPS: usize = 2;

/// The probability of the first of two classes where the pair says r: close to r, and as far from it as libsvm stops, which
/// is 0.003 in places. A step goes from p by e = p − r to r + a, and from there by a to r − b.
fn coupled(b: &mut Build<'_>, pair: Id) -> Result<Id, OpError> {
    let half = b.scalar(0.5);
    let mut first = b.zeros_like(pair)?;
    first = b.offset(first, 0.5)?;
    for _ in 0..MOST_STEPS {
        let abs = |b: &mut Build<'_>, x| b.push(Unary(&ABS), &[x]);
        let error =
            b.formula([pair, first], |[r, p]| (p - r).then(abs) * (0.5 + (p - 0.5).then(abs)))?;
        let limit = b.scalar(LEFT);
        let ends = b.push(Compare::Less, &[error, limit])?;
        // Who is there goes nowhere; from one half the step has no small denominators, and so have its derivatives.
        let from = b.push(Where, &[ends, half, first])?;
        let inverse = |b: &mut Build<'_>, x| b.push(Unary(&RECIPROCAL), &[x]);
        let next = b.formula([pair, from], |[r, p]| {
            let e = (p - r).square();
            let a = e * (1.0 - r) * ((1.0 - r) * (1.0 - p) + e).then(inverse);
            let square = a.square();
            r - square * r * (r * (r + a) + square).then(inverse)
        })?;
        first = b.push(Where, &[ends, first, next])?;
    }
    Ok(first)
}

/// How many pairs speak for each class.
fn votes(r: &mut Reader<'_, '_>, sums: Id, classes: usize) -> Result<Id, OpError> {
    let pairs = r.fixed_size(sums, 1)?;
    let zero = r.b.scalar(0.0);
    let first = r.b.push(Compare::Greater, &[sums, zero])?;
    let first = r.b.push(crate::cast::Cast { to: taste_graph::DType::Float }, &[first])?;
    // A pair (i, j) adds first to i and 1 − first to j.
    let mut gain = ArrayD::zeros(IxDyn(&[pairs, classes]));
    let mut base = vec![0.0; classes];
    let mut pair = 0;
    for i in 0..classes {
        for j in i + 1..classes {
            gain[[pair, i]] = 1.0;
            gain[[pair, j]] = -1.0;
            base[j] += 1.0;
            pair += 1;
        }
    }
    let gain = r.b.graph_mut().constant(gain.into());
    let votes = r.b.push(MatMul, &[first, gain])?;
    let base = super::vector(r, base);
    r.b.add(votes, base)
}

fn machine_sample(title: &str) -> Sample {
    let sample = Sample::new(title).active(&[2, 2]).batched();
    let sample = floats(sample, "support_vectors", &[0.5, -0.2, 0.1, 0.9, -0.4, 0.3]);
    floats(sample, "kernel_params", &[0.5, 0.2, 3.0])
}

fn regressor_samples() -> Vec<Sample> {
    let with = |title: &str, kind: &str| {
        let sample = machine_sample(title).string("kernel_type", kind).int("n_supports", 3);
        floats(floats(sample, "coefficients", &[0.7, -1.2, 0.4]), "rho", &[0.3])
    };
    vec![
        with("radial", "RBF"),
        with("linear", "LINEAR"),
        with("cubic", "POLY"),
        with("tanh", "SIGMOID"),
    ]
}

fn classifier_samples() -> Vec<Sample> {
    let two = |title: &str| {
        let sample = machine_sample(title)
            .string("kernel_type", "RBF")
            .int_list("vectors_per_class", &[1, 2])
            .int_list("classlabels_ints", &[0, 1])
            .results(2);
        floats(floats(sample, "coefficients", &[0.7, -0.5, -0.2]), "rho", &[0.1])
    };
    let three = machine_sample("three classes")
        .string("kernel_type", "RBF")
        .int_list("vectors_per_class", &[1, 1, 1])
        .int_list("classlabels_ints", &[0, 1, 2])
        .results(2);
    let three = floats(three, "coefficients", &[0.7, -0.5, -0.2, 0.3, 0.4, -0.6]);
    vec![
        two("two classes"),
        floats(floats(two("probabilities"), "prob_a", &[-1.3]), "prob_b", &[0.2]),
        floats(three, "rho", &[0.1, -0.2, 0.05]),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry("SVMClassifier", read_classifier, classifier_samples),
    entry("SVMRegressor", read_regressor, regressor_samples),
];
