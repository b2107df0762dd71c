//! Sources of values.

use std::fmt;

use crate::{Calculus, Concrete, DType, Dim, Emitter, Fact, Lift, Op, OpError, Tensor, op::take};

/// A tensor that never changes. Graphs compare constants by their elements, so that its debug form can do without.
pub struct Constant(pub Tensor);

impl fmt::Debug for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Constant({:?}, {:?})", self.0.dtype(), self.0.shape())
    }
}

impl Op for Constant {
    fn name(&self) -> &'static str {
        "Constant"
    }

    fn infer(&self, _args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        Ok(vec![self.0.concrete()])
    }

    fn eval(&self, _args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(vec![self.0.clone()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, _args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.tensor(&self.0)])
    }
}

/// A value that is fed.
#[derive(Debug)]
pub struct Input {
    /// The name it is fed under.
    pub name: String,
    /// What may be fed.
    pub fact: Fact,
}

impl Op for Input {
    fn name(&self) -> &'static str {
        "Input"
    }

    fn infer(&self, _args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        Err(OpError::invalid("an input is declared, not inferred"))
    }

    fn eval(&self, _args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::invalid(format!("input {:?} was not fed", self.name)))
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, _e: &mut Emitter<'_>, _args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![self.name.clone()])
    }
}

/// The sizes of a tensor's axes.
#[derive(Debug)]
pub struct ShapeOf;

impl Op for ShapeOf {
    fn name(&self) -> &'static str {
        "Shape"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        Ok(vec![Concrete { dtype: DType::Int, shape: vec![x.rank()] }])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let sizes: Vec<i64> = x.shape().iter().map(|&s| Dim::fixed(s).fixed).collect();
        Ok(vec![Tensor::ints(&sizes)])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::PerLane
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("Shape", args, vec![])])
    }
}
