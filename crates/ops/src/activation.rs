//! Activations of networks.

use taste_graph::{
    Build, Calculus, Composite, Concrete, DType, Emitter, Id, Lift, Op, OpError, Tensor,
    algebra::{broadcast_shapes, zip_elements},
    take,
};
use taste_onnx::builders::{attr_float, attr_string};

use crate::{
    Entry, Reader, Sample,
    arithmetic::{Extremum, zero},
    compare::{Compare, Where},
    pointwise::{RELU, SIGMOID, Scalar, Step, TANH, Unary, erf, gauss, quadratic, samples},
};

fn sigmoid(x: f64) -> f64 {
    (&SIGMOID).value(x)
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[expect(clippy::cast_possible_truncation, reason = "attributes are single precision")]
fn attr(name: &str, value: f64) -> taste_onnx::proto::AttributeProto {
    attr_float(name, value as f32)
}

fn scaled(e: &mut Emitter<'_>, x: String, factor: f64) -> String {
    if factor == 1.0 {
        return x;
    }
    let factor = e.scalar(factor);
    e.node("Mul", &[x, factor], vec![])
}

/// log(1 + eˣ), with φ' = σ(x).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Softplus;

impl Scalar for Softplus {
    fn name(&self) -> &'static str {
        "Softplus"
    }

    fn value(&self, x: f64) -> f64 {
        softplus(x)
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        b.push(Unary(&SIGMOID), &[x])
    }

    fn d2(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        let s = b.push(Unary(&SIGMOID), &[x])?;
        quadratic(b, s, -1.0, 1.0, 0.0).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }

    /// max(x, 0) + softplus(−|x|): engines overflow where eˣ does.
    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let x = [x.to_owned()];
        let size = e.node("Abs", &x, vec![]);
        let size = e.node("Neg", &[size], vec![]);
        let rest = e.node("Softplus", &[size], vec![]);
        let line = e.node("Relu", &x, vec![]);
        e.node("Add", &[line, rest], vec![])
    }
}

/// x·t with t = tanh(softplus(x)); φ' = t + x·s·(1 − t²) and φ'' = s·(1 − t²)·(2 + x·(1 − s − 2ts))
/// where s = σ(x).
#[derive(Clone, Copy, Debug)]
struct Mish;

impl Mish {
    /// t, s and s·(1 − t²).
    fn parts(b: &mut Build<'_>, x: Id) -> Result<[Id; 3], OpError> {
        let soft = b.push(Unary(Softplus), &[x])?;
        let t = b.push(Unary(&TANH), &[soft])?;
        let s = b.push(Unary(&SIGMOID), &[x])?;
        let q = quadratic(b, t, -1.0, 0.0, 1.0)?;
        Ok([t, s, b.mul(q, s)?])
    }
}

impl Scalar for Mish {
    fn name(&self) -> &'static str {
        "Mish"
    }

    fn value(&self, x: f64) -> f64 {
        x * softplus(x).tanh()
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let [t, _, qs] = Self::parts(b, x)?;
        let term = b.mul(x, qs)?;
        b.add(t, term)
    }

    fn d2(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        let [t, s, qs] = Self::parts(b, x)?;
        let factor = b.scale(t, 2.0)?;
        let factor = b.offset(factor, 1.0)?;
        let factor = b.mul(factor, s)?;
        let factor = b.from_offset(1.0, factor)?;
        let factor = b.mul(factor, x)?;
        let factor = b.offset(factor, 2.0)?;
        b.mul(qs, factor).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }

    /// Beyond 20 the factor is 1 in single precision; the clip keeps eˣ finite.
    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let high = e.scalar(20.0);
        let low = e.node("Min", &[x.to_owned(), high], vec![]);
        let soft = e.node("Softplus", &[low], vec![]);
        let t = e.node("Tanh", &[soft], vec![]);
        e.node("Mul", &[x.to_owned(), t], vec![])
    }
}

/// x·σ(αx), with s = σ(αx): φ' = s·(1 + αx·(1 − s)).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swish {
    pub(crate) alpha: f64,
}

