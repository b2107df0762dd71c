//! Activations that are smooth everywhere.

use taste_graph::{Build, Emitter, Id, OpError};
use taste_onnx::builders::attr_string;

use super::scaled;
use crate::pointwise::{SIGMOID, Scalar, TANH, Unary, gauss, quadratic};

fn sigmoid(x: f64) -> f64 {
    (&SIGMOID).value(x)
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
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

/// x·t with t = tanh(softplus(x)); φ' = t + x·(1 − t²)·s where s = σ(x).
#[derive(Clone, Copy, Debug)]
pub(super) struct Mish;

impl Scalar for Mish {
    fn name(&self) -> &'static str {
        "Mish"
    }

    fn value(&self, x: f64) -> f64 {
        x * softplus(x).tanh()
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let soft = b.push(Unary(Softplus), &[x])?;
        let t = b.push(Unary(&TANH), &[soft])?;
        let s = b.push(Unary(&SIGMOID), &[x])?;
        let q = quadratic(b, t, -1.0, 0.0, 1.0)?;
        b.formula([x, t, s, q], |[x, t, s, q]| t + x * (q * s))
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

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let gate = scaled(e, x.to_owned(), self.alpha);
        let gate = e.node("Sigmoid", &[gate], vec![]);
        e.node("Mul", &[x.to_owned(), gate], vec![])
    }
}

/// The derivative of [`Swish`] as a function of its own, so that second derivatives in many lanes
/// cost one product each. With u = αx and s = σ(u), its own derivative is α·s(1−s)·(u(1−2s) + 2).
#[derive(Clone, Copy, Debug)]
struct SwishSlope {
    alpha: f64,
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
        let u = b.scale(x, self.alpha)?;
        let s = b.push(Unary(&SIGMOID), &[u])?;
        let slope = quadratic(b, s, -1.0, 1.0, 0.0)?;
        b.formula([u, s, slope], |[u, s, slope]| {
            self.alpha * (slope * (u * (1.0 + -2.0 * s) + 2.0))
        })
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let u = scaled(e, x.to_owned(), self.alpha);
        let one = e.scalar(1.0);
        let s = e.node("Sigmoid", std::slice::from_ref(&u), vec![]);
        let rest = e.node("Sub", &[one.clone(), s.clone()], vec![]);
        let rest = e.node("Mul", &[u, rest], vec![]);
        let rest = e.node("Add", &[rest, one], vec![]);
        e.node("Mul", &[s, rest], vec![])
    }
}

/// x·Φ(x) with the normal distribution function Φ: φ' = Φ + x·g, where g is the normal density.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gelu;

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
}

/// Φ(x).
fn normal(x: f64) -> f64 {
    0.5 * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
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

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let u = scaled(e, x.to_owned(), std::f64::consts::FRAC_1_SQRT_2);
        let area = e.node("Erf", std::slice::from_ref(&u), vec![]);
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
/// φ' = ½(1 + t) + ½x·(1 − t²)·u'.
#[derive(Clone, Copy, Debug)]
pub(super) struct TanhGelu;

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
        b.formula([x, t, q, du], |[x, t, q, du]| 0.5 * (t + q * du * x) + 0.5)
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        e.node("Gelu", &[x.to_owned()], vec![attr_string("approximate", "tanh")])
    }
}
