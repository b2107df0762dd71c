//! Operators as functions, for crates that build graphs of their own.

use taste_graph::{
    Build, Graph, Id, OpError,
    algebra::{Concat, Slice, Span},
    downcast,
};

use crate::{
    matmul::MatMul,
    pointwise::{SQRT, Unary},
    pool::FirstMax,
    softmax::Softmax,
};

/// exp(x) / Σ exp(x) along an axis.
pub fn softmax(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    b.push(Softmax { axis, log: false }, &[x])
}

/// The logarithm of softmax along an axis.
pub fn log_softmax(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    b.push(Softmax { axis, log: true }, &[x])
}

/// What softmax was applied to, if that is how a value was made.
pub fn softmax_argument(graph: &Graph, id: Id) -> Option<Id> {
    let node = graph.node_of(id);
    let softmax = downcast::<Softmax>(&*node.op)?;
    (!softmax.log && softmax.axis + 1 == graph.fact(id).rank()).then(|| node.args[0])
}

/// 1 at the first largest element along an axis, 0 elsewhere.
pub fn first_max(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    b.push(FirstMax { axis }, &[x])
}

/// The product of matrices in the last two axes.
pub fn matmul(b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
    b.push(MatMul, &[x, y])
}

/// √x.
pub fn sqrt(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&SQRT), &[x])
}

/// Σ x² along an axis, which stays with size 1.
pub fn square_sum(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    let squares = b.square(x)?;
    b.sum(squares, &[axis])
}

/// Values one after the other along an axis.
pub fn concat(b: &mut Build<'_>, parts: &[Id], axis: usize) -> Result<Id, OpError> {
    b.push(Concat { axis }, parts)
}

/// `len` positions from `start` along an axis.
pub fn slice(
    b: &mut Build<'_>,
    x: Id,
    axis: usize,
    start: usize,
    len: usize,
) -> Result<Id, OpError> {
    b.push(Slice::along(axis, Span { start, step: 1, len }), &[x])
}