impl Scalar for Swish {
    fn name(&self) -> &'static str {
        "Swish"
    }

    fn value(&self, x: f64) -> f64 {
        x * sigmoid(self.alpha * x)
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        b.push(Unary(SwishSlope { alpha: self.alpha }), &[x])
    }

    fn d2(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        SwishSlope { alpha: self.alpha }.bend(b, x).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let gate = scaled(e, x.to_owned(), self.alpha);
        let gate = e.node("Sigmoid", &[gate], vec![]);
        e.node("Mul", &[x.to_owned(), gate], vec![])
    }
}

/// The derivative of [`Swish`] as a function of its own, so that second derivatives in many lanes
/// cost one product each. With u = αx and s = σ(u): φ'' = α·s(1−s)·(2 + u(1−2s)) and
/// φ''' = α²·s(1−s)·((1−2s)(3 + u(1−2s)) − 2u·s(1−s)).
#[derive(Clone, Copy, Debug)]
struct SwishSlope {
    alpha: f64,
}

impl SwishSlope {
    /// u, s(1−s) and 1−2s.
    fn parts(self, b: &mut Build<'_>, x: Id) -> Result<[Id; 3], OpError> {
        let u = b.scale(x, self.alpha)?;
        let s = b.push(Unary(&SIGMOID), &[u])?;
        let slope = quadratic(b, s, -1.0, 1.0, 0.0)?;
        let centre = b.scale(s, -2.0)?;
        Ok([u, slope, b.offset(centre, 1.0)?])
    }

    fn bend(self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let [u, slope, centre] = self.parts(b, x)?;
        let factor = b.mul(u, centre)?;
        let factor = b.offset(factor, 2.0)?;
        let bend = b.mul(slope, factor)?;
        b.scale(bend, self.alpha)
    }
}

impl Scalar for SwishSlope {
    fn name(&self) -> &'static str {
        "SwishSlope"
    }

    fn value(&self, x: f64) -> f64 {
        let u = self.alpha * x;
        let s = sigmoid(u);
        s * (1.0 + u * (1.0 - s))
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        self.bend(b, x)
    }

    fn d2(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        let [u, slope, centre] = self.parts(b, x)?;
        let first = b.mul(u, centre)?;
        let first = b.offset(first, 3.0)?;
        let first = b.mul(first, centre)?;
        let second = b.mul(u, slope)?;
        let second = b.scale(second, 2.0)?;
        let factor = b.sub(first, second)?;
        let third = b.mul(slope, factor)?;
        b.scale(third, self.alpha * self.alpha).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let u = scaled(e, x.to_owned(), self.alpha);
        let one = e.scalar(1.0);
        let s = e.node("Sigmoid", &[u.clone()], vec![]);
        let rest = e.node("Sub", &[one.clone(), s.clone()], vec![]);
        let rest = e.node("Mul", &[u, rest], vec![]);
        let rest = e.node("Add", &[rest, one], vec![]);
        e.node("Mul", &[s, rest], vec![])
    }
}

/// x·Φ(x) with the normal distribution function Φ: φ' = Φ + x·g and φ'' = g·(2 − x²), where g is the
/// normal density.
#[derive(Clone, Copy, Debug)]
struct Gelu;

impl Scalar for Gelu {
    fn name(&self) -> &'static str {
        "Gelu"
    }

    fn value(&self, x: f64) -> f64 {
        x * normal(x)
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        b.push(Unary(GeluSlope), &[x])
    }

    fn d2(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Option<Id>, OpError> {
        GeluSlope.d1(b, x, y).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }
}

/// Φ(x).
fn normal(x: f64) -> f64 {
    0.5 * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2))
}

/// The derivative of [`Gelu`] as a function of its own.
#[derive(Clone, Copy, Debug)]
struct GeluSlope;

