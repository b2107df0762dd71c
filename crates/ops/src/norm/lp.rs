//! Normalisation by a norm.

use ndarray::Axis;
use taste_graph::{
    Build, Calculus, Composite, Concrete, DType, Emitter, Id, Lift, Op, OpError, Tensor, take,
};
use taste_onnx::builders;

use super::{check, inverse_root, sum_square};
use crate::{
    Reader, Sample,
    pointwise::{RECIPROCAL, Unary},
    reduce::magnitude,
};

/// x / ‖x‖ along an axis, and 0 where the norm is 0.
#[derive(Clone, Debug)]
pub(crate) struct LpNormalization {
    pub(crate) axis: usize,
    /// Whether the norm is the sum of squares' root, rather than the sum of magnitudes.
    pub(crate) euclidean: bool,
}

impl Op for LpNormalization {
    fn name(&self) -> &'static str {
        "LpNormalization"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if self.axis >= x.rank() {
            return Err(OpError::shape("an axis below", x.rank(), self.axis));
        }
        if x.dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let mut y = x.as_float()?.to_owned();
        for mut lane in y.lanes_mut(Axis(self.axis)) {
            let norm = if self.euclidean {
                lane.mapv(|v| v * v).sum().sqrt()
            } else {
                lane.mapv(f64::abs).sum()
            };
            lane.mapv_inplace(|v| if norm == 0.0 { 0.0 } else { v / norm });
        }
        Ok(vec![y.into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1, ..self.clone() })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let p = if self.euclidean { 2 } else { 1 };
        let attrs = vec![builders::attr_int("axis", self.axis as i64), builders::attr_int("p", p)];
        Ok(vec![e.node("LpNormalization", args, attrs)])
    }
}

impl Composite for LpNormalization {
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let inverse = if self.euclidean {
            let sum = sum_square(b, args[0], &[self.axis])?;
            inverse_root(b, sum)?
        } else {
            let sizes = magnitude(b, args[0])?;
            let norm = b.sum(sizes, &[self.axis])?;
            b.push(Unary(&RECIPROCAL), &[norm])?
        };
        b.mul(args[0], inverse)
    }
}

pub(super) fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    check(r, x, 1)?;
    let (axis, p) = (r.int_or("axis", -1), r.int_or("p", 2));
    if !(1..=2).contains(&p) {
        return Err(OpError::unsupported("a norm of order", p));
    }
    let axis = r.axis(axis, r.rank(x))?;
    Ok(vec![r.b.push(LpNormalization { axis, euclidean: p == 2 }, &[x])?])
}

pub(super) fn samples() -> Vec<Sample> {
    let mixed = Tensor::from(ndarray::arr2(&[[0.5, -0.7, -1.5], [2.0, -0.3, 1.2]]).into_dyn());
    vec![
        Sample::new("euclidean").active(&[2, 4]).batched(),
        Sample::new("euclidean, axis 1 of 3").active(&[2, 3, 2]).int("axis", 1).batched(),
        Sample::new("magnitudes").fed(mixed).int("p", 1).batched(),
    ]
}
