use crate::{
    Build, Calculus, Concrete, Emitter, Id, Lift, Linear, Op, OpError, Tensor, map_array, op::take,
};
use taste_onnx::builders;

/// Axes in another order.
#[derive(Debug)]
pub struct Transpose {
    /// Axis `i` of the result is axis `perm[i]` of the argument.
    pub perm: Vec<usize>,
}

impl Transpose {
    fn inverse(&self) -> Vec<usize> {
        let mut inverse = vec![0; self.perm.len()];
        for (to, &from) in self.perm.iter().enumerate() {
            inverse[from] = to;
        }
        inverse
    }
}

impl Op for Transpose {
    fn name(&self) -> &'static str {
        "Transpose"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        let mut sorted = self.perm.clone();
        sorted.sort_unstable();
        if sorted != (0..x.rank()).collect::<Vec<_>>() {
            return Err(OpError::shape("a permutation of the axes", x.rank(), &self.perm));
        }
        Ok(vec![x.with_shape(self.perm.iter().map(|&p| x.shape[p]).collect())])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![map_array!(x, a => {
            a.view().permuted_axes(&self.perm[..]).as_standard_layout().to_owned()
        })])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        let perm = std::iter::once(0).chain(self.perm.iter().map(|p| p + 1)).collect();
        Lift::shift(Self { perm })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let perm: Vec<i64> = self.perm.iter().map(|&p| p as i64).collect();
        Ok(vec![e.node("Transpose", args, vec![builders::attr_ints("perm", &perm)])])
    }
}

impl Linear for Transpose {
    fn transpose(&self, b: &mut Build<'_>, _args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        b.transpose(ct, &self.inverse())
    }
}
