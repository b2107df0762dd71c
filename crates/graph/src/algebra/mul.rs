use super::{infer_elementwise, zip_elements};
use crate::{
    Bilinear, Build, Calculus, Concrete, Emitter, Graph, Id, Lift, Op, OpError, Side, Tensor, op::take,
};

/// x · y, element by element, with broadcasting.
#[derive(Debug)]
pub struct Mul;

impl Op for Mul {
    fn name(&self) -> &'static str {
        "Mul"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, y] = take(args)?;
        Ok(vec![infer_elementwise(x, y, x.dtype)?])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, y] = take(args)?;
        Ok(vec![zip_elements(x, y, |a, b| a * b, i64::wrapping_mul)?])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Bilinear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn same_as(&self, graph: &Graph, args: &[Id]) -> Option<Id> {
        match args {
            [x, one] if graph.is_scalar(*one, 1.0) => Some(*x),
            [one, x] if graph.is_scalar(*one, 1.0) => Some(*x),
            _ => None,
        }
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("Mul", args, vec![])])
    }
}

impl Bilinear for Mul {
    fn transpose(
        &self,
        b: &mut Build<'_>,
        side: Side,
        [lhs, rhs]: [Id; 2],
        ct: Id,
    ) -> Result<Id, OpError> {
        let (this, other) = if side == Side::Lhs { (lhs, rhs) } else { (rhs, lhs) };
        let product = b.mul(ct, other)?;
        b.sum_to(product, this)
    }
}
