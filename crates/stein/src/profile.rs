//! The Stein profile: residuals and drifts of several functions of one model, joined by a one-class rule.
//!
//! With z the logits, gᵢ = ∇zᵢ, p = softmax z, k the likeliest class, ḡ = Σ pᵢgᵢ and s the score, the features
//! are log‖r‖, log‖(s·∇pᵢ)ᵢ‖, log‖(s·gᵢ)ᵢ‖, asinh(s·ḡ/m), log‖`g_k`‖², log mean‖gᵢ‖², cos(s, `g_k`), cos(s, ḡ) and, on
//! request, log‖s‖. A confident wrong answer makes probability residuals tiny and logit drifts large; novelty does
//! the reverse: together they need no choice of a tail.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;

use crate::{Error, error::request, stats::quantile::Quantile};

/// What the features are made of.
pub(crate) struct Ingredients {
    /// r: N × K.
    pub(crate) residuals: Id,
    /// s·∇p: N × K.
    pub(crate) drifts: Id,
    /// ∂z/∂x: N × K × D.
    pub(crate) jacobian: Id,
    /// p: N × K.
    pub(crate) probabilities: Id,
    /// 1 at the likeliest class: N × K.
    pub(crate) predicted: Id,
    /// s: N × D.
    pub(crate) score: Id,
}

/// The feature that is divided by its median size and passed through asinh.
const ENERGY_DRIFT: usize = 3;

/// Keeps logarithms and quotients finite in single precision.
const TINY: f64 = 1e-30;

/// The features whose logarithms reach down to rounding: those of residuals and of drifts of probabilities.
const ROUNDED: usize = 2;
/// Where probabilities saturate, residuals of a smooth model are differences that rounding leaves at about 1e-7 of
/// what residuals are elsewhere. Below this share of them, their logarithm is not looked at.
const LEAST_SHARE: f64 = 3e-3;

/// ∇p = p·(g − ḡ) for every class: N × K × D.
pub(crate) fn probability_gradients(
    b: &mut Build<'_>,
    jacobian: Id,
    probabilities: Id,
) -> Result<Id, OpError> {
    let [rows, width] = [b.fact(probabilities).shape[0], b.fact(probabilities).shape[1]];
    let row = b.reshape(probabilities, &[rows, Dim::from(1), width])?;
    let mean = functions::matmul(b, row, jacobian)?;
    let off = b.sub(jacobian, mean)?;
    let column = b.reshape(probabilities, &[rows, width, Dim::from(1)])?;
    b.mul(off, column)
}

/// The raw features: N × F. The energy drift is left as it is, since its scale is not known yet.
pub(crate) fn features(
    b: &mut Build<'_>,
    of: &Ingredients,
    with_score: bool,
) -> Result<Id, OpError> {
    let [rows, width] = [b.fact(of.probabilities).shape[0], b.fact(of.probabilities).shape[1]];
    let (one, entries) = (Dim::from(1), b.fact(of.score).shape[1]);
    let score = b.reshape(of.score, &[rows, entries, one])?;
    let along = functions::matmul(b, of.jacobian, score)?;
    let logit_drifts = b.reshape(along, &[rows, width])?;
    let squares = functions::square_sum(b, of.jacobian, 2)?;
    let lengths = b.reshape(squares, &[rows, width])?;
    let pick = |b: &mut Build<'_>, weights: Id, values: Id| -> Result<Id, OpError> {
        let product = b.mul(weights, values)?;
        b.sum(product, &[1])
    };
    let energy_drift = pick(b, of.probabilities, logit_drifts)?;
    let predicted_drift = pick(b, of.predicted, logit_drifts)?;
    let predicted_length = pick(b, of.predicted, lengths)?;
    let row = b.reshape(of.probabilities, &[rows, one, width])?;
    let mean = functions::matmul(b, row, of.jacobian)?;
    let mean_length = functions::square_sum(b, mean, 2)?;
    let mean_length = b.reshape(mean_length, &[rows, one])?;
    let score_length = functions::square_sum(b, of.score, 1)?;
    let log = |b: &mut Build<'_>, x: Id, factor: f64| -> Result<Id, OpError> {
        let floored = b.offset(x, TINY)?;
        let log = functions::log(b, floored)?;
        b.scale(log, factor)
    };
    let log_norm = |b: &mut Build<'_>, x: Id| -> Result<Id, OpError> {
        let square = functions::square_sum(b, x, 1)?;
        log(b, square, 0.5)
    };
    let cosine = |b: &mut Build<'_>, dot: Id, length: Id| -> Result<Id, OpError> {
        // The roots apart: a product of squared lengths may leave single precision.
        let (a, c) = (b.offset(length, TINY)?, b.offset(score_length, TINY)?);
        let (a, c) = (functions::sqrt(b, a)?, functions::sqrt(b, c)?);
        let (a, c) = (functions::reciprocal(b, a)?, functions::reciprocal(b, c)?);
        let scaled = b.mul(dot, a)?;
        b.mul(scaled, c)
    };
    let total = b.sum(lengths, &[1])?;
    let classes = width.as_fixed().map_or(1.0, |k| k as f64);
    let average = b.scale(total, 1.0 / classes)?;
    let mut columns = vec![
        log_norm(b, of.residuals)?,
        log_norm(b, of.drifts)?,
        log_norm(b, logit_drifts)?,
        energy_drift,
        log(b, predicted_length, 1.0)?,
        log(b, average, 1.0)?,
        cosine(b, predicted_drift, predicted_length)?,
        cosine(b, energy_drift, mean_length)?,
    ];
    if with_score {
        columns.push(log_norm(b, of.score)?);
    }
    functions::concat(b, &columns, 1)
}

