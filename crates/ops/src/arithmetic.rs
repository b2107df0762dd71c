//! Sums, products and powers of elements.

use ndarray::arr0;
use taste_graph::{
    Build, Calculus, Composite, Concrete, DType, Emitter, Id, Lift, Linear, Op, OpError, Tensor,
    algebra::{Add, Mul, broadcast_shapes, infer_elementwise, zip_arrays, zip_elements},
    downcast, take,
};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    activation::Swish,
    cast::Cast,
    compare::{Compare, Where},
    pointwise::{EXP, LOG, RECIPROCAL, SIGMOID, SQRT, Scalar, Sign, Unary, floor, quadratic},
};

/// An integer of rank 0.
pub(crate) fn int(value: i64) -> Tensor {
    arr0(value).into_dyn().into()
}

/// Zero of a numeric type.
pub(crate) fn zero(b: &mut Build<'_>, dtype: DType) -> Id {
    if dtype == DType::Int { b.graph_mut().constant(int(0)) } else { b.scalar(0.0) }
}

/// x / y with broadcasting; integers are truncated towards zero.
#[derive(Debug)]
pub(crate) struct Div {
    /// Whether the divisor is a constant, so that the quotient is linear.
    pub(crate) fixed: bool,
}

impl Op for Div {
    fn name(&self) -> &'static str {
        "Div"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, y] = take(args)?;
        Ok(vec![infer_elementwise(x, y, x.dtype)?])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, y] = take(args)?;
        refuse_zero(y)?;
        Ok(vec![zip_elements(x, y, |a, b| a / b, i64::wrapping_div)?])
    }

    fn calculus(&self) -> Calculus<'_> {
        if self.fixed { Calculus::Linear(self) } else { Calculus::Composite(self) }
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn is_elementwise(&self) -> bool {
        self.fixed
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("Div", args, vec![])])
    }
}

/// Fails if an integer divisor is zero.
fn refuse_zero(divisor: &Tensor) -> Result<(), OpError> {
    match divisor {
        Tensor::Int(a) if a.iter().any(|&v| v == 0) => {
            Err(OpError::invalid("an integer is divided by zero"))
        }
        _ => Ok(()),
    }
}

impl Composite for Div {
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let [x, y] = *take(args)?;
        let inverse = b.push(Unary(&RECIPROCAL), &[y])?;
        b.mul(x, inverse)
    }
}

impl Linear for Div {
    fn active(&self, i: usize) -> bool {
        i == 0
    }

    /// A product with the inverse, which is a constant too.
    fn apply(
        &self,
        b: &mut Build<'_>,
        args: &[Id],
        tangents: &[Option<Id>],
    ) -> Option<Result<Id, OpError>> {
        let (&[_, y], &[Some(tangent), _]) = (args, tangents) else { return None };
        Some(self.expand(b, &[tangent, y]))
    }

    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        let quotient = self.expand(b, &[ct, args[1]])?;
        b.sum_to(quotient, args[0])
    }
}

/// The remainder of x / y, with the sign of x (truncated) or of y.
#[derive(Debug)]
pub(crate) struct Mod {
    /// Whether the quotient is rounded towards zero rather than down. Floats are.
    pub(crate) truncated: bool,
}

impl Op for Mod {
    fn name(&self) -> &'static str {
        "Mod"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, y] = take(args)?;
        Ok(vec![infer_elementwise(x, y, x.dtype)?])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, y] = take(args)?;
        refuse_zero(y)?;
        let remainder = |a: i64, b: i64| {
            let rest = a.wrapping_rem(b);
            if !self.truncated && rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
        };
        Ok(vec![zip_elements(x, y, |a, b| a % b, remainder)?])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let truncated = builders::attr_int("fmod", i64::from(self.truncated));
        Ok(vec![e.node("Mod", args, vec![truncated])])
    }
}

