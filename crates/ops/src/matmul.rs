//! Products of matrices.

use ndarray::{Array2, ArrayD, ArrayViewD, Axis, Dimension, Ix2, IxDyn};
use taste_graph::{
    Array, Bilinear, Build, Calculus, Concrete, DType, Emitter, Id, Lift, Op, OpError, Side,
    Tensor, algebra::broadcast_shapes, take,
};

use crate::{Entry, Reader, Sample};

/// The product of the last two axes; leading axes broadcast. Both arguments have at least two axes.
#[derive(Clone, Debug)]
pub(crate) struct MatMul;

impl Op for MatMul {
    fn name(&self) -> &'static str {
        "MatMul"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [a, b] = take(args)?;
        let (Some((lead_a, [m, k])), Some((lead_b, [k2, n]))) =
            (a.shape.split_last_chunk::<2>(), b.shape.split_last_chunk::<2>())
        else {
            return Err(OpError::shape("matrices", "rank 2", (&a.shape, &b.shape)));
        };
        if k != k2 {
            return Err(OpError::shape("equal inner sizes", &a.shape, &b.shape));
        }
        if a.dtype != DType::Float || b.dtype != DType::Float {
            return Err(OpError::unsupported("a product of matrices of", a.dtype));
        }
        let mut shape = broadcast_shapes(lead_a, lead_b)?;
        shape.extend([*m, *n]);
        Ok(vec![Concrete::float(shape)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [a, b] = take(args)?;
        let out = self.infer(&[a.concrete(), b.concrete()])?.swap_remove(0);
        Ok(vec![product(a.as_float()?, b.as_float()?, &out.shape)?.into()])
    }

    fn steps(&self, args: &[Concrete], results: &[Concrete]) -> usize {
        let inner = args.first().and_then(|a| a.shape.last()).copied().unwrap_or(1);
        let products = results.iter().fold(1usize, |n, c| n.saturating_add(c.len()));
        args.iter().fold(products.saturating_mul(inner.max(1)), |n, a| n.saturating_add(a.len()))
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Bilinear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("MatMul", args, vec![])])
    }
}

/// A stack of matrices with its leading axes broadcast.
fn spread<'x>(x: &'x Array<f64>, lead: &[usize]) -> Result<ArrayViewD<'x, f64>, OpError> {
    let full = [lead, &x.shape()[x.ndim() - 2..]].concat();
    x.broadcast(IxDyn(&full)).ok_or_else(|| OpError::invalid("shapes do not broadcast"))
}

fn product(a: &Array<f64>, b: &Array<f64>, shape: &[usize]) -> Result<ArrayD<f64>, OpError> {
    if b.ndim() == 2 && a.ndim() > 2 {
        // One matrix on the right: all rows at once.
        let columns = a.shape()[a.ndim() - 1];
        let rows = a.len().checked_div(columns).unwrap_or(0);
        let misfit = |e: ndarray::ShapeError| OpError::invalid(e.to_string());
        let a = a.to_shape((rows, columns)).map_err(misfit)?;
        let b = b.view().into_dimensionality::<Ix2>().map_err(misfit)?;
        let product = a.dot(&b).as_standard_layout().into_owned();
        return product.into_shape_with_order(IxDyn(shape)).map_err(misfit);
    }
    let lead = &shape[..shape.len() - 2];
    let (a, b) = (spread(a, lead)?, spread(b, lead)?);
    let mut out = Vec::with_capacity(shape.iter().product());
    for at in ndarray::indices(IxDyn(lead)) {
        let matrix = |x: &ArrayViewD<'_, f64>| -> Result<Array2<f64>, OpError> {
            let x = at.slice().iter().fold(x.view(), |x, &i| x.index_axis_move(Axis(0), i));
            let x = x.into_dimensionality::<Ix2>().map_err(|e| OpError::invalid(e.to_string()))?;
            Ok(x.to_owned())
        };
        out.extend(matrix(&a)?.dot(&matrix(&b)?).as_standard_layout().iter());
    }
    ArrayD::from_shape_vec(IxDyn(shape), out).map_err(|e| OpError::invalid(e.to_string()))
}

