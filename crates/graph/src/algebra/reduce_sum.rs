use ndarray::{ArrayD, Axis};

use crate::{Build, Calculus, Concrete, Emitter, Id, Lift, Linear, Op, OpError, Tensor, op::take};
use taste_onnx::builders;

/// The sum over some axes, which stay with size 1.
#[derive(Debug)]
pub struct ReduceSum {
    /// The axes, ascending.
    pub axes: Vec<usize>,
}

impl Op for ReduceSum {
    fn name(&self) -> &'static str {
        "ReduceSum"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        let mut shape = x.shape.clone();
        for &axis in &self.axes {
            *shape
                .get_mut(axis)
                .ok_or_else(|| OpError::shape("an axis below", x.rank(), axis))? = 1;
        }
        Ok(vec![x.with_shape(shape)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![match x {
            Tensor::Float(a) => {
                let sum = |a: ArrayD<f64>, axis| a.sum_axis(axis).insert_axis(axis);
                self.axes.iter().fold(a.to_owned(), |a, &axis| sum(a, Axis(axis))).into()
            }
            Tensor::Int(a) => {
                let sum = |a: ArrayD<i64>, axis| {
                    a.fold_axis(axis, 0i64, |s, v| s.wrapping_add(*v)).insert_axis(axis)
                };
                self.axes.iter().fold(a.to_owned(), |a, &axis| sum(a, Axis(axis))).into()
            }
            Tensor::Bool(_) => {
                return Err(OpError::DType { want: crate::DType::Float, got: x.dtype() });
            }
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axes: self.axes.iter().map(|a| a + 1).collect() })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let axes: Vec<i64> = self.axes.iter().map(|&a| a as i64).collect();
        let axes = e.ints(&axes);
        let keep = builders::attr_int("keepdims", 1);
        Ok(vec![e.node("ReduceSum", &[args[0].clone(), axes], vec![keep])])
    }
}

impl Linear for ReduceSum {
    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        let shape = b.fact(args[0]).shape.clone();
        b.expand(ct, &shape)
    }
}