impl Composite for Mod {
    /// x − y·q, where q is the truncated quotient.
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let [x, y] = *take(args)?;
        let quotient = b.push(Div { fixed: false }, &[x, y])?;
        let sign = b.push(Sign, &[quotient])?;
        let size = b.mul(quotient, sign)?;
        let size = floor(b, size)?;
        let quotient = b.mul(size, sign)?;
        let whole = b.mul(y, quotient)?;
        b.sub(x, whole)
    }
}

/// xᵖ for a constant p: φ' = p·xᵖ⁻¹.
#[derive(Clone, Copy, Debug)]
struct Power {
    exponent: f64,
}

impl Scalar for Power {
    fn name(&self) -> &'static str {
        "Pow"
    }

    fn value(&self, x: f64) -> f64 {
        x.powf(self.exponent)
    }

    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        // Halves are roots, of what is known to be positive.
        let x = if (2.0 * self.exponent).fract() == 0.0 { x } else { defined(b, x)? };
        let power = power(b, x, self.exponent - 1.0)?;
        b.scale(power, self.exponent)
    }

    fn write(&self, e: &mut Emitter<'_>, x: &str) -> String {
        let x = x.to_owned();
        let square =
            |e: &mut Emitter<'_>, x: &String| e.node("Mul", &[x.clone(), x.clone()], vec![]);
        match self.exponent {
            3.0 => {
                let x2 = square(e, &x);
                e.node("Mul", &[x2, x], vec![])
            }
            4.0 => {
                let x2 = square(e, &x);
                square(e, &x2)
            }
            -0.5 => {
                let root = e.node("Sqrt", &[x], vec![]);
                e.node("Reciprocal", &[root], vec![])
            }
            -2.0 => {
                let x2 = square(e, &x);
                e.node("Reciprocal", &[x2], vec![])
            }
            exponent => {
                let exponent = e.scalar(exponent);
                e.node("Pow", &[x, exponent], vec![])
            }
        }
    }
}

/// xᵖ by the cheapest operator.
pub(crate) fn power(b: &mut Build<'_>, x: Id, exponent: f64) -> Result<Id, OpError> {
    match exponent {
        0.0 => {
            let (one, shape) = (b.scalar(1.0), b.fact(x).shape.clone());
            b.expand(one, &shape)
        }
        1.0 => Ok(x),
        2.0 => quadratic(b, x, 1.0, 0.0, 0.0),
        0.5 => b.push(Unary(&SQRT), &[x]),
        -1.0 => b.push(Unary(&RECIPROCAL), &[x]),
        exponent => b.push(Unary(Power { exponent }), &[x]),
    }
}

/// x, and 1 where a power with a fraction is no number: what takes no notice of it there has a derivative of 0, not of NaN.
fn defined(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let (zero, one) = (b.scalar(0.0), b.scalar(1.0));
    let positive = b.push(Compare::Greater, &[x, zero])?;
    b.push(Where, &[positive, x, one])
}

/// xʸ with broadcasting, in the type of x. Where y is no constant, derivatives want x > 0.
#[derive(Debug)]
struct Pow;

impl Op for Pow {
    fn name(&self) -> &'static str {
        "Pow"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, y] = take(args)?;
        if x.dtype == DType::Bool || y.dtype == DType::Bool {
            return Err(OpError::unsupported("a power of", DType::Bool));
        }
        if x.dtype == DType::Float && y.dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: y.dtype });
        }
        Ok(vec![x.with_shape(broadcast_shapes(&x.shape, &y.shape)?)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, y] = take(args)?;
        let shape = broadcast_shapes(x.shape(), y.shape())?;
        #[expect(clippy::cast_possible_truncation, reason = "the result has the type of the base")]
        let float = |a: i64, p: f64| (a as f64).powf(p) as i64;
        Ok(vec![match (x, y) {
            (Tensor::Float(x), Tensor::Float(y)) => zip_arrays(x, y, &shape, f64::powf)?.into(),
            (Tensor::Int(x), Tensor::Float(y)) => zip_arrays(x, y, &shape, float)?.into(),
            (Tensor::Int(x), Tensor::Int(y)) => {
                zip_arrays(x, y, &shape, |a, p| match u32::try_from(p) {
                    Ok(p) => a.wrapping_pow(p),
                    Err(_) => float(a, p as f64),
                })?
                .into()
            }
            _ => return Err(OpError::DType { want: x.dtype(), got: y.dtype() }),
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("Pow", args, vec![])])
    }
}

