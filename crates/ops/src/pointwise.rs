//! Scalar functions of each element.

use std::{
    f64::consts::{FRAC_2_SQRT_PI, TAU},
    fmt,
};

use taste_graph::{
    Build, Calculus, Concrete, DType, Emitter, Id, Lift, Op, OpError, Pointwise, Tensor, take,
};
use taste_onnx::builders;

use crate::{Entry, Reader, Sample};

/// A scalar function with its first two derivatives. The debug form names the function and all its
/// parameters: equal forms are the same function.
pub(crate) trait Scalar: fmt::Debug + Send + Sync + 'static {
    /// The ONNX spelling, or a name of our own where ONNX has none.
    fn name(&self) -> &'static str;

    /// φ(x).
    fn value(&self, x: f64) -> f64;

    /// φ'(x), from the argument and the result.
    fn d1(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError>;

    /// φ''(x); absent where it is zero almost everywhere.
    fn d2(&self, _b: &mut Build<'_>, _x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        Ok(None)
    }

    /// Whether there is a second derivative.
    fn is_curved(&self) -> bool {
        false
    }

    /// Writes ONNX nodes and returns the name of the result.
    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        e.node(self.name(), &[x.to_owned()], vec![])
    }
}

/// φ(x), element by element.
#[derive(Clone, Copy)]
pub(crate) struct Unary<S = &'static Function>(pub(crate) S);