/// The one-class rule: class-conditional means, one covariance for all classes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// What the energy drift is divided by before asinh.
    pub(crate) drift_scale: f64,
    /// The least values of the features that reach down to rounding, if the residuals are such.
    pub(crate) floors: Option<[f64; ROUNDED]>,
    /// What every feature is centred and divided by.
    pub(crate) centre: Array1<f64>,
    pub(crate) scale: Array1<f64>,
    /// The mean of the standardised features by predicted class: K × F.
    pub(crate) means: Array2<f64>,
    /// W with W·Wᵀ = Σ⁻¹, so that the squared distance is ‖(z − μ)W‖²: F × F.
    pub(crate) whitening: Array2<f64>,
}

impl Rule {
    /// Fits the rule to raw features (n × F) with the predicted class of each row.
    pub(crate) fn fit(
        raw: &ArrayView2<'_, f64>,
        classes: &[usize],
        class_count: usize,
        rounded: bool,
    ) -> Result<Self, Error> {
        let (n, f) = raw.dim();
        if n < 2 * f {
            return Err(request(format!(
                "the profile needs at least {} samples besides those of the calibration, and there are {n}",
                2 * f
            )));
        }
        let drift_scale = median(raw.column(ENERGY_DRIFT).iter().map(|v| v.abs()).collect())
            .max(f64::from(f32::MIN_POSITIVE));
        let mut z = raw.to_owned();
        let floors = rounded.then(|| {
            [0, 1].map(|at| {
                let top = Quantile::Linear.of(&raw.column(at).to_vec(), 0.99);
                top.unwrap_or(0.0) + LEAST_SHARE.ln()
            })
        });
        for (at, floor) in floors.iter().flatten().enumerate() {
            z.column_mut(at).mapv_inplace(|v| v.max(*floor));
        }
        z.column_mut(ENERGY_DRIFT).mapv_inplace(|v| (v / drift_scale).asinh());
        let centre: Array1<f64> =
            z.axis_iter(Axis(1)).map(|c| median(c.iter().copied().collect())).collect();
        let scale = z.std_axis(Axis(0), 1.0).mapv(|s| if s > 1e-12 { s } else { 1.0 });
        z = (z - &centre) / &scale;
        // A class that is hardly ever predicted borrows from the mean of all: shrink towards it.
        let overall = z.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(f));
        let mut means = Array2::zeros((class_count, f));
        let mut counts = vec![0.0; class_count];
        for (row, &k) in z.outer_iter().zip(classes) {
            means.row_mut(k).scaled_add(1.0, &row);
            counts[k] += 1.0;
        }
        for (mut mean, count) in means.outer_iter_mut().zip(&counts) {
            mean.scaled_add(BORROWED, &overall);
            mean /= count + BORROWED;
        }
        let mut covariance = Array2::<f64>::eye(f) * RIDGE;
        for (row, &k) in z.outer_iter().zip(classes) {
            let off = (&row - &means.row(k)).insert_axis(Axis(1));
            covariance.scaled_add(1.0 / n as f64, &off.dot(&off.t()));
        }
        let whitening = inverse_factor(&covariance)
            .ok_or_else(|| request("the features of the profile are not finite on the data"))?;
        Ok(Self { drift_scale, floors, centre, scale, means, whitening })
    }
}