impl Composite for Pow {
    /// exp(y·log x).
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let [mut x, y] = *take(args)?;
        let exponents = b.graph().as_constant(y).and_then(|y| y.as_float().ok());
        if exponents.is_some_and(|y| y.iter().all(|p| p.fract() != 0.0)) {
            x = defined(b, x)?;
        }
        let log = b.push(Unary(&LOG), &[x])?;
        let exponent = b.mul(y, log)?;
        b.push(Unary(&EXP), &[exponent])
    }
}

/// The larger or the smaller of two elements, with broadcasting; of equal ones the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extremum {
    Max,
    Min,
}

impl Op for Extremum {
    fn name(&self) -> &'static str {
        match self {
            Self::Max => "Max",
            Self::Min => "Min",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x, y] = take(args)?;
        Ok(vec![infer_elementwise(x, y, x.dtype)?])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x, y] = take(args)?;
        Ok(vec![match self {
            Self::Max => zip_elements(x, y, f64::max, i64::max),
            Self::Min => zip_elements(x, y, f64::min, i64::min),
        }?])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node(self.name(), args, vec![])])
    }
}

impl Composite for Extremum {
    /// Each argument times the mask of where it wins: one product a lane if one of them varies.
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let [x, y] = *take(args)?;
        let (first, second) = match self {
            Self::Max => (Compare::GreaterOrEqual, Compare::Less),
            Self::Min => (Compare::LessOrEqual, Compare::Greater),
        };
        let mut term = |wins: Compare, of: Id| {
            let mask = b.push(wins, &[x, y])?;
            let mask = b.push(Cast { to: DType::Float }, &[mask])?;
            b.mul(of, mask)
        };
        let (x, y) = (term(first, x)?, term(second, y)?);
        b.add(x, y)
    }
}

fn read_add(r: &mut Reader<'_, '_>, minus: bool) -> Result<Vec<Id>, OpError> {
    let [x, y] = r.take()?;
    Ok(vec![r.b.push(Add { minus }, &[x, y])?])
}

/// Whether y = σ(x).
fn is_gate(b: &Build<'_>, x: Id, y: Id) -> bool {
    let node = b.graph().node_of(y);
    node.args == [x]
        && downcast::<Unary>(&*node.op).is_some_and(|u| u.0.name() == (&SIGMOID).name())
}

/// x·σ(x) is how files write `Swish`, whose derivative costs less than that of a product.
fn read_mul(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, y] = r.take()?;
    for (x, gate) in [(x, y), (y, x)] {
        if is_gate(&r.b, x, gate) {
            return Ok(vec![r.b.push(Unary(Swish { alpha: 1.0 }), &[x])?]);
        }
    }
    Ok(vec![r.b.push(Mul, &[x, y])?])
}

fn read_div(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, y] = r.take()?;
    let fixed = r.b.graph().as_constant(y).is_some() && r.fact(y).dtype == DType::Float;
    Ok(vec![r.b.push(Div { fixed }, &[x, y])?])
}

