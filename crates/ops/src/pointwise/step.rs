//! Step functions: nothing flows through them.

use taste_graph::{Build, Calculus, Concrete, DType, Emitter, Id, Lift, Op, OpError, Tensor, take};
use taste_onnx::builders;

/// The integer next to each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stairs {
    Ceil,
    Floor,
    Round,
}

impl Op for Stairs {
    fn name(&self) -> &'static str {
        match self {
            Self::Ceil => "Ceil",
            Self::Floor => "Floor",
            Self::Round => "Round",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if x.dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let value = match self {
            Self::Ceil => f64::ceil,
            Self::Floor => f64::floor,
            Self::Round => f64::round_ties_even,
        };
        Ok(vec![x.as_float()?.mapv(value).into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node(self.name(), args, vec![])])
    }
}

/// ⌊x⌋.
pub(crate) fn floor(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Stairs::Floor, &[x])
}

/// x to the nearest whole number, halves to the even one.
pub(crate) fn round(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Stairs::Round, &[x])
}

/// A factor that takes every float of normal size beyond 1.
const STEEP: f32 = 1e38;

/// 1 where x > 0, and 0 elsewhere: the mask of a rectifier.
#[derive(Debug)]
pub(crate) struct Step;

impl Op for Step {
    fn name(&self) -> &'static str {
        "Step"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![x.as_float()?.mapv(|v| f64::from(u8::from(v > 0.0))).into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    /// A steep ramp: one pass over the elements in every engine. Engines disagree on the sign of
    /// zero, and a comparison would need a conversion too.
    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let ramp = vec![builders::attr_float("alpha", STEEP), builders::attr_float("beta", 0.0)];
        Ok(vec![e.node("HardSigmoid", args, ramp)])
    }
}

/// −1, 0 or 1.
#[derive(Debug)]
pub(crate) struct Sign;

impl Op for Sign {
    fn name(&self) -> &'static str {
        "Sign"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![match x {
            Tensor::Float(a) => a.mapv(|v| if v == 0.0 { 0.0 } else { v.signum() }).into(),
            Tensor::Int(a) => a.mapv(i64::signum).into(),
            Tensor::Bool(_) => return Err(OpError::DType { want: DType::Float, got: DType::Bool }),
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    /// A clipped steep line for floats: the sign of zero is 1 in some engines.
    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        if e.arg_fact(0).dtype == DType::Int {
            return Ok(vec![e.node("Sign", args, vec![])]);
        }
        let [x] = take(args)?;
        let steep = e.scalar(f64::from(STEEP));
        let line = e.node("Mul", &[x.clone(), steep], vec![]);
        let (low, high) = (e.scalar(-1.0), e.scalar(1.0));
        Ok(vec![e.node("Clip", &[line, low, high], vec![])])
    }
}