impl<S: Scalar> fmt::Debug for Unary<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Scalar> Op for Unary<S> {
    fn name(&self) -> &'static str {
        self.0.name()
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
        Ok(vec![x.as_float()?.mapv(|v| self.0.value(v)).into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Pointwise(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let [x] = take(args)?;
        Ok(vec![self.0.write(e, x)])
    }
}

impl<S: Scalar> Pointwise for Unary<S> {
    fn d1(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
        self.0.d1(b, x, y)
    }

    fn d2(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Option<Id>, OpError> {
        self.0.d2(b, x, y)
    }

    fn is_curved(&self) -> bool {
        self.0.is_curved()
    }
}

type Rule = fn(&mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError>;

/// A scalar function without parameters, which ONNX has under the same name.
pub(crate) struct Function {
    name: &'static str,
    value: fn(f64) -> f64,
    d1: Rule,
    /// Absent where it is zero almost everywhere.
    d2: Option<Rule>,
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

    fn d2(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Option<Id>, OpError> {
        self.d2.map(|d2| d2(b, x, y)).transpose()
    }

    fn is_curved(&self) -> bool {
        self.d2.is_some()
    }
}

/// a·x² + b·x + c. Many first derivatives are a quadratic in the result; as one function, its own
/// derivative costs one product a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quadratic {
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) c: f64,
}

impl Scalar for Quadratic {
    fn name(&self) -> &'static str {
        "Quadratic"
    }

    fn value(&self, x: f64) -> f64 {
        (self.a * x + self.b) * x + self.c
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        let slope = b.scale(x, 2.0 * self.a)?;
        if self.b == 0.0 { Ok(slope) } else { b.offset(slope, self.b) }
    }

    fn d2(&self, b: &mut Build<'_>, _x: Id, _y: Id) -> Result<Option<Id>, OpError> {
        Ok(Some(b.scalar(2.0 * self.a)))
    }

    fn is_curved(&self) -> bool {
        true
    }

    /// (a·x + b)·x + c with as few nodes as the coefficients allow.
    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let x = x.to_owned();
        let mut factor = x.clone();
        let mut c = self.c;
        let from_c = self.a == -1.0 && self.b == 0.0 && c != 0.0;
        if self.a == -1.0 && self.b != 0.0 {
            let offset = e.scalar(self.b);
            factor = e.node("Sub", &[offset, factor], vec![]);
        } else if !from_c {
            if self.a != 1.0 {
                let a = e.scalar(self.a);
                factor = e.node("Mul", &[factor, a], vec![]);
            }
            if self.b != 0.0 {
                let offset = e.scalar(self.b);
                factor = e.node("Add", &[factor, offset], vec![]);
            }
        }
        let mut y = e.node("Mul", &[factor, x], vec![]);
        if from_c {
            let offset = e.scalar(c);
            y = e.node("Sub", &[offset, y], vec![]);
            c = 0.0;
        }
        if c != 0.0 {
            let offset = e.scalar(c);
            y = e.node("Add", &[y, offset], vec![]);
        }
        y
    }
}

/// a·x² + b·x + c.
pub(crate) fn quadratic(
    build: &mut Build<'_>,
    x: Id,
    a: f64,
    b: f64,
    c: f64,
) -> Result<Id, OpError> {
    build.push(Unary(Quadratic { a, b, c }), &[x])
}

/// x³.
fn cube(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let square = quadratic(b, x, 1.0, 0.0, 0.0)?;
    b.mul(square, x)
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

/// exp(−x²/2) / √(2π).
pub(crate) fn gauss(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let exponent = quadratic(b, x, -0.5, 0.0, 0.0)?;
    let bell = b.push(Unary(&EXP), &[exponent])?;
    b.scale(bell, TAU.sqrt().recip())
}

/// The error function by a series of positive terms.
pub(crate) fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 || x.is_nan() {
        return if x.is_nan() { x } else { x.signum() };
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

pub(crate) static EXP: Function =
    Function { name: "Exp", value: f64::exp, d1: |_, _, y| Ok(y), d2: Some(|_, _, y| Ok(y)) };

pub(crate) static LOG: Function = Function {
    name: "Log",
    value: f64::ln,
    d1: |b, x, _| b.push(Unary(&RECIPROCAL), &[x]),
    d2: Some(|b, x, _| {
        let r = b.push(Unary(&RECIPROCAL), &[x])?;
        quadratic(b, r, -1.0, 0.0, 0.0)
    }),
};

pub(crate) static RECIPROCAL: Function = Function {
    name: "Reciprocal",
    value: |x| 1.0 / x,
    d1: |b, _, y| quadratic(b, y, -1.0, 0.0, 0.0),
    d2: Some(|b, _, y| {
        let y3 = cube(b, y)?;
        b.scale(y3, 2.0)
    }),
};

pub(crate) static SQRT: Function = Function {
    name: "Sqrt",
    value: f64::sqrt,
    d1: |b, _, y| {
        let r = b.push(Unary(&RECIPROCAL), &[y])?;
        b.scale(r, 0.5)
    },
    d2: Some(|b, _, y| {
        let r = b.push(Unary(&RECIPROCAL), &[y])?;
        let r3 = cube(b, r)?;
        b.scale(r3, -0.25)
    }),
};

pub(crate) static ERF: Function = Function {
    name: "Erf",
    value: erf,
    d1: |b, x, _| {
        let exponent = quadratic(b, x, -1.0, 0.0, 0.0)?;
        let bell = b.push(Unary(&EXP), &[exponent])?;
        b.scale(bell, FRAC_2_SQRT_PI)
    },
    d2: Some(|b, x, y| {
        let slope = (ERF.d1)(b, x, y)?;
        let bend = b.mul(slope, x)?;
        b.scale(bend, -2.0)
    }),
};

pub(crate) static TANH: Function = Function {
    name: "Tanh",
    value: f64::tanh,
    d1: |b, _, y| quadratic(b, y, -1.0, 0.0, 1.0),
    d2: Some(|b, _, y| {
        let slope = quadratic(b, y, -1.0, 0.0, 1.0)?;
        let bend = b.mul(y, slope)?;
        b.scale(bend, -2.0)
    }),
};

pub(crate) static SIGMOID: Function = Function {
    name: "Sigmoid",
    value: |x| if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) },
    d1: |b, _, y| quadratic(b, y, -1.0, 1.0, 0.0),
    d2: Some(|b, _, y| {
        let slope = quadratic(b, y, -1.0, 1.0, 0.0)?;
        let factor = b.scale(y, -2.0)?;
        let factor = b.offset(factor, 1.0)?;
        b.mul(slope, factor)
    }),
};

pub(crate) static RELU: Function =
    Function { name: "Relu", value: |x| x.max(0.0), d1: |b, _, y| b.push(Step, &[y]), d2: None };

pub(crate) static ABS: Function =
    Function { name: "Abs", value: f64::abs, d1: |b, x, _| b.push(Sign, &[x]), d2: None };

static SIN: Function = Function {
    name: "Sin",
    value: f64::sin,
    d1: |b, x, _| b.push(Unary(&COS), &[x]),
    d2: Some(|b, _, y| b.neg(y)),
};

static COS: Function = Function {
    name: "Cos",
    value: f64::cos,
    d1: |b, x, _| {
        let sin = b.push(Unary(&SIN), &[x])?;
        b.neg(sin)
    },
    d2: Some(|b, _, y| b.neg(y)),
};

static TAN: Function = Function {
    name: "Tan",
    value: f64::tan,
    d1: |b, _, y| quadratic(b, y, 1.0, 0.0, 1.0),
    d2: Some(|b, _, y| {
        let slope = quadratic(b, y, 1.0, 0.0, 1.0)?;
        let bend = b.mul(y, slope)?;
        b.scale(bend, 2.0)
    }),
};

static ASIN: Function = Function {
    name: "Asin",
    value: f64::asin,
    d1: |b, x, _| {
        let rest = one_minus_square(b, x)?;
        inverse_root(b, rest)
    },
    d2: Some(|b, x, y| {
        let slope = (ASIN.d1)(b, x, y)?;
        let slope3 = cube(b, slope)?;
        b.mul(slope3, x)
    }),
};

static ACOS: Function = Function {
    name: "Acos",
    value: f64::acos,
    d1: |b, x, y| {
        let slope = (ASIN.d1)(b, x, y)?;
        b.neg(slope)
    },
    d2: Some(|b, x, y| {
        let slope3 = (ACOS.d1)(b, x, y)?;
        let slope3 = cube(b, slope3)?;
        b.mul(slope3, x)
    }),
};

static ATAN: Function = Function {
    name: "Atan",
    value: f64::atan,
    d1: |b, x, _| {
        let rest = quadratic(b, x, 1.0, 0.0, 1.0)?;
        b.push(Unary(&RECIPROCAL), &[rest])
    },
    d2: Some(|b, x, y| {
        let slope = (ATAN.d1)(b, x, y)?;
        let slope2 = quadratic(b, slope, -2.0, 0.0, 0.0)?;
        b.mul(slope2, x)
    }),
};

static SINH: Function = Function {
    name: "Sinh",
    value: f64::sinh,
    d1: |b, x, _| b.push(Unary(&COSH), &[x]),
    d2: Some(|_, _, y| Ok(y)),
};

static COSH: Function = Function {
    name: "Cosh",
    value: f64::cosh,
    d1: |b, x, _| b.push(Unary(&SINH), &[x]),
    d2: Some(|_, _, y| Ok(y)),
};

static ASINH: Function = Function {
    name: "Asinh",
    value: f64::asinh,
    d1: |b, x, _| {
        let rest = quadratic(b, x, 1.0, 0.0, 1.0)?;
        inverse_root(b, rest)
    },
    d2: Some(|b, x, y| {
        let slope = (ASINH.d1)(b, x, y)?;
        minus_x_cube(b, x, slope)
    }),
};

static ACOSH: Function = Function {
    name: "Acosh",
    value: f64::acosh,
    d1: |b, x, _| {
        let (below, above) = (b.offset(x, -1.0)?, b.offset(x, 1.0)?);
        let rest = b.mul(below, above)?;
        inverse_root(b, rest)
    },
    d2: Some(|b, x, y| {
        let slope = (ACOSH.d1)(b, x, y)?;
        minus_x_cube(b, x, slope)
    }),
};

static ATANH: Function = Function {
    name: "Atanh",
    value: f64::atanh,
    d1: |b, x, _| {
        let rest = one_minus_square(b, x)?;
        b.push(Unary(&RECIPROCAL), &[rest])
    },
    d2: Some(|b, x, y| {
        let slope = (ATANH.d1)(b, x, y)?;
        let slope2 = quadratic(b, slope, 2.0, 0.0, 0.0)?;
        b.mul(slope2, x)
    }),
};

/// −x·s³.
fn minus_x_cube(b: &mut Build<'_>, x: Id, s: Id) -> Result<Id, OpError> {
    let s3 = cube(b, s)?;
    let bend = b.mul(s3, x)?;
    b.neg(bend)
}

/// x / (1 + |x|), with φ' = (1 + |x|)⁻² and φ'' = −2·sign(x)·(1 + |x|)⁻³.
static SOFTSIGN: Function = Function {
    name: "Softsign",
    value: |x| x / (1.0 + x.abs()),
    d1: |b, x, _| {
        let r = softsign_scale(b, x)?;
        quadratic(b, r, 1.0, 0.0, 0.0)
    },
    d2: Some(|b, x, _| {
        let r = softsign_scale(b, x)?;
        let r3 = cube(b, r)?;
        let sign = b.push(Sign, &[x])?;
        let bend = b.mul(r3, sign)?;
        b.scale(bend, -2.0)
    }),
};

/// 1 / (1 + |x|).
fn softsign_scale(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let size = b.push(Unary(&ABS), &[x])?;
    let size = b.offset(size, 1.0)?;
    b.push(Unary(&RECIPROCAL), &[size])
}

/// A step function: nothing flows through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stairs {
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

fn read(r: &mut Reader<'_, '_>, function: &'static Function) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    Ok(vec![r.b.push(Unary(function), &[x])?])
}

fn read_op(r: &mut Reader<'_, '_>, op: impl Op) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    Ok(vec![r.b.push(op, &[x])?])
}

