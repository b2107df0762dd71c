//! Scalar functions of each element.

use std::fmt;

use taste_graph::{
    Build, Calculus, Concrete, DType, Emitter, Id, Lift, Op, OpError, Pointwise, Tensor, take,
};

use crate::{Entry, Reader, Sample};

type Rule = fn(&mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError>;

/// A scalar function with its first two derivatives, each from the argument x and the result y.
pub(crate) struct Function {
    name: &'static str,
    value: fn(f64) -> f64,
    d1: Rule,
    /// Absent where it is zero almost everywhere.
    d2: Option<Rule>,
}

/// φ(x), element by element.
#[derive(Clone, Copy)]
pub(crate) struct Unary(pub(crate) &'static Function);

impl fmt::Debug for Unary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl Op for Unary {
    fn name(&self) -> &'static str {
        self.0.name
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
        Ok(vec![x.as_float()?.mapv(self.0.value).into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Pointwise(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node(self.0.name, args, vec![])])
    }
}

impl Pointwise for Unary {
    fn d1(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
        (self.0.d1)(b, x, y)
    }

    fn d2(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Option<Id>, OpError> {
        self.0.d2.map(|d2| d2(b, x, y)).transpose()
    }

    fn is_curved(&self) -> bool {
        self.0.d2.is_some()
    }
}

pub(crate) static EXP: Function =
    Function { name: "Exp", value: f64::exp, d1: |_, _, y| Ok(y), d2: Some(|_, _, y| Ok(y)) };

pub(crate) static LOG: Function = Function {
    name: "Log",
    value: f64::ln,
    d1: |b, x, _| b.push(Unary(&RECIPROCAL), &[x]),
    d2: Some(|b, x, _| {
        let r = b.push(Unary(&RECIPROCAL), &[x])?;
        let r2 = b.square(r)?;
        b.neg(r2)
    }),
};

pub(crate) static RECIPROCAL: Function = Function {
    name: "Reciprocal",
    value: |x| 1.0 / x,
    d1: |b, _, y| {
        let y2 = b.square(y)?;
        b.neg(y2)
    },
    d2: Some(|b, _, y| {
        let y2 = b.square(y)?;
        let y3 = b.mul(y2, y)?;
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
        let r2 = b.square(r)?;
        let r3 = b.mul(r2, r)?;
        b.scale(r3, -0.25)
    }),
};

static TANH: Function = Function {
    name: "Tanh",
    value: f64::tanh,
    d1: |b, _, y| {
        let y2 = b.square(y)?;
        b.from_offset(1.0, y2)
    },
    d2: Some(|b, _, y| {
        let y2 = b.square(y)?;
        let slope = b.from_offset(1.0, y2)?;
        let bend = b.mul(y, slope)?;
        b.scale(bend, -2.0)
    }),
};

/// The sign of the result is the slope: cheaper than a comparison.
static RELU: Function =
    Function { name: "Relu", value: |x| x.max(0.0), d1: |b, _, y| b.push(Sign, &[y]), d2: None };

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

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("Sign", args, vec![])])
    }
}

fn read(r: &mut Reader<'_, '_>, function: &'static Function) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    Ok(vec![r.b.push(Unary(function), &[x])?])
}

/// Samples over a range of arguments.
fn samples(low: f64, high: f64) -> Vec<Sample> {
    vec![Sample::new("elements").active_in(&[2, 3], low, high).batched()]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Exp", |r| read(r, &EXP), || samples(-2.0, 2.0)),
    Entry::new("Log", |r| read(r, &LOG), || samples(0.2, 3.0)),
    Entry::new("Reciprocal", |r| read(r, &RECIPROCAL), || samples(0.3, 2.0)),
    Entry::new("Relu", |r| read(r, &RELU), || samples(-1.0, 1.0)),
    Entry::new("Sqrt", |r| read(r, &SQRT), || samples(0.3, 2.0)),
    Entry::new("Tanh", |r| read(r, &TANH), || samples(-2.0, 2.0)),
    Entry::new(
        "Sign",
        |r| {
            let [x] = r.take()?;
            Ok(vec![r.b.push(Sign, &[x])?])
        },
        || samples(-1.0, 1.0),
    ),
];
