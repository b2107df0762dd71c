//! The operators that differentiation itself needs: sums, products, broadcasting and its adjoint,
//! and moving axes. Everything else is an operator of the crate above.

mod add;
mod concat;
mod constant;
mod expand;
mod mul;
mod reduce_sum;
mod reshape;
mod slice;
mod transpose;

pub use add::Add;
pub use concat::Concat;
pub use constant::{Constant, Input, ShapeOf};
pub use expand::Expand;
pub use mul::Mul;
pub use reduce_sum::ReduceSum;
pub use reshape::Reshape;
pub use slice::{Scatter, Slice, Span};
pub use transpose::Transpose;

use crate::{Concrete, DType, OpError, Tensor};

/// The shape that both shapes broadcast to, aligned from the right.
pub fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Vec<usize>, OpError> {
    let rank = a.len().max(b.len());
    let size = |s: &[usize], axis: usize| (axis + s.len()).checked_sub(rank).map_or(1, |i| s[i]);
    (0..rank)
        .map(|axis| match (size(a, axis), size(b, axis)) {
            (x, y) if x == y => Ok(x),
            (1, y) => Ok(y),
            (x, 1) => Ok(x),
            _ => Err(OpError::shape("shapes that broadcast", a, b)),
        })
        .collect()
}

/// The result of an element-by-element operator on two arguments.
pub fn infer_elementwise(a: &Concrete, b: &Concrete, out: DType) -> Result<Concrete, OpError> {
    if a.dtype != b.dtype {
        return Err(OpError::DType { want: a.dtype, got: b.dtype });
    }
    Ok(Concrete { dtype: out, shape: broadcast_shapes(&a.shape, &b.shape)? })
}

/// Applies `float` or `int` to every pair of elements after broadcasting.
pub fn zip_elements(
    a: &Tensor,
    b: &Tensor,
    float: impl Fn(f64, f64) -> f64,
    int: impl Fn(i64, i64) -> i64,
) -> Result<Tensor, OpError> {
    let shape = broadcast_shapes(a.shape(), b.shape())?;
    Ok(match (a, b) {
        (Tensor::Float(a), Tensor::Float(b)) => Tensor::from(zip_arrays(a, b, &shape, float)?),
        (Tensor::Int(a), Tensor::Int(b)) => Tensor::from(zip_arrays(a, b, &shape, int)?),
        _ => return Err(OpError::DType { want: a.dtype(), got: b.dtype() }),
    })
}

/// Applies `f` to every pair of elements after broadcasting to `shape`.
pub fn zip_arrays<A: Copy, B: Copy, C>(
    a: &crate::Array<A>,
    b: &crate::Array<B>,
    shape: &[usize],
    f: impl Fn(A, B) -> C,
) -> Result<ndarray::ArrayD<C>, OpError> {
    let spread = || OpError::invalid("shapes do not broadcast");
    let (a, b) = (a.broadcast(shape).ok_or_else(spread)?, b.broadcast(shape).ok_or_else(spread)?);
    Ok(ndarray::Zip::from(&a).and(&b).map_collect(|&x, &y| f(x, y)))
}
