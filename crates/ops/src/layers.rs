//! Layers of networks as functions, for crates that build networks of their own.
//!
//! Images are batch × channels × height × width.

use taste_graph::{Build, Dim, Id, OpError};

use crate::{
    activation::{Gelu, Softplus, Swish},
    pointwise::{COS, SIGMOID, SIN, Unary},
};
pub use crate::{
    conv::{convolve, convolve_between},
    norm::{normalize_groups, normalize_last},
    pool::{average_pool, max_pool, max_pool_between},
};

/// σ(x).
pub fn sigmoid(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&SIGMOID), &[x])
}

/// x·σ(x).
pub fn silu(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(Swish { alpha: 1.0 }), &[x])
}

/// x·Φ(x) with the normal distribution function Φ.
pub fn gelu(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(Gelu), &[x])
}

/// log(1 + eˣ).
pub fn softplus(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(Softplus), &[x])
}

/// sin(x).
pub fn sin(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&SIN), &[x])
}

/// cos(x).
pub fn cos(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&COS), &[x])
}

/// Every pixel as a square of `factor` × `factor`.
pub fn enlarge(b: &mut Build<'_>, x: Id, factor: usize) -> Result<Id, OpError> {
    let [n, channels, height, width] = b.fact(x).shape[..] else {
        return Err(OpError::shape("axes of images", 4, b.fact(x).rank()));
    };
    let scaled = |d: Dim| Dim { per_batch: 0, fixed: d.fixed.saturating_mul(factor as i64) };
    let (one, times) = (Dim::from(1), Dim::from(factor));
    let x = b.reshape(x, &[n, channels, height, one, width, one])?;
    let x = b.expand(x, &[n, channels, height, times, width, times])?;
    b.reshape(x, &[n, channels, scaled(height), scaled(width)])
}