impl Scalar for GeluSlope {
    fn name(&self) -> &'static str {
        "GeluSlope"
    }

    fn value(&self, x: f64) -> f64 {
        normal(x) + x * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let density = gauss(b, x)?;
        let factor = quadratic(b, x, -1.0, 0.0, 2.0)?;
        b.mul(density, factor)
    }

    /// g·x·(x² − 4).
    fn d2(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        let density = gauss(b, x)?;
        let factor = quadratic(b, x, 1.0, 0.0, -4.0)?;
        let factor = b.mul(factor, x)?;
        b.mul(density, factor).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let u = scaled(e, x.to_owned(), std::f64::consts::FRAC_1_SQRT_2);
        let area = e.node("Erf", &[u.clone()], vec![]);
        let area = scaled(e, area, 0.5);
        let half = e.scalar(0.5);
        let area = e.node("Add", &[area, half], vec![]);
        let square = e.node("Mul", &[u.clone(), u], vec![]);
        let square = e.node("Neg", &[square], vec![]);
        let bell = e.node("Exp", &[square], vec![]);
        let bell = scaled(e, bell, std::f64::consts::TAU.sqrt().recip());
        let bell = e.node("Mul", &[x.to_owned(), bell], vec![]);
        e.node("Add", &[area, bell], vec![])
    }
}

/// ½x·(1 + t) with t = tanh(u), u = √(2/π)·(x + 0.044715·x³):
/// φ' = ½(1 + t) + ½x·(1 − t²)·u' and φ'' = (1 − t²)·(u' + ½x·u'' − x·t·u'²).
#[derive(Clone, Copy, Debug)]
struct TanhGelu;

const CUBIC: f64 = 0.044_715;

fn root_two_over_pi() -> f64 {
    std::f64::consts::FRAC_2_PI.sqrt()
}

impl TanhGelu {
    /// t, 1 − t² and u'.
    fn parts(b: &mut Build<'_>, x: Id) -> Result<[Id; 3], OpError> {
        let k = root_two_over_pi();
        let factor = quadratic(b, x, k * CUBIC, 0.0, k)?;
        let u = b.mul(factor, x)?;
        let t = b.push(Unary(&TANH), &[u])?;
        Ok([t, quadratic(b, t, -1.0, 0.0, 1.0)?, quadratic(b, x, 3.0 * k * CUBIC, 0.0, k)?])
    }
}

impl Scalar for TanhGelu {
    fn name(&self) -> &'static str {
        "Gelu"
    }

    fn value(&self, x: f64) -> f64 {
        0.5 * x * (1.0 + (root_two_over_pi() * (x + CUBIC * x.powi(3))).tanh())
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let [t, q, du] = Self::parts(b, x)?;
        let term = b.mul(q, du)?;
        let term = b.mul(term, x)?;
        let sum = b.add(t, term)?;
        let sum = b.scale(sum, 0.5)?;
        b.offset(sum, 0.5)
    }

    fn d2(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        let [t, q, du] = Self::parts(b, x)?;
        // u' + ½x·u'' = √(2/π)·(1 + 6·0.044715·x²).
        let k = root_two_over_pi();
        let line = quadratic(b, x, 6.0 * k * CUBIC, 0.0, k)?;
        let square = quadratic(b, du, 1.0, 0.0, 0.0)?;
        let term = b.mul(square, t)?;
        let term = b.mul(term, x)?;
        let factor = b.sub(line, term)?;
        b.mul(q, factor).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        e.node("Gelu", &[x.to_owned()], vec![attr_string("approximate", "tanh")])
    }
}

/// γx above zero and γα·(exp(kx) − 1) below: `Elu` (γ = k = 1), `Selu` (k = 1), `Celu` (γ = 1,
/// k = 1/α). Below zero φ' = k·(y + γα) and φ'' = k·φ'.
#[derive(Clone, Copy, Debug)]
struct Elu {
    gamma: f64,
    alpha: f64,
    rate: f64,
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

    fn d2(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Option<Id>, OpError> {
        let [_, below] = self.parts(b, x, y)?;
        b.scale(below, self.rate).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let x = scaled(e, x.to_owned(), self.rate);
        let y = e.node("Elu", &[x], vec![attr("alpha", self.alpha * self.rate)]);
        scaled(e, y, self.gamma / self.rate)
    }
}

/// x above zero and αx below.
#[derive(Clone, Copy, Debug)]
struct LeakyRelu {
    alpha: f64,
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
struct HardSigmoid {
    alpha: f64,
    beta: f64,
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
struct HardSwish;

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

