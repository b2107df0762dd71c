//! Scalar functions of each element.

mod step;
mod table;

use std::fmt;

use taste_graph::{
    Build, Calculus, Concrete, DType, Emitter, Id, Lift, Op, OpError, Pointwise, Tensor, take,
};

use crate::{Entry, Reader, Sample};
use step::Stairs;
pub(crate) use step::{Sign, Step, floor, round};
pub(crate) use table::{
    ABS, COS, ERF, EXP, Function, LOG, RECIPROCAL, RELU, SIGMOID, SIN, SQRT, TANH, gauss,
};
use table::{ACOS, ACOSH, ASIN, ASINH, ATAN, ATANH, COSH, SINH, SOFTSIGN, TAN};

/// A scalar function with its derivative. The debug form names the function and all its
/// parameters: equal forms are the same function.
pub(crate) trait Scalar: fmt::Debug + Send + Sync + 'static {
    /// The ONNX spelling, or a name of our own where ONNX has none.
    fn name(&self) -> &'static str;

    /// φ(x).
    fn value(&self, x: f64) -> f64;

    /// φ'(x), from the argument and the result.
    fn d1(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError>;

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

    /// (a·x + b)·x + c with as few nodes as the coefficients allow.
    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let x = x.to_owned();
        match *self {
            Self { a: 1.0, b: 0.0, c: 0.0 } => e.node("Mul", &[x.clone(), x], vec![]),
            Self { a: -1.0, b: 0.0, c } if c != 0.0 => {
                let square = e.node("Mul", &[x.clone(), x], vec![]);
                let c = e.scalar(c);
                e.node("Sub", &[c, square], vec![])
            }
            Self { a, b, c } => {
                let mut y = x.clone();
                if let (-1.0, true) = (a, b != 0.0) {
                    let b = e.scalar(b);
                    y = e.node("Sub", &[b, y], vec![]);
                } else {
                    if a.to_bits() != 1.0f64.to_bits() {
                        let a = e.scalar(a);
                        y = e.node("Mul", &[y, a], vec![]);
                    }
                    if b != 0.0 {
                        let b = e.scalar(b);
                        y = e.node("Add", &[y, b], vec![]);
                    }
                }
                y = e.node("Mul", &[y, x], vec![]);
                if c != 0.0 {
                    let c = e.scalar(c);
                    y = e.node("Add", &[y, c], vec![]);
                }
                y
            }
        }
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
