//! Comparisons, logic, and choosing between values.

use taste_graph::{
    Build, Calculus, Concrete, DType, Emitter, Id, Lift, Linear, Op, OpError, Tensor,
    algebra::{broadcast_shapes, infer_elementwise, zip_arrays},
    infer, take,
};

use crate::{Entry, Reader, Sample, cast::Cast};

/// Whether a relation holds between elements, with broadcasting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Compare {
    fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Self::Equal => a == b,
            Self::Greater => a > b,
            Self::GreaterOrEqual => a >= b,
            Self::Less => a < b,
            Self::LessOrEqual => a <= b,
        }
    }
}

impl Op for Compare {
    fn name(&self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::Greater => "Greater",
            Self::GreaterOrEqual => "GreaterOrEqual",
            Self::Less => "Less",
            Self::LessOrEqual => "LessOrEqual",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [a, b] = take(args)?;
        if a.dtype == DType::Bool && *self != Self::Equal {
            return Err(OpError::unsupported("an order of", a.dtype));
        }
        Ok(vec![infer_elementwise(a, b, DType::Bool)?])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [a, b] = take(args)?;
        let shape = broadcast_shapes(a.shape(), b.shape())?;
        Ok(vec![match (a, b) {
            (Tensor::Float(a), Tensor::Float(b)) => {
                zip_arrays(a, b, &shape, |a, b| self.holds(&a, &b))?.into()
            }
            (Tensor::Int(a), Tensor::Int(b)) => {
                zip_arrays(a, b, &shape, |a, b| self.holds(&a, &b))?.into()
            }
            (Tensor::Bool(a), Tensor::Bool(b)) => {
                zip_arrays(a, b, &shape, |a, b| self.holds(&a, &b))?.into()
            }
            _ => return Err(OpError::DType { want: a.dtype(), got: b.dtype() }),
        }])
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

/// A connective of truth values, with broadcasting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

impl Op for Logic {
    fn name(&self) -> &'static str {
        match self {
            Self::And => "And",
            Self::Or => "Or",
            Self::Xor => "Xor",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [a, b] = take(args)?;
        if a.dtype != DType::Bool {
            return Err(OpError::DType { want: DType::Bool, got: a.dtype });
        }
        Ok(vec![infer_elementwise(a, b, DType::Bool)?])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [a, b] = take(args)?;
        let shape = broadcast_shapes(a.shape(), b.shape())?;
        let (a, b) = (a.as_bool()?, b.as_bool()?);
        Ok(vec![
            zip_arrays(a, b, &shape, |a, b| match self {
                Self::And => a && b,
                Self::Or => a || b,
                Self::Xor => a != b,
            })?
            .into(),
        ])
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

/// A property of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Not,
    IsNaN,
    IsInf,
}

impl Op for Test {
    fn name(&self) -> &'static str {
        match self {
            Self::Not => "Not",
            Self::IsNaN => "IsNaN",
            Self::IsInf => "IsInf",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        let want = if *self == Self::Not { DType::Bool } else { DType::Float };
        if x.dtype != want {
            return Err(OpError::DType { want, got: x.dtype });
        }
        Ok(vec![Concrete { dtype: DType::Bool, shape: x.shape.clone() }])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![match self {
            Self::Not => x.as_bool()?.mapv(|v| !v).into(),
            Self::IsNaN => x.as_float()?.mapv(f64::is_nan).into(),
            Self::IsInf => x.as_float()?.mapv(f64::is_infinite).into(),
        }])
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

/// The second argument where the first is true, the third elsewhere; all three broadcast.
#[derive(Debug)]
pub(crate) struct Where;

impl Op for Where {
    fn name(&self) -> &'static str {
        "Where"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [mask, x, y] = take(args)?;
        if mask.dtype != DType::Bool {
            return Err(OpError::DType { want: DType::Bool, got: mask.dtype });
        }
        let both = infer_elementwise(x, y, x.dtype)?;
        Ok(vec![both.with_shape(broadcast_shapes(&mask.shape, &both.shape)?)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [mask, x, y] = take(args)?;
        let both = broadcast_shapes(x.shape(), y.shape())?;
        let shape = broadcast_shapes(mask.shape(), &both)?;
        let mask = mask.as_bool()?;
        macro_rules! choose {
            ($x:expr, $y:expr) => {{
                let pairs = zip_arrays($x, $y, &shape, |x, y| (x, y))?.into_shared();
                zip_arrays(mask, &pairs, &shape, |m, (x, y)| if m { x } else { y })?.into()
            }};
        }
        Ok(vec![match (x, y) {
            (Tensor::Float(x), Tensor::Float(y)) => choose!(x, y),
            (Tensor::Int(x), Tensor::Int(y)) => choose!(x, y),
            (Tensor::Bool(x), Tensor::Bool(y)) => choose!(x, y),
            _ => return Err(OpError::DType { want: x.dtype(), got: y.dtype() }),
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        if e.out_fact(0).dtype != DType::Bool {
            return Ok(vec![e.node("Where", args, vec![])]);
        }
        // Engines have no choice between truth values.
        let [mask, x, y] = take(args)?;
        let not = e.node("Not", std::slice::from_ref(mask), vec![]);
        let x = e.node("And", &[mask.clone(), x.clone()], vec![]);
        let y = e.node("And", &[not, y.clone()], vec![]);
        Ok(vec![e.node("Or", &[x, y], vec![])])
    }
}

impl Linear for Where {
    fn active(&self, i: usize) -> bool {
        i > 0
    }

    /// A choice, not a product with the mask: a tangent that is not finite where it is not chosen does
    /// no harm. A single zero stands in for an absent branch if the shapes allow it.
    fn apply(
        &self,
        b: &mut Build<'_>,
        args: &[Id],
        tangents: &[Option<Id>],
    ) -> Option<Result<Id, OpError>> {
        let (&[mask, x, y], &[_, dx, dy]) = (args, tangents) else { return None };
        let (present, other) = match (dx, dy) {
            (Some(_), None) => (x, y),
            (None, Some(_)) => (y, x),
            _ => return None,
        };
        let mut choose = || {
            let zero = b.scalar(0.0);
            let fact = |id: Id| b.fact(id).clone();
            let full = infer(self, &[fact(mask), fact(x), fact(y)])?;
            let narrow = infer(self, &[fact(mask), fact(present), fact(zero)])?;
            let zero = if full == narrow { zero } else { b.zeros_like(other)? };
            b.push(Self, &[mask, dx.unwrap_or(zero), dy.unwrap_or(zero)])
        };
        Some(choose())
    }

    fn transpose(&self, b: &mut Build<'_>, args: &[Id], i: usize, ct: Id) -> Result<Id, OpError> {
        let mask = if i == 1 { args[0] } else { b.push(Test::Not, &[args[0]])? };
        let mask = b.push(Cast { to: DType::Float }, &[mask])?;
        let chosen = b.mul(ct, mask)?;
        b.sum_to(chosen, args[i])
    }
}

fn read_two(r: &mut Reader<'_, '_>, op: impl Op) -> Result<Vec<Id>, OpError> {
    let [a, b] = r.take()?;
    Ok(vec![r.b.push(op, &[a, b])?])
}

fn read_test(r: &mut Reader<'_, '_>, test: Test) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    Ok(vec![r.b.push(test, &[x])?])
}

/// One sign of infinity alone is an equality.
fn read_is_inf(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let (minus, plus) = (r.flag("detect_negative", true), r.flag("detect_positive", true));
    let sign = match (minus, plus) {
        (true, true) => return Ok(vec![r.b.push(Test::IsInf, &[x])?]),
        (false, true) => f64::INFINITY,
        (true, false) => f64::NEG_INFINITY,
        // Equal to nothing.
        (false, false) => f64::NAN,
    };
    let infinity = r.b.scalar(sign);
    Ok(vec![r.b.push(Compare::Equal, &[x, infinity])?])
}

fn read_where(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [mask, x, y] = r.take()?;
    Ok(vec![r.b.push(Where, &[mask, x, y])?])
}

fn order_samples() -> Vec<Sample> {
    vec![
        Sample::new("equal shapes").active(&[2, 3]).active(&[2, 3]).batched(),
        Sample::new("a constant row").active(&[2, 3]).fixed(&[3]).batched(),
        Sample::new("broadcast both ways").active(&[2, 1, 3]).active(&[2, 1]),
        Sample::new("integers").fed(Tensor::ints(&[1, 2, 3])).ints(&[3, 2, 1]),
    ]
}

/// Truth values of a shape that repeat a pattern.
fn truth(shape: &[usize], pattern: &[bool]) -> Tensor {
    let mut values = pattern.iter().cycle().copied();
    ndarray::ArrayD::from_shape_simple_fn(shape, || values.next().unwrap_or(false)).into()
}

fn equal_samples() -> Vec<Sample> {
    let mut all = order_samples();
    all.push(
        Sample::new("truth values")
            .fed(truth(&[4], &[true, false]))
            .constant(truth(&[4], &[true, true, false])),
    );
    all
}

fn logic_samples() -> Vec<Sample> {
    vec![
        Sample::new("equal shapes")
            .fed(truth(&[2, 2], &[true, false]))
            .fed(truth(&[2, 2], &[true, true, false, false]))
            .batched(),
        Sample::new("broadcast")
            .fed(truth(&[2, 1, 3], &[true, false, false]))
            .constant(truth(&[2, 1], &[true, false])),
    ]
}

fn infinity_samples() -> Vec<Sample> {
    let values = || ndarray::arr1(&[f64::INFINITY, 1.0, f64::NEG_INFINITY]).into_dyn().into();
    vec![
        Sample::new("either sign").constant(values()),
        Sample::new("below").constant(values()).int("detect_positive", 0),
        Sample::new("above").constant(values()).int("detect_negative", 0),
        Sample::new("finite").active(&[2, 3]).batched(),
    ]
}

fn where_samples() -> Vec<Sample> {
    let mask = &[true, false, false, true, true];
    vec![
        Sample::new("equal shapes")
            .fed(truth(&[2, 3], mask))
            .active(&[2, 3])
            .active(&[2, 3])
            .batched(),
        Sample::new("a constant mask")
            .constant(truth(&[3], mask))
            .active(&[2, 3])
            .active(&[2, 3])
            .batched(),
        Sample::new("a constant elsewhere")
            .constant(truth(&[3, 3], mask))
            .active(&[2, 3, 3])
            .fixed(&[])
            .batched(),
        Sample::new("a constant row chosen")
            .fed(truth(&[2, 1], mask))
            .fixed(&[3])
            .active(&[2, 1])
            .batched(),
        Sample::new("broadcast three ways")
            .fed(truth(&[2, 1, 1], mask))
            .active(&[3, 1])
            .active(&[2]),
        Sample::new("integers").fed(truth(&[3], mask)).ints(&[1, 2, 3]).ints(&[4]),
        Sample::new("truth values")
            .fed(truth(&[4], mask))
            .constant(truth(&[1], &[false]))
            .fed(truth(&[4], &[true, false])),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("And", |r| read_two(r, Logic::And), logic_samples),
    Entry::new("Equal", |r| read_two(r, Compare::Equal), equal_samples),
    Entry::new("Greater", |r| read_two(r, Compare::Greater), order_samples),
    Entry::new("GreaterOrEqual", |r| read_two(r, Compare::GreaterOrEqual), order_samples),
    Entry::new("IsInf", read_is_inf, infinity_samples),
    Entry::new(
        "IsNaN",
        |r| read_test(r, Test::IsNaN),
        || {
            vec![
                Sample::new("numbers").active(&[2, 3]).batched(),
                Sample::new("one that is none")
                    .constant(ndarray::arr1(&[f64::NAN, 1.0]).into_dyn().into()),
            ]
        },
    ),
    Entry::new("Less", |r| read_two(r, Compare::Less), order_samples),
    Entry::new("LessOrEqual", |r| read_two(r, Compare::LessOrEqual), order_samples),
    Entry::new(
        "Not",
        |r| read_test(r, Test::Not),
        || vec![Sample::new("elements").fed(truth(&[2, 3], &[true, false, false])).batched()],
    ),
    Entry::new("Or", |r| read_two(r, Logic::Or), logic_samples),
    Entry::new("Where", read_where, where_samples),
    Entry::new("Xor", |r| read_two(r, Logic::Xor), logic_samples),
];
