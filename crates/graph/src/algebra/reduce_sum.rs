use ndarray::Axis;

use crate::{
    Build, Calculus, Concrete, DType, Dim, Emitter, Fact, Id, Lift, Linear, Op, OpError, Tensor,
    op::take,
};
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
            Tensor::Float(a) => Tensor::from(sum(a, &self.axes)),
            Tensor::Int(a) => Tensor::from(sum(a, &self.axes)),
            Tensor::Bool(_) => {
                return Err(OpError::DType { want: DType::Float, got: x.dtype() });
            }
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axes: self.axes.iter().map(|a| a + 1).collect() })
    }

    /// Engines sum along the last axes fast and along others slowly; there, a product with ones does
    /// the same.
    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        if let Some((around, count)) = self.as_product(e.arg_fact(0)) {
            let result = e.out_fact(0).shape.clone();
            let ones = e.tensor(&Tensor::floats(&[1, count], vec![1.0; count])?);
            let x = e.reshape(&args[0], &around);
            let sum = e.node("MatMul", &[ones, x], vec![]);
            return Ok(vec![e.reshape(&sum, &result)]);
        }
        let axes: Vec<i64> = self.axes.iter().map(|&a| a as i64).collect();
        let axes = e.ints(&axes);
        let keep = builders::attr_int("keepdims", 1);
        Ok(vec![e.node("ReduceSum", &[args[0].clone(), axes], vec![keep])])
    }
}

impl ReduceSum {
    /// The shape (before, summed, after) or (summed, after), and the summed size, if that is worth it.
    fn as_product(&self, fact: &Fact) -> Option<(Vec<Dim>, usize)> {
        let (&first, &last) = (self.axes.first()?, self.axes.last()?);
        let contiguous = last - first + 1 == self.axes.len();
        if fact.dtype != DType::Float || !contiguous || last + 1 >= fact.rank() {
            return None;
        }
        let merge = |dims: &[Dim]| -> Option<Dim> {
            dims.iter().try_fold(Dim::from(1), |product, dim| match (product.as_fixed(), dim.as_fixed()) {
                (Some(k), _) => Some(Dim { per_batch: dim.per_batch * k, fixed: dim.fixed * k }),
                (_, Some(k)) => Some(Dim { per_batch: product.per_batch * k, fixed: product.fixed * k }),
                _ => None,
            })
        };
        let (before, after) = (merge(&fact.shape[..first])?, merge(&fact.shape[last + 1..])?);
        let summed = merge(&fact.shape[first..=last])?.as_fixed()?;
        let open = usize::from(before.depends_on_batch()) + usize::from(after.depends_on_batch());
        if open > 1 || summed < 2 || summed > 1 << 20 || before.at(1) == 0 || after.at(1) < 8 {
            return None;
        }
        let mut around = vec![Dim { per_batch: 0, fixed: summed }, after];
        if before != Dim::from(1) {
            around.insert(0, before);
        }
        Some((around, usize::try_from(summed).ok()?))
    }
}

fn sum<T: Clone + num_traits::Zero + std::ops::Add<Output = T>>(
    a: &crate::Array<T>,
    axes: &[usize],
) -> ndarray::ArrayD<T> {
    axes.iter().fold(a.to_owned(), |a, &axis| a.sum_axis(Axis(axis)).insert_axis(Axis(axis)))
}

impl Linear for ReduceSum {
    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        let shape = b.fact(args[0]).shape.clone();
        b.expand(ct, &shape)
    }
}
