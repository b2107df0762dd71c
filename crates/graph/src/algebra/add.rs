use super::{infer_elementwise, zip_elements};
use crate::{Build, Calculus, Concrete, Emitter, Graph, Id, Lift, Linear, Op, OpError, Tensor, op::take};

/// x + y, or x − y, with broadcasting.
#[derive(Debug)]
pub struct Add {
    /// Whether the second argument is subtracted.
    pub minus: bool,
}

impl Op for Add {
    fn name(&self) -> &'static str {
        if self.minus { "Sub" } else { "Add" }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, y] = take(args)?;
        Ok(vec![infer_elementwise(x, y, x.dtype)?])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, y] = take(args)?;
        let sum = if self.minus {
            zip_elements(x, y, |a, b| a - b, i64::wrapping_sub)
        } else {
            zip_elements(x, y, |a, b| a + b, i64::wrapping_add)
        };
        Ok(vec![sum?])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn same_as(&self, graph: &Graph, args: &[Id]) -> Option<Id> {
        match args {
            [x, zero] if graph.is_scalar(*zero, 0.0) => Some(*x),
            [zero, x] if graph.is_scalar(*zero, 0.0) && !self.minus => Some(*x),
            _ => None,
        }
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node(self.name(), args, vec![])])
    }
}

impl Linear for Add {
    fn apply(
        &self,
        b: &mut Build<'_>,
        args: &[Id],
        tangents: &[Option<Id>],
    ) -> Option<Result<Id, OpError>> {
        let (tangent, minus) = match tangents {
            [Some(x), None] => (*x, false),
            [None, Some(y)] => (*y, self.minus),
            _ => return None,
        };
        let spread = |b: &mut Build<'_>| {
            let shape = b.broadcast_shape(args[0], args[1])?;
            let tangent = b.expand(tangent, &shape)?;
            if minus { b.neg(tangent) } else { Ok(tangent) }
        };
        Some(spread(b))
    }

    fn transpose(&self, b: &mut Build<'_>, args: &[Id], i: usize, ct: Id) -> Result<Id, OpError> {
        let ct = b.sum_to(ct, args[i])?;
        if i == 1 && self.minus { b.neg(ct) } else { Ok(ct) }
    }
}