    fn d2(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        let gate = b.push(Unary(Self::GATE), &[x])?;
        let inside = between(b, gate)?;
        b.scale(inside, 1.0 / 3.0).map(Some)
    }

    fn is_curved(&self) -> bool {
        true
    }
}

/// x where x > α, and 0 elsewhere.
#[derive(Clone, Copy, Debug)]
struct ThresholdedRelu {
    alpha: f64,
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
struct Shrink {
    lambda: f64,
    bias: f64,
}

impl Scalar for Shrink {
    fn name(&self) -> &'static str {
        "Shrink"
    }

    fn value(&self, x: f64) -> f64 {
        if x.abs() > self.lambda { x - self.bias * x.signum() } else { 0.0 }
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let size = b.push(Unary(&crate::pointwise::ABS), &[x])?;
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
struct Clip {
    low: f64,
    high: f64,
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
        b.push(crate::cast::Cast { to: DType::Float }, &[kept])
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

/// x above zero and slope·x below; the slope broadcasts to x.
#[derive(Debug)]
struct PRelu;

impl Op for PRelu {
    fn name(&self) -> &'static str {
        "PRelu"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, slope] = take(args)?;
        for arg in [x, slope] {
            if arg.dtype != DType::Float {
                return Err(OpError::DType { want: DType::Float, got: arg.dtype });
            }
        }
        if broadcast_shapes(&x.shape, &slope.shape)? != x.shape {
            return Err(OpError::shape("a slope that broadcasts to", &x.shape, &slope.shape));
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, slope] = take(args)?;
        Ok(vec![zip_elements(x, slope, |x, s| if x < 0.0 { s * x } else { x }, |x, _| x)?])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("PRelu", args, vec![])])
    }
}

impl Composite for PRelu {
    /// x·(1 or slope).
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let [x, slope] = *take(args)?;
        let (zero, one) = (b.scalar(0.0), b.scalar(1.0));
        let above = b.push(Compare::Greater, &[x, zero])?;
        let factor = b.push(Where, &[above, one, slope])?;
        b.mul(x, factor)
    }
}

fn read(r: &mut Reader<'_, '_>, function: impl Scalar) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    Ok(vec![r.b.push(Unary(function), &[x])?])
}

/// Integers have a `Relu` too: the larger of x and 0.
fn read_relu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    if r.fact(x).dtype == DType::Int {
        let zero = zero(&mut r.b, DType::Int);
        return Ok(vec![r.b.push(Extremum::Max, &[x, zero])?]);
    }
    read(r, &RELU)
}

fn read_elu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 1.0);
    read(r, Elu { gamma: 1.0, alpha, rate: 1.0 })
}

fn read_selu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 1.673_263_192_176_818_8);
    let gamma = r.float_or("gamma", 1.050_701_022_148_132_3);
    read(r, Elu { gamma, alpha, rate: 1.0 })
}

fn read_celu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 1.0);
    if alpha == 0.0 || !alpha.is_finite() {
        return Err(OpError::unsupported("alpha", alpha));
    }
    read(r, Elu { gamma: 1.0, alpha, rate: 1.0 / alpha })
}

fn read_leaky_relu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 0.01);
    read(r, LeakyRelu { alpha })
}

fn read_hard_sigmoid(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (alpha, beta) = (r.float_or("alpha", 0.2), r.float_or("beta", 0.5));
    read(r, HardSigmoid { alpha, beta })
}

fn read_thresholded_relu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", 1.0);
    read(r, ThresholdedRelu { alpha })
}

fn read_shrink(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let (lambda, bias) = (r.float_or("lambd", 0.5), r.float_or("bias", 0.0));
    if lambda < 0.0 {
        return Err(OpError::unsupported("lambd", lambda));
    }
    read(r, Shrink { lambda, bias })
}