/// The last two axes exchanged.
pub(crate) fn swap_last(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let rank = b.fact(x).rank();
    if rank < 2 {
        return Err(OpError::shape("a matrix of at least rank", 2, rank));
    }
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(rank - 1, rank - 2);
    b.transpose(x, &perm)
}

impl Bilinear for MatMul {
    fn transpose(
        &self,
        b: &mut Build<'_>,
        side: Side,
        [lhs, rhs]: [Id; 2],
        ct: Id,
    ) -> Result<Id, OpError> {
        let (product, this) = match side {
            Side::Lhs => {
                let rhs = swap_last(b, rhs)?;
                (b.push(MatMul, &[ct, rhs])?, lhs)
            }
            Side::Rhs => {
                let lhs = swap_last(b, lhs)?;
                (b.push(MatMul, &[lhs, ct])?, rhs)
            }
        };
        b.sum_to(product, this)
    }
}

/// The product in the sense of numpy: vectors become matrices and lose the axis again.
fn read_matmul(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [a, b] = r.take()?;
    let (shape_a, shape_b) = (r.fact(a).shape.clone(), r.fact(b).shape.clone());
    if shape_a.is_empty() || shape_b.is_empty() {
        return Err(OpError::shape("at least a vector", "rank 1", "a scalar"));
    }
    let a = if shape_a.len() == 1 { r.b.reshape(a, &[1.into(), shape_a[0]])? } else { a };
    let b = if shape_b.len() == 1 { r.b.reshape(b, &[shape_b[0], 1.into()])? } else { b };
    let y = r.b.push(MatMul, &[a, b])?;
    let mut shape = r.fact(y).shape.clone();
    if shape_b.len() == 1 {
        shape.pop();
    }
    if shape_a.len() == 1 {
        // The row axis is the last, or the one before a column axis that is still there.
        shape.remove(shape.len() - if shape_b.len() == 1 { 1 } else { 2 });
    }
    Ok(vec![r.b.reshape(y, &shape)?])
}

fn read_gemm(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [mut a, mut b] = r.take()?;
    for x in [a, b] {
        if r.rank(x) != 2 {
            return Err(OpError::shape("a matrix of rank", 2, r.rank(x)));
        }
    }
    let (alpha, beta) = (r.float_or("alpha", 1.0), r.float_or("beta", 1.0));
    if r.flag("transA", false) {
        a = swap_last(&mut r.b, a)?;
    }
    if r.flag("transB", false) {
        b = swap_last(&mut r.b, b)?;
    }
    // A constant factor goes into the weights once rather than into every result.
    if r.b.graph().as_constant(b).is_some() {
        b = r.b.scale(b, alpha)?;
    } else {
        a = r.b.scale(a, alpha)?;
    }
    let y = r.b.push(MatMul, &[a, b])?;
    match r.optional(2) {
        Some(c) => {
            let c = r.b.scale(c, beta)?;
            Ok(vec![r.b.add(y, c)?])
        }
        None => Ok(vec![y]),
    }
}

fn matmul_samples() -> Vec<Sample> {
    vec![
        Sample::new("weights on the right").active(&[2, 3]).fixed(&[3, 4]).batched(),
        Sample::new("both vary").active(&[2, 3]).active(&[3, 2]),
        Sample::new("stacks of matrices").active(&[2, 2, 3]).active(&[2, 3, 2]).batched(),
        Sample::new("broadcast stacks").active(&[2, 1, 2, 3]).active(&[2, 3, 2]),
        Sample::new("vector on the left").active(&[3]).active(&[3, 2]),
        Sample::new("vector on the right").active(&[2, 3]).active(&[3]),
        Sample::new("two vectors").active(&[3]).active(&[3]),
    ]
}

fn gemm_samples() -> Vec<Sample> {
    vec![
        Sample::new("layer").active(&[2, 3]).fixed(&[4, 3]).fixed(&[4]).int("transB", 1).batched(),
        Sample::new("everything varies")
            .active(&[3, 2])
            .active(&[3, 2])
            .active(&[2, 1])
            .int("transA", 1)
            .float("alpha", 0.5)
            .float("beta", 2.0),
        Sample::new("no bias").active(&[2, 3]).active(&[3, 2]).float("alpha", 1.5),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("MatMul", read_matmul, matmul_samples),
    Entry::new("Gemm", read_gemm, gemm_samples),
];