/// Floats are rounded down by composition: engines want `fmod` for them. Where the remainder has not the
/// sign of the divisor, the divisor is added.
fn read_mod(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, y] = r.take()?;
    let truncated = r.flag("fmod", false);
    if truncated || r.fact(x).dtype != DType::Float {
        return Ok(vec![r.b.push(Mod { truncated }, &[x, y])?]);
    }
    let rest = r.b.push(Mod { truncated: true }, &[x, y])?;
    let signs = [r.b.push(Sign, &[rest])?, r.b.push(Sign, &[y])?];
    let sign = r.b.mul(signs[0], signs[1])?;
    let zero = r.b.scalar(0.0);
    let differ = r.b.push(Compare::Less, &[sign, zero])?;
    let moved = r.b.add(rest, y)?;
    Ok(vec![r.b.push(Where, &[differ, moved, rest])?])
}

/// The number that all elements of a constant are equal to.
fn uniform(tensor: &Tensor) -> Option<f64> {
    match tensor {
        Tensor::Float(a) => {
            let first = *a.first()?;
            a.iter().all(|v| v.to_bits() == first.to_bits()).then_some(first)
        }
        Tensor::Int(a) => {
            let first = *a.first()?;
            a.iter().all(|v| *v == first).then_some(first as f64)
        }
        Tensor::Bool(_) => None,
    }
}

fn read_pow(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, mut y] = r.take()?;
    if r.fact(x).dtype != DType::Float {
        return Ok(vec![r.b.push(Pow, &[x, y])?]);
    }
    if let Some(exponent) = r.b.graph().as_constant(y).and_then(uniform) {
        let shape = taste_graph::infer(
            &Pow,
            &[r.fact(x).clone(), taste_graph::Fact::float(r.fact(y).shape.clone())],
        )?
        .swap_remove(0)
        .shape;
        let result = power(&mut r.b, x, exponent)?;
        return Ok(vec![r.b.expand(result, &shape)?]);
    }
    if r.fact(y).dtype == DType::Int {
        y = r.b.push(Cast { to: DType::Float }, &[y])?;
    }
    Ok(vec![r.b.push(Pow, &[x, y])?])
}

fn read_sum(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let mut sum = r.arg(0)?;
    for i in 1..r.arity() {
        let term = r.arg(i)?;
        sum = r.b.add(sum, term)?;
    }
    Ok(vec![sum])
}

fn read_mean(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let sum = read_sum(r)?[0];
    let count = r.arity() as f64;
    Ok(vec![r.b.scale(sum, 1.0 / count)?])
}

fn read_extremum(r: &mut Reader<'_, '_>, side: Extremum) -> Result<Vec<Id>, OpError> {
    let mut best = r.arg(0)?;
    for i in 1..r.arity() {
        let other = r.arg(i)?;
        best = r.b.push(side, &[best, other])?;
    }
    Ok(vec![best])
}

fn samples() -> Vec<Sample> {
    vec![
        Sample::new("equal shapes").active(&[2, 3]).active(&[2, 3]).batched(),
        Sample::new("a constant row").active(&[2, 3]).fixed(&[3]).batched(),
        Sample::new("broadcast both ways").active(&[2, 1, 3]).active(&[2, 1]),
        Sample::new("scalar").active(&[2, 3]).fixed(&[]).batched(),
        Sample::new("integers").fed(Tensor::ints(&[7, -7, 5])).ints(&[2, 2, -3]),
    ]
}

fn div_samples() -> Vec<Sample> {
    vec![
        Sample::new("equal shapes").active(&[2, 3]).active_in(&[2, 3], 0.5, 2.0).batched(),
        Sample::new("a constant row").active(&[2, 3]).fixed_in(&[3], 0.5, 2.0).batched(),
        Sample::new("a constant numerator").fixed(&[3]).active_in(&[2, 3], 0.5, 2.0).batched(),
        Sample::new("broadcast both ways").active(&[2, 1, 3]).active_in(&[2, 1], -2.0, -0.5),
        Sample::new("a constant that spreads").active(&[3, 1]).fixed_in(&[2], 0.5, 2.0),
        Sample::new("integers").fed(Tensor::ints(&[7, -7, 5])).ints(&[2, 2, -3]),
    ]
}

