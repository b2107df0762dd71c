use std::sync::Arc;

use crate::{
    Build, Calculus, Concrete, Dim, Emitter, Id, Lift, Linear, Op, OpError, Tensor, map_array,
    op::take,
};

/// The same elements in row-major order under another shape.
#[derive(Debug)]
pub struct Reshape {
    /// The shape of the result.
    pub shape: Vec<Dim>,
}

/// `shape` with N replaced; nothing if N is not in it.
pub(super) fn replace_batch(shape: &[Dim], batch: Dim) -> Option<Vec<Dim>> {
    shape
        .iter()
        .any(|d| d.depends_on_batch())
        .then(|| shape.iter().map(|d| d.with_batch(batch)).collect())
}

impl Reshape {
    fn target(&self, arg: &[usize]) -> Result<Vec<usize>, OpError> {
        let shape: Vec<usize> = self.shape.iter().map(|d| d.at(0)).collect();
        let count = |s: &[usize]| s.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        if count(&shape).is_some_and(|n| count(arg) == Some(n)) {
            Ok(shape)
        } else {
            Err(OpError::shape("a shape with as many elements", arg, shape))
        }
    }
}

impl Op for Reshape {
    fn name(&self) -> &'static str {
        "Reshape"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        Ok(vec![x.with_shape(self.target(&x.shape)?)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let shape = self.target(x.shape())?;
        let misfit = |e: ndarray::ShapeError| OpError::invalid(e.to_string());
        Ok(vec![map_array!(x, a => a.to_shape(&shape[..]).map_err(misfit)?.to_owned())])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], lanes: usize) -> Lift {
        let shape = std::iter::once(Dim::from(lanes)).chain(self.shape.iter().copied()).collect();
        Lift::shift(Self { shape })
    }

    fn with_batch(&self, batch: Dim) -> Option<Arc<dyn Op>> {
        replace_batch(&self.shape, batch).map(|shape| Arc::new(Self { shape }) as Arc<dyn Op>)
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.reshape(&args[0], &self.shape)])
    }
}

impl Linear for Reshape {
    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        let shape = b.fact(args[0]).shape.clone();
        b.reshape(ct, &shape)
    }
}