/// |x| of integers is x·sign(x).
fn read_abs(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    if r.fact(x).dtype == DType::Int {
        let sign = r.b.push(Sign, &[x])?;
        return Ok(vec![r.b.mul(x, sign)?]);
    }
    read(r, &ABS)
}

fn read_neg(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    if r.fact(x).dtype == DType::Int {
        let minus = r.b.graph_mut().constant(ndarray::arr0(-1).into_dyn().into());
        return Ok(vec![r.b.mul(x, minus)?]);
    }
    Ok(vec![r.b.neg(x)?])
}

/// Samples over a range of arguments.
pub(crate) fn samples(low: f64, high: f64) -> Vec<Sample> {
    vec![
        Sample::new("elements").active_in(&[2, 3], low, high).batched(),
        Sample::new("a vector").active_in(&[5], low, high),
        Sample::new("an image").active_in(&[2, 1, 2, 3], low, high).batched(),
    ]
}

fn samples_with_ints(low: f64, high: f64) -> Vec<Sample> {
    let mut all = samples(low, high);
    all.push(Sample::new("integers").fed(Tensor::ints(&[-3, 0, 7])));
    all
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Abs", read_abs, || samples_with_ints(-2.0, 2.0)),
    Entry::new("Acos", |r| read(r, &ACOS), || samples(-0.9, 0.9)),
    Entry::new("Acosh", |r| read(r, &ACOSH), || samples(1.2, 3.0)),
    Entry::new("Asin", |r| read(r, &ASIN), || samples(-0.9, 0.9)),
    Entry::new("Asinh", |r| read(r, &ASINH), || samples(-2.0, 2.0)),
    Entry::new("Atan", |r| read(r, &ATAN), || samples(-2.0, 2.0)),
    Entry::new("Atanh", |r| read(r, &ATANH), || samples(-0.9, 0.9)),
    Entry::new("Ceil", |r| read_op(r, Stairs::Ceil), || samples(-3.0, 3.0)),
    Entry::new("Cos", |r| read(r, &COS), || samples(-3.0, 3.0)),
    Entry::new("Cosh", |r| read(r, &COSH), || samples(-2.0, 2.0)),
    Entry::new("Erf", |r| read(r, &ERF), || samples(-3.0, 3.0)),
    Entry::new("Exp", |r| read(r, &EXP), || samples(-2.0, 2.0)),
    Entry::new("Floor", |r| read_op(r, Stairs::Floor), || samples(-3.0, 3.0)),
    Entry::new("Log", |r| read(r, &LOG), || samples(0.2, 3.0)),
    Entry::new("Neg", read_neg, || samples_with_ints(-2.0, 2.0)),
    Entry::new("Reciprocal", |r| read(r, &RECIPROCAL), || samples(0.3, 2.0)),
    Entry::new("Round", |r| read_op(r, Stairs::Round), || samples(-3.0, 3.0)),
    Entry::new("Sigmoid", |r| read(r, &SIGMOID), || samples(-4.0, 4.0)),
    Entry::new("Sign", |r| read_op(r, Sign), || samples_with_ints(-1.0, 1.0)),
    Entry::new("Sin", |r| read(r, &SIN), || samples(-3.0, 3.0)),
    Entry::new("Sinh", |r| read(r, &SINH), || samples(-2.0, 2.0)),
    Entry::new("Softsign", |r| read(r, &SOFTSIGN), || samples(-2.0, 2.0)),
    Entry::new("Sqrt", |r| read(r, &SQRT), || samples(0.3, 3.0)),
    Entry::new("Tan", |r| read(r, &TAN), || samples(-1.0, 1.0)),
    Entry::new("Tanh", |r| read(r, &TANH), || samples(-2.0, 2.0)),
];

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
            assert!((erf(x) - want).abs() < 1e-14, "erf({x}) = {}", erf(x));
        }
    }
}
