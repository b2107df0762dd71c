//! The features of the Stein profile.
//!
//! With z the logits, gᵢ = ∇zᵢ, p = softmax z, k the likeliest class, ḡ = Σ pᵢgᵢ and s the field, the features
//! are log‖r‖, log‖(s·∇pᵢ)ᵢ‖, log‖(s·gᵢ)ᵢ‖, asinh(s·ḡ/m), log‖`g_k`‖², log mean‖gᵢ‖², cos(s, `g_k`), cos(s, ḡ) and, on
//! request, log‖s‖. A confident wrong answer makes probability residuals tiny and logit drifts large; novelty does
//! the reverse: together they need no choice of a tail.

use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;

/// What the features are made of.
pub(super) struct Ingredients {
    /// r: N × K.
    pub(super) residuals: Id,
    /// s·∇p: N × K.
    pub(super) drifts: Id,
    /// ∂z/∂x: N × K × D.
    pub(super) jacobian: Id,
    /// p: N × K.
    pub(super) probabilities: Id,
    /// 1 at the likeliest class: N × K.
    pub(super) predicted: Id,
    /// s: N × D.
    pub(super) field: Id,
}

/// The feature that is divided by its median size and passed through asinh.
pub(super) const ENERGY_DRIFT: usize = 3;

/// Keeps logarithms and quotients finite in single precision.
pub(super) const TINY: f64 = 1e-30;

/// The raw features: N × F. The energy drift is left as it is, since its scale is not known yet.
pub(super) fn features(
    b: &mut Build<'_>,
    of: &Ingredients,
    with_field: bool,
) -> Result<Id, OpError> {
    let [rows, width] = [b.fact(of.probabilities).shape[0], b.fact(of.probabilities).shape[1]];
    let (one, entries) = (Dim::from(1), b.fact(of.field).shape[1]);
    let field = b.reshape(of.field, &[rows, entries, one])?;
    let along = functions::matmul(b, of.jacobian, field)?;
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
    let field_length = functions::square_sum(b, of.field, 1)?;
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
        let (a, c) = (b.offset(length, TINY)?, b.offset(field_length, TINY)?);
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
    if with_field {
        columns.push(log_norm(b, of.field)?);
    }
    functions::concat(b, &columns, 1)
}