fn read_swish(r: &mut Reader<'_, '_>, default: f64) -> Result<Vec<Id>, OpError> {
    let alpha = r.float_or("alpha", default);
    read(r, Swish { alpha })
}

fn read_gelu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    match r.string_or("approximate", "none").as_str() {
        "none" => read(r, Gelu),
        "tanh" => read(r, TanhGelu),
        other => Err(OpError::unsupported("approximate", other)),
    }
}

/// The function of x + bias, where the bias may be left out.
fn read_biased(r: &mut Reader<'_, '_>, function: impl Scalar) -> Result<Vec<Id>, OpError> {
    let mut x = r.arg(0)?;
    if let Some(bias) = r.optional(1) {
        x = r.b.add(x, bias)?;
    }
    Ok(vec![r.b.push(Unary(function), &[x])?])
}

fn read_prelu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, slope] = r.take()?;
    Ok(vec![r.b.push(PRelu, &[x, slope])?])
}

/// A bound of `Clip` as it is written in the file.
enum Bound {
    Number(f64),
    Computed(Id),
}

fn bound(r: &mut Reader<'_, '_>, attribute: Option<f64>, i: usize, absent: f64) -> Bound {
    if let Some(v) = attribute {
        return Bound::Number(v);
    }
    match r.optional(i) {
        None => Bound::Number(absent),
        Some(id) => match r.b.graph().as_constant(id).and_then(Tensor::as_scalar) {
            Some(v) => Bound::Number(v),
            None => Bound::Computed(id),
        },
    }
}

/// Below opset 11 the bounds are attributes. Bounds that are constants make a function of x alone.
fn read_clip(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let given = |v: f64| Some(v).filter(|v| v.is_finite());
    let (low, high) = (r.float_or("min", f64::NAN), r.float_or("max", f64::NAN));
    let low = bound(r, given(low), 1, f64::NEG_INFINITY);
    let high = bound(r, given(high), 2, f64::INFINITY);
    // The largest finite floats are how files say that there is no bound.
    let open = |v: f64| {
        if v.abs() >= f64::from(f32::MAX) { v.signum() * f64::INFINITY } else { v }
    };
    if let (Bound::Number(low), Bound::Number(high)) = (&low, &high) {
        let (low, high) = (open(*low), open(*high));
        if low == f64::NEG_INFINITY && high == f64::INFINITY {
            return Ok(vec![x]);
        }
        if r.fact(x).dtype == DType::Float {
            return Ok(vec![r.b.push(Unary(Clip { low, high }), &[x])?]);
        }
    }
    let mut y = x;
    for (side, bound) in [(Extremum::Max, low), (Extremum::Min, high)] {
        let bound = match bound {
            Bound::Number(v) if v.is_infinite() => continue,
            Bound::Number(v) => r.b.scalar(v),
            Bound::Computed(id) => id,
        };
        y = r.b.push(side, &[y, bound])?;
    }
    Ok(vec![y])
}

fn with(title: &str, attributes: &[(&str, f32)]) -> Sample {
    let sample = Sample::new(title).active_in(&[2, 4], -2.0, 2.0).batched();
    attributes.iter().fold(sample, |s, (name, value)| s.float(name, *value))
}

/// Samples with the default parameters and with others.
fn samples_with(attributes: &[(&str, f32)]) -> Vec<Sample> {
    let mut all = samples(-2.0, 2.0);
    all.push(with("other parameters", attributes));
    all
}

fn clip_samples() -> Vec<Sample> {
    let number = |v: f64| Tensor::scalar(v);
    let x = |title: &str| Sample::new(title).active_in(&[2, 5], -2.0, 2.0);
    vec![
        x("two bounds").constant(number(-0.5)).constant(number(1.0)).batched(),
        x("a bound below").constant(number(-0.3)).batched(),
        x("a bound above").omitted().constant(number(0.4)).batched(),
        x("no bounds").batched(),
        x("attributes").float("min", -1.0).float("max", 0.5).opset(10).batched(),
        x("one attribute").float("max", 0.5).opset(8).batched(),
        x("computed bounds").active_in(&[], -0.9, -0.4).active_in(&[], 0.4, 0.9),
        x("a computed bound above").constant(number(-0.5)).active_in(&[], 0.4, 0.9),
        Sample::new("integers")
            .fed(Tensor::ints(&[-3, 1, 9]))
            .constant(ndarray::arr0(0).into_dyn().into())
            .constant(ndarray::arr0(5).into_dyn().into()),
    ]
}