fn mod_samples() -> Vec<Sample> {
    let ints =
        |title: &str| Sample::new(title).fed(Tensor::ints(&[7, -7, 5, -5])).ints(&[3, 3, -3, -3]);
    let floats = |title: &str| {
        let x = ndarray::arr2(&[[2.3, -3.6, 0.4], [-1.7, 5.2, -0.9]]).into_dyn();
        Sample::new(title).fed(x.into()).batched()
    };
    vec![
        ints("integers"),
        ints("integers towards zero").int("fmod", 1),
        floats("floats").active_in(&[2, 3], 1.1, 1.2).int("fmod", 1),
        floats("a constant divisor").constant(Tensor::scalar(1.5)).int("fmod", 1),
        floats("floats rounded down").constant(Tensor::scalar(1.5)),
        floats("rounded down, a negative divisor").active_in(&[2, 3], -1.2, -1.1),
    ]
}

fn pow_samples() -> Vec<Sample> {
    let to = |title: &str, p: f64| {
        Sample::new(title).active_in(&[2, 3], 0.5, 2.0).constant(Tensor::scalar(p)).batched()
    };
    vec![
        to("square", 2.0),
        to("cube", 3.0),
        to("root", 0.5),
        to("inverse", -1.0),
        to("inverse root", -0.5),
        to("inverse square", -2.0),
        to("fourth", 4.0),
        to("sixth", 6.0),
        to("itself", 1.0),
        to("one", 0.0),
        to("a fraction", 1.7),
        Sample::new("negative base").active_in(&[2, 3], -2.0, -0.5).ints(&[5]).batched(),
        Sample::new("an exponent that spreads")
            .active(&[2, 1])
            .constant(Tensor::from(ndarray::arr1(&[2.0, 2.0, 2.0]).into_dyn())),
        Sample::new("a row of exponents")
            .active_in(&[2, 3], 0.5, 2.0)
            .fixed_in(&[3], -2.0, 2.0)
            .batched(),
        Sample::new("both vary").active_in(&[2, 3], 0.5, 2.0).active(&[2, 3]).batched(),
        Sample::new("integer exponents").active_in(&[3], 0.5, 2.0).fed(Tensor::ints(&[1, 2, -3])),
        Sample::new("integers").fed(Tensor::ints(&[2, -3, 4])).ints(&[10, 3, 0]),
        Sample::new("integers to a float").fed(Tensor::ints(&[2, 9])).constant(Tensor::scalar(0.5)),
    ]
}

fn variadic_samples() -> Vec<Sample> {
    vec![
        Sample::new("one").active(&[2, 3]).batched(),
        Sample::new("two").active(&[2, 3]).active(&[2, 3]).batched(),
        Sample::new("two with a constant").active(&[2, 3]).fixed(&[3]).batched(),
        Sample::new("three with broadcasting").active(&[2, 1, 3]).active(&[2, 1]).active(&[1]),
    ]
}

fn variadic_samples_with_ints() -> Vec<Sample> {
    let mut all = variadic_samples();
    all.push(Sample::new("integers").fed(Tensor::ints(&[1, 5])).ints(&[2, 3]).ints(&[0, 7]));
    all
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Add", |r| read_add(r, false), samples),
    Entry::new("Div", read_div, div_samples),
    Entry::new("Max", |r| read_extremum(r, Extremum::Max), variadic_samples_with_ints),
    Entry::new("Mean", read_mean, variadic_samples),
    Entry::new("Min", |r| read_extremum(r, Extremum::Min), variadic_samples_with_ints),
    Entry::new("Mod", read_mod, mod_samples),
    Entry::new("Mul", read_mul, samples),
    Entry::new("Pow", read_pow, pow_samples),
    Entry::new("Sub", |r| read_add(r, true), samples),
    Entry::new("Sum", read_sum, variadic_samples_with_ints),
];
