//! Products of cotangents at the logits with their Jacobian.

use taste_graph::{
    Build, Dim, Id, OpError, Tensor,
    diff::{self, Derivatives},
};
use taste_ops::functions;

use super::{Problem, check_directions};
use crate::{Error, error::request};

/// Up to this many products are built side by side for inputs with space, each on arrays of the model's
/// own shapes: engines keep those in the layout of their convolutions and in cache.
const SIDE_BY_SIDE: usize = 32;

/// Rows of the Jacobian as a stack (N × K × D): products of cotangents at z, in lanes, with J.
pub(super) fn pull(
    b: &mut Build<'_>,
    x: Id,
    z: Id,
    cotangents: Id,
    dimension: usize,
) -> Result<Id, OpError> {
    let (rows, count) = (b.fact(x).shape[0], b.lanes(cotangents).unwrap_or(1));
    if b.fact(x).rank() > 2 && count <= SIDE_BY_SIDE {
        let mut parts = Vec::with_capacity(count);
        for lane in 0..count {
            let ct = b.lane(cotangents, lane)?;
            let row = match diff::vjp(b, &Derivatives::from([(z, ct)]), &[x])?[0] {
                Some(row) => row,
                None => b.zeros_like(x)?,
            };
            parts.push(b.reshape(row, &[rows, Dim::from(1), Dim::from(dimension)])?);
        }
        return functions::concat(b, &parts, 1);
    }
    let stack = match diff::vjp(b, &Derivatives::from([(z, cotangents)]), &[x])?[0] {
        Some(stack) => b.stacked(stack)?,
        None => return Err(OpError::invalid("the output does not depend on the input")),
    };
    // (K, N, x…) → (N, K, D)
    let mut plain = Build::new(b.graph_mut());
    let flat = plain.reshape(stack, &[Dim::from(count), rows, Dim::from(dimension)])?;
    plain.transpose(flat, &[1, 0, 2])
}

/// ∂z/∂x for every logit: N × K × D.
pub(super) fn jacobian(p: &mut Problem) -> Result<Id, Error> {
    let (x, z, dimension) = (p.x, p.head.logits, p.dimension);
    let mut b = Build::new(&mut p.graph);
    let units = unit_cotangents(&mut b, z, false)?;
    Ok(pull(&mut b, x, z, units, dimension)?)
}

/// One cotangent for every entry of z: the identity; or, `relative` to the last entry, one fewer.
pub(super) fn unit_cotangents(b: &mut Build<'_>, z: Id, relative: bool) -> Result<Id, OpError> {
    let fact = b.fact(z).clone();
    let shape: Vec<usize> = fact.shape[1..].iter().map(|d| d.at(1)).collect();
    let width: usize = shape.iter().product();
    let rows = fact.shape[0].as_fixed().map_or(1, |r| usize::try_from(r).unwrap_or(1));
    check_directions(width, rows, width)?;
    let lanes = width - usize::from(relative);
    let mut values = vec![0.0; lanes * rows * width];
    for (i, row) in values.chunks_exact_mut(width).enumerate() {
        row[i / rows] = 1.0;
        if relative {
            row[width - 1] = -1.0;
        }
    }
    let full: Vec<usize> = [lanes, rows].into_iter().chain(shape).collect();
    let id = b.graph_mut().constant(Tensor::floats(&full, values)?);
    b.declare_lanes(id, z)
}

/// Rows of ∂z/∂x relative to the last one, which is zero: one product fewer. N × K × D.
pub(super) fn relative_jacobian(p: &mut Problem, z: Id) -> Result<Id, Error> {
    let (x, rows, dimension) = (p.x, p.rows(), p.dimension);
    let mut b = Build::new(&mut p.graph);
    let units = unit_cotangents(&mut b, z, true)?;
    let relative = pull(&mut b, x, z, units, dimension)?;
    let mut b = Build::new(&mut p.graph);
    let zero = b.scalar(0.0);
    let last = b.expand(zero, &[rows, Dim::from(1), Dim::from(dimension)])?;
    Ok(functions::concat(&mut b, &[relative, last], 1)?)
}

/// Rows of ∂z/∂x (N × K × D) relative to that of the likeliest class. Where a common offset of the logits does not
/// matter, this avoids cancellation: between large gradients, and in 1 − p of a class that is all but certain.
pub(super) fn relative_to_likeliest(
    b: &mut Build<'_>,
    logits: Id,
    jacobian: Id,
) -> Result<Id, OpError> {
    let first = functions::first_max(b, logits, 1)?;
    let (rows, width) = (b.fact(first).shape[0], b.fact(first).shape[1]);
    let first = b.reshape(first, &[rows, Dim::from(1), width])?;
    let leading = functions::matmul(b, first, jacobian)?;
    b.sub(jacobian, leading)
}

/// ∂h/∂z for f = h(z), and its derivative along lanes of tangents at z: rows of ∇²h for units.
pub(super) fn slope_and_bend(
    b: &mut Build<'_>,
    f: Id,
    z: Id,
    tangents: Id,
) -> Result<(Id, Id), Error> {
    let rows = b.fact(f).shape[0];
    let one = b.scalar(1.0);
    let ones = b.expand(one, &[rows])?;
    let slope = diff::vjp(b, &Derivatives::from([(f, ones)]), &[z])?[0];
    let slope = slope.ok_or_else(|| request("the target does not depend on the input"))?;
    let bend = diff::jvp(b, &[slope], &Derivatives::from([(z, tangents)]))?[0];
    let bend = bend.ok_or_else(|| request("the target has no curvature"))?;
    Ok((slope, bend))
}