/// How many samples the mean of all classes counts as.
const BORROWED: f64 = 10.0;
/// What is added to the diagonal of the covariance of standardised features.
const RIDGE: f64 = 0.01;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    f64::midpoint(values[(n - 1) / 2], values[n / 2])
}

/// W with W·Wᵀ = A⁻¹, from the Cholesky factor A = L·Lᵀ: W = L⁻ᵀ.
fn inverse_factor(a: &Array2<f64>) -> Option<Array2<f64>> {
    let n = a.nrows();
    let mut l = Array2::<f64>::zeros((n, n));
    for i in 0..n {
        for j in 0..=i {
            let dot = l.row(i).dot(&l.row(j));
            let rest = a[[i, j]] - dot;
            if i == j {
                if rest.is_nan() || rest <= 0.0 {
                    return None;
                }
                l[[i, i]] = rest.sqrt();
            } else {
                l[[i, j]] = rest / l[[j, j]];
            }
        }
    }
    // Columns of L⁻¹ by forward substitution.
    let mut inverse = Array2::<f64>::zeros((n, n));
    for c in 0..n {
        for i in c..n {
            let unit = f64::from(u8::from(i == c));
            let dot: f64 = (c..i).map(|k| l[[i, k]] * inverse[[k, c]]).sum();
            inverse[[i, c]] = (unit - dot) / l[[i, i]];
        }
    }
    Some(inverse.reversed_axes())
}

/// Parameters of the rule in the graph.
pub(crate) struct RuleIds {
    pub(crate) drift_scale: Id,
    pub(crate) floors: Option<Id>,
    pub(crate) centre: Id,
    pub(crate) scale: Id,
    pub(crate) means: Id,
    pub(crate) whitening: Id,
}

/// The squared Mahalanobis distance to the mean of the predicted class: N.
pub(crate) fn distance(
    b: &mut Build<'_>,
    raw: Id,
    predicted: Id,
    rule: &RuleIds,
) -> Result<Id, OpError> {
    let (rows, count) = (b.fact(raw).shape[0], b.fact(raw).shape[1]);
    let count = count.as_fixed().and_then(|c| usize::try_from(c).ok()).unwrap_or(0);
    let mut before = functions::slice(b, raw, 1, 0, ENERGY_DRIFT)?;
    if let Some(floors) = rule.floors {
        let rounded = functions::slice(b, raw, 1, 0, ROUNDED)?;
        let above = b.sub(rounded, floors)?;
        let above = functions::relu(b, above)?;
        let floored = b.add(above, floors)?;
        let others = functions::slice(b, raw, 1, ROUNDED, ENERGY_DRIFT - ROUNDED)?;
        before = functions::concat(b, &[floored, others], 1)?;
    }
    let drift = functions::slice(b, raw, 1, ENERGY_DRIFT, 1)?;
    let after = functions::slice(b, raw, 1, ENERGY_DRIFT + 1, count - ENERGY_DRIFT - 1)?;
    let inverse = functions::reciprocal(b, rule.drift_scale)?;
    let relative = b.mul(drift, inverse)?;
    let bent = asinh(b, relative)?;
    let joined = functions::concat(b, &[before, bent, after], 1)?;
    let centred = b.sub(joined, rule.centre)?;
    let inverse = functions::reciprocal(b, rule.scale)?;
    let z = b.mul(centred, inverse)?;
    let mean = functions::matmul(b, predicted, rule.means)?;
    let off = b.sub(z, mean)?;
    let white = functions::matmul(b, off, rule.whitening)?;
    let square = functions::square_sum(b, white, 1)?;
    b.reshape(square, &[rows])
}

/// asinh(x) = sign(x)·log(|x| + √(x² + 1)).
fn asinh(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let size = functions::abs(b, x)?;
    let square = b.square(x)?;
    let root = b.offset(square, 1.0)?;
    let root = functions::sqrt(b, root)?;
    let sum = b.add(size, root)?;
    let log = functions::log(b, sum)?;
    let floored = b.offset(size, TINY)?;
    let inverse = functions::reciprocal(b, floored)?;
    let sign = b.mul(x, inverse)?;
    b.mul(log, sign)
}