fn prelu_samples() -> Vec<Sample> {
    let x = |title: &str, shape: &[usize]| Sample::new(title).active_in(shape, -2.0, 2.0);
    vec![
        x("one slope", &[2, 3]).fixed(&[1]).batched(),
        x("a slope a channel", &[2, 3, 2]).fixed(&[3, 1]).batched(),
        x("a slope that varies", &[2, 3, 2]).active(&[3, 1]),
        x("a slope an element", &[2, 3]).active(&[2, 3]).batched(),
    ]
}

fn relu_samples() -> Vec<Sample> {
    let mut all = samples(-1.0, 1.0);
    all.push(Sample::new("integers").fed(Tensor::ints(&[-3, 0, 7])));
    all
}

fn gelu_samples() -> Vec<Sample> {
    let mut all = samples(-3.0, 3.0);
    let x = Sample::new("hyperbolic").active_in(&[2, 4], -3.0, 3.0).batched();
    all.push(x.string("approximate", "tanh"));
    all
}

fn bias_samples() -> Vec<Sample> {
    let x = |title: &str| Sample::new(title).active_in(&[2, 3], -2.0, 2.0).batched();
    vec![x("no bias"), x("a bias").fixed(&[3])]
}

const MICROSOFT: &str = "com.microsoft";

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Celu", read_celu, || samples_with(&[("alpha", 0.7)])),
    Entry::new("Clip", read_clip, clip_samples),
    Entry::new("Elu", read_elu, || samples_with(&[("alpha", 1.6)])),
    Entry::new("Gelu", read_gelu, gelu_samples),
    Entry::new("HardSigmoid", read_hard_sigmoid, || samples_with(&[("alpha", 0.7), ("beta", 0.4)])),
    Entry::new("HardSwish", |r| read(r, HardSwish), || samples(-5.0, 5.0)),
    Entry::new("LeakyRelu", read_leaky_relu, || samples_with(&[("alpha", 0.3)])),
    Entry::new("Mish", |r| read(r, Mish), || samples(-4.0, 4.0)),
    Entry::new("PRelu", read_prelu, prelu_samples),
    Entry::new("Relu", read_relu, relu_samples),
    Entry::new("Selu", read_selu, || samples_with(&[("alpha", 1.2), ("gamma", 0.8)])),
    Entry::new("Shrink", read_shrink, || samples_with(&[("lambd", 0.8), ("bias", 0.6)])),
    Entry::new("Softplus", |r| read(r, Softplus), || samples(-4.0, 4.0)),
    Entry::new("Swish", |r| read_swish(r, 1.0), || samples_with(&[("alpha", 1.7)])),
    Entry::new("ThresholdedRelu", read_thresholded_relu, || samples_with(&[("alpha", 0.4)])),
    Entry {
        name: "BiasGelu",
        domain: MICROSOFT,
        read: |r| read_biased(r, Gelu),
        samples: || vec![Sample::new("a bias").active(&[2, 3]).fixed(&[3]).batched()],
    },
    Entry {
        name: "FastGelu",
        domain: MICROSOFT,
        read: |r| read_biased(r, TanhGelu),
        samples: bias_samples,
    },
    Entry {
        name: "Gelu",
        domain: MICROSOFT,
        read: |r| read(r, Gelu),
        samples: || samples(-3.0, 3.0),
    },
    Entry {
        name: "QuickGelu",
        domain: MICROSOFT,
        read: |r| read_swish(r, 1.702),
        samples: || samples_with(&[("alpha", 1.2)]),
    },
];
