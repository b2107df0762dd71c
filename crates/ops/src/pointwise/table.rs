//! Functions without parameters.

use std::{
    f64::consts::{FRAC_2_SQRT_PI, TAU},
    fmt,
};

use taste_graph::{Build, Id, OpError};

use super::{Scalar, Sign, Step, Unary, quadratic};

type Rule = fn(&mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError>;

/// A scalar function without parameters, which ONNX has under the same name.
pub(crate) struct Function {
    name: &'static str,
    value: fn(f64) -> f64,
    d1: Rule,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Scalar for &'static Function {
    fn name(&self) -> &'static str {
        self.name
    }

    fn value(&self, x: f64) -> f64 {
        (self.value)(x)
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
        (self.d1)(b, x, y)
    }
}

/// 1 / √x.
fn inverse_root(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let root = b.push(Unary(&SQRT), &[x])?;
    b.push(Unary(&RECIPROCAL), &[root])
}

/// 1 − x², without cancellation near ±1.
fn one_minus_square(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let (below, above) = (b.from_offset(1.0, x)?, b.offset(x, 1.0)?);
    b.mul(below, above)
}

/// 1 − sigmoid(x) = sigmoid(−x), without cancellation where it is small.
fn complement(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let turned = b.neg(x)?;
    b.push(Unary(&SIGMOID), &[turned])
}

/// exp(−x²/2) / √(2π).
pub(crate) fn gauss(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let exponent = quadratic(b, x, -0.5, 0.0, 0.0)?;
    let bell = b.push(Unary(&EXP), &[exponent])?;
    b.scale(bell, TAU.sqrt().recip())
}

pub(crate) static EXP: Function = Function { name: "Exp", value: f64::exp, d1: |_, _, y| Ok(y) };

pub(crate) static LOG: Function =
    Function { name: "Log", value: f64::ln, d1: |b, x, _| b.push(Unary(&RECIPROCAL), &[x]) };

pub(crate) static RECIPROCAL: Function = Function {
    name: "Reciprocal",
    value: |x| 1.0 / x,
    d1: |b, _, y| quadratic(b, y, -1.0, 0.0, 0.0),
};

pub(crate) static SQRT: Function = Function {
    name: "Sqrt",
    value: f64::sqrt,
    d1: |b, _, y| {
        let r = b.push(Unary(&RECIPROCAL), &[y])?;
        b.scale(r, 0.5)
    },
};

pub(crate) static ERF: Function = Function {
    name: "Erf",
    value: libm::erf,
    d1: |b, x, _| {
        let exponent = quadratic(b, x, -1.0, 0.0, 0.0)?;
        let bell = b.push(Unary(&EXP), &[exponent])?;
        b.scale(bell, FRAC_2_SQRT_PI)
    },
};

pub(crate) static TANH: Function =
    Function { name: "Tanh", value: f64::tanh, d1: |b, _, y| quadratic(b, y, -1.0, 0.0, 1.0) };

pub(crate) static SIGMOID: Function = Function {
    name: "Sigmoid",
    value: |x| if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) },
    d1: |b, x, y| {
        let other = complement(b, x)?;
        b.mul(y, other)
    },
};

pub(crate) static RELU: Function =
    Function { name: "Relu", value: |x| x.max(0.0), d1: |b, _, y| b.push(Step, &[y]) };

pub(crate) static ABS: Function =
    Function { name: "Abs", value: f64::abs, d1: |b, x, _| b.push(Sign, &[x]) };

pub(crate) static SIN: Function =
    Function { name: "Sin", value: f64::sin, d1: |b, x, _| b.push(Unary(&COS), &[x]) };

pub(crate) static COS: Function = Function {
    name: "Cos",
    value: f64::cos,
    d1: |b, x, _| {
        let sin = b.push(Unary(&SIN), &[x])?;
        b.neg(sin)
    },
};

pub(super) static TAN: Function =
    Function { name: "Tan", value: f64::tan, d1: |b, _, y| quadratic(b, y, 1.0, 0.0, 1.0) };

pub(super) static ASIN: Function = Function {
    name: "Asin",
    value: f64::asin,
    d1: |b, x, _| {
        let rest = one_minus_square(b, x)?;
        inverse_root(b, rest)
    },
};

pub(super) static ACOS: Function = Function {
    name: "Acos",
    value: f64::acos,
    d1: |b, x, y| {
        let slope = (ASIN.d1)(b, x, y)?;
        b.neg(slope)
    },
};

pub(super) static ATAN: Function = Function {
    name: "Atan",
    value: f64::atan,
    d1: |b, x, _| {
        let rest = quadratic(b, x, 1.0, 0.0, 1.0)?;
        b.push(Unary(&RECIPROCAL), &[rest])
    },
};

pub(super) static SINH: Function =
    Function { name: "Sinh", value: f64::sinh, d1: |b, x, _| b.push(Unary(&COSH), &[x]) };

pub(super) static COSH: Function =
    Function { name: "Cosh", value: f64::cosh, d1: |b, x, _| b.push(Unary(&SINH), &[x]) };

pub(super) static ASINH: Function = Function {
    name: "Asinh",
    value: f64::asinh,
    d1: |b, x, _| {
        let rest = quadratic(b, x, 1.0, 0.0, 1.0)?;
        inverse_root(b, rest)
    },
};

pub(super) static ACOSH: Function = Function {
    name: "Acosh",
    value: f64::acosh,
    d1: |b, x, _| {
        let (below, above) = (b.offset(x, -1.0)?, b.offset(x, 1.0)?);
        let rest = b.mul(below, above)?;
        inverse_root(b, rest)
    },
};

pub(super) static ATANH: Function = Function {
    name: "Atanh",
    value: f64::atanh,
    d1: |b, x, _| {
        let rest = one_minus_square(b, x)?;
        b.push(Unary(&RECIPROCAL), &[rest])
    },
};

/// x / (1 + |x|), with φ' = (1 + |x|)⁻².
pub(super) static SOFTSIGN: Function = Function {
    name: "Softsign",
    value: |x| x / (1.0 + x.abs()),
    d1: |b, x, _| {
        let r = softsign_scale(b, x)?;
        quadratic(b, r, 1.0, 0.0, 0.0)
    },
};

/// 1 / (1 + |x|).
fn softsign_scale(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let size = b.push(Unary(&ABS), &[x])?;
    let size = b.offset(size, 1.0)?;
    b.push(Unary(&RECIPROCAL), &[size])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_meets_tabulated_values() {
        for (x, want) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813_046_5),
            (-1.0, -0.842_700_792_949_714_9),
            (3.0, 0.999_977_909_503_001_4),
            (5.5, 0.999_999_999_999_992_6),
            (f64::INFINITY, 1.0),
        ] {
            let got = (ERF.value)(x);
            assert!((got - want).abs() < 1e-14, "erf({x}) = {got}");
        }
    }
}
