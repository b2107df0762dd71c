//! Activations made of pieces.

use taste_graph::{Build, DType, Emitter, Id, OpError};
use taste_onnx::builders::attr_float;

use super::scaled;
use crate::{
    cast::Cast,
    compare::Compare,
    pointwise::{ABS, Scalar, Step, Unary, quadratic},
};

#[expect(clippy::cast_possible_truncation, reason = "attributes are single precision")]
fn attr(name: &str, value: f64) -> taste_onnx::proto::AttributeProto {
    attr_float(name, value as f32)
}

/// γx above zero and γα·(exp(kx) − 1) below: `Elu` (γ = k = 1), `Selu` (k = 1), `Celu` (γ = 1,
/// k = 1/α). Below zero φ' = k·(y + γα) and φ'' = k·φ'.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elu {
    pub(super) gamma: f64,
    pub(super) alpha: f64,
    pub(super) rate: f64,
}

impl Elu {
    /// The mask above zero, and φ' below it.
    fn parts(self, b: &mut Build<'_>, x: Id, y: Id) -> Result<[Id; 2], OpError> {
        let above = b.push(Step, &[x])?;
        let below = b.from_offset(1.0, above)?;
        let slope = b.offset(y, self.gamma * self.alpha)?;
        let below = b.scale(below, self.rate)?;
        Ok([above, b.mul(slope, below)?])
    }
}

impl Scalar for Elu {
    fn name(&self) -> &'static str {
        "Elu"
    }

    fn value(&self, x: f64) -> f64 {
        if x > 0.0 { self.gamma * x } else { self.gamma * self.alpha * (self.rate * x).exp_m1() }
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
        let [above, below] = self.parts(b, x, y)?;
        let above = b.scale(above, self.gamma)?;
        b.add(above, below)
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let x = scaled(e, x.to_owned(), self.rate);
        let y = e.node("Elu", &[x], vec![attr("alpha", self.alpha * self.rate)]);
        scaled(e, y, self.gamma / self.rate)
    }
}

/// x above zero and αx below.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeakyRelu {
    pub(super) alpha: f64,
}

impl Scalar for LeakyRelu {
    fn name(&self) -> &'static str {
        "LeakyRelu"
    }

    fn value(&self, x: f64) -> f64 {
        if x >= 0.0 { x } else { self.alpha * x }
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let above = b.push(Step, &[x])?;
        let above = b.scale(above, 1.0 - self.alpha)?;
        b.offset(above, self.alpha)
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        e.node("LeakyRelu", &[x.to_owned()], vec![attr("alpha", self.alpha)])
    }
}

/// αx + β between 0 and 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct HardSigmoid {
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

/// 1 where 0 < y < 1.
fn between(b: &mut Build<'_>, y: Id) -> Result<Id, OpError> {
    let arch = quadratic(b, y, -1.0, 1.0, 0.0)?;
    b.push(Step, &[arch])
}

impl Scalar for HardSigmoid {
    fn name(&self) -> &'static str {
        "HardSigmoid"
    }

    fn value(&self, x: f64) -> f64 {
        (self.alpha * x + self.beta).clamp(0.0, 1.0)
    }

    fn d1(&self, b: &mut Build<'_>, _x: Id, y: Id) -> Result<Id, OpError> {
        let inside = between(b, y)?;
        b.scale(inside, self.alpha)
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let line = vec![attr("alpha", self.alpha), attr("beta", self.beta)];
        e.node("HardSigmoid", &[x.to_owned()], line)
    }
}

/// x·h with h = x/6 + ½ between 0 and 1; where it is strictly between, φ' = h + x/6 and φ'' = 1/3.
#[derive(Clone, Copy, Debug)]
pub(super) struct HardSwish;

impl HardSwish {
    const GATE: HardSigmoid = HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 };
}

impl Scalar for HardSwish {
    fn name(&self) -> &'static str {
        "HardSwish"
    }

    fn value(&self, x: f64) -> f64 {
        x * Self::GATE.value(x)
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let gate = b.push(Unary(Self::GATE), &[x])?;
        let inside = between(b, gate)?;
        let inside = b.scale(inside, 1.0 / 6.0)?;
        let term = b.mul(inside, x)?;
        b.add(gate, term)
    }
}

/// x where x > α, and 0 elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThresholdedRelu {
    pub(super) alpha: f64,
}

impl Scalar for ThresholdedRelu {
    fn name(&self) -> &'static str {
        "ThresholdedRelu"
    }

    fn value(&self, x: f64) -> f64 {
        if x > self.alpha { x } else { 0.0 }
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let beyond = b.offset(x, -self.alpha)?;
        b.push(Step, &[beyond])
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let (alpha, zero) = (e.scalar(self.alpha), e.scalar(0.0));
        let mask = e.node("Greater", &[x.to_owned(), alpha], vec![]);
        e.node("Where", &[mask, x.to_owned(), zero], vec![])
    }
}

/// x moved towards zero by a bias where |x| > λ, and 0 elsewhere; λ is not negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shrink {
    pub(super) lambda: f64,
    pub(super) bias: f64,
}

impl Scalar for Shrink {
    fn name(&self) -> &'static str {
        "Shrink"
    }

    fn value(&self, x: f64) -> f64 {
        if x.abs() > self.lambda { x - self.bias * x.signum() } else { 0.0 }
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let size = b.push(Unary(&ABS), &[x])?;
        let beyond = b.offset(size, -self.lambda)?;
        b.push(Step, &[beyond])
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let mut moved = x.to_owned();
        let (lambda, zero) = (e.scalar(self.lambda), e.scalar(0.0));
        if self.bias != 0.0 {
            let sign = e.node("Sign", &[moved.clone()], vec![]);
            let bias = scaled(e, sign, self.bias);
            moved = e.node("Sub", &[moved, bias], vec![]);
        }
        let size = e.node("Abs", &[x.to_owned()], vec![]);
        let mask = e.node("Greater", &[size, lambda], vec![]);
        e.node("Where", &[mask, moved, zero], vec![])
    }
}

/// x between two constants, either of which may be infinite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clip {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scalar for Clip {
    fn name(&self) -> &'static str {
        "Clip"
    }

    fn value(&self, x: f64) -> f64 {
        x.max(self.low).min(self.high)
    }

    /// 1 where nothing was clipped.
    fn d1(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
        let kept = b.push(Compare::Equal, &[x, y])?;
        b.push(Cast { to: DType::Float }, &[kept])
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let bound = |e: &mut Emitter<'_>, v: f64| {
            if v.is_infinite() { String::new() } else { e.scalar(v) }
        };
        let mut args = vec![x.to_owned(), bound(e, self.low), bound(e, self.high)];
        if args[2].is_empty() {
            args.pop();
        }
        e.node("Clip", &args, vec![])
    }
}
