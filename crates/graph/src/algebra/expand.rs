use std::sync::Arc;

use super::broadcast_shapes;
use crate::{
    Build, Calculus, Concrete, Dim, Emitter, Id, Lift, Linear, Op, OpError, Tensor, map_array,
    op::take,
};

/// Broadcasting to a shape.
#[derive(Debug)]
pub struct Expand {
    /// The shape to broadcast with.
    pub shape: Vec<Dim>,
}

impl Expand {
    fn target(&self, arg: &[usize]) -> Result<Vec<usize>, OpError> {
        broadcast_shapes(arg, &self.shape.iter().map(|d| d.at(0)).collect::<Vec<_>>())
    }
}

impl Op for Expand {
    fn name(&self) -> &'static str {
        "Expand"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        Ok(vec![x.with_shape(self.target(&x.shape)?)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let shape = self.target(x.shape())?;
        let spread = || OpError::shape("shape to broadcast to", &shape, x.shape());
        Ok(vec![map_array!(x, a => a.broadcast(&shape[..]).ok_or_else(spread)?.to_owned())])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], lanes: usize) -> Lift {
        // A lane axis in front needs the ranks to agree: `Build::expand` sees to it.
        let shape = std::iter::once(Dim::from(lanes)).chain(self.shape.iter().copied()).collect();
        Lift::shift(Self { shape })
    }

    fn with_batch(&self, batch: Dim) -> Option<Arc<dyn Op>> {
        super::reshape::replace_batch(&self.shape, batch)
            .map(|shape| Arc::new(Self { shape }) as Arc<dyn Op>)
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let shape = e.dims(&self.shape);
        Ok(vec![e.node("Expand", &[args[0].clone(), shape], vec![])])
    }
}

impl Linear for Expand {
    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        b.sum_to(ct, args[0])
    }
}
