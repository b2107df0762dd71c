//! Reductions over axes.

use ndarray::{ArrayD, Axis};
use taste_graph::{
    Array, Build, Calculus, Composite, Concrete, DType, Dim, Emitter, Id, Lift, Op, OpError,
    Pointwise, Tensor,
    algebra::{Slice, Span},
    take,
};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    arg::{ArgExtreme, Select},
    arithmetic::int,
    cast::Cast,
    compare::Compare,
    pointwise::{EXP, LOG, RECIPROCAL, SQRT, Sign, Unary},
    shape::product,
};

/// Which end of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Max,
    Min,
}

fn infer_reduced(args: &[Concrete], axes: &[usize]) -> Result<Vec<Concrete>, OpError> {
    let [x] = take(args)?;
    if x.dtype == DType::Bool {
        return Err(OpError::unsupported("a reduction of elements of type", x.dtype));
    }
    let mut shape = x.shape.clone();
    for &axis in axes {
        *shape.get_mut(axis).ok_or_else(|| OpError::shape("an axis below", x.rank(), axis))? = 1;
    }
    Ok(vec![x.with_shape(shape)])
}

fn fold<T: Clone>(a: &Array<T>, axes: &[usize], start: &T, f: impl Fn(&T, &T) -> T) -> ArrayD<T> {
    axes.iter().fold(a.to_owned(), |a, &axis| {
        a.fold_axis(Axis(axis), start.clone(), |m, v| f(m, v)).insert_axis(Axis(axis))
    })
}

fn next(axes: &[usize]) -> Vec<usize> {
    axes.iter().map(|a| a + 1).collect()
}

fn write_reduction(e: &mut Emitter<'_>, name: &str, x: &str, axes: &[usize]) -> Vec<String> {
    let axes: Vec<i64> = axes.iter().map(|&a| a as i64).collect();
    let axes = e.ints(&axes);
    vec![e.node(name, &[x.to_owned(), axes], vec![builders::attr_int("keepdims", 1)])]
}

/// The largest or smallest element over some axes, which stay with size 1.
#[derive(Clone, Debug)]
pub(crate) struct ReduceExtreme {
    /// The axes, ascending.
    pub(crate) axes: Vec<usize>,
    /// Which element.
    pub(crate) extreme: Extreme,
    /// Whether the element is taken as a constant, which no derivative flows through.
    pub(crate) frozen: bool,
}

impl ReduceExtreme {
    /// The largest element over some axes, as a constant.
    pub(crate) fn frozen_max(axes: &[usize]) -> Self {
        Self { axes: axes.to_vec(), extreme: Extreme::Max, frozen: true }
    }
}

impl Op for ReduceExtreme {
    fn name(&self) -> &'static str {
        match self.extreme {
            Extreme::Max => "ReduceMax",
            Extreme::Min => "ReduceMin",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        infer_reduced(args, &self.axes)
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![match (x, self.extreme) {
            (Tensor::Float(a), Extreme::Max) => {
                fold(a, &self.axes, &f64::NEG_INFINITY, |m, v| m.max(*v)).into()
            }
            (Tensor::Float(a), Extreme::Min) => {
                fold(a, &self.axes, &f64::INFINITY, |m, v| m.min(*v)).into()
            }
            (Tensor::Int(a), Extreme::Max) => {
                fold(a, &self.axes, &i64::MIN, |m, v| *m.max(v)).into()
            }
            (Tensor::Int(a), Extreme::Min) => {
                fold(a, &self.axes, &i64::MAX, |m, v| *m.min(v)).into()
            }
            (Tensor::Bool(_), _) => {
                return Err(OpError::unsupported("a reduction of elements of type", x.dtype()));
            }
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        if self.frozen { Calculus::Constant } else { Calculus::Composite(self) }
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axes: next(&self.axes), ..self.clone() })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(write_reduction(e, self.name(), &args[0], &self.axes))
    }
}

impl Composite for ReduceExtreme {
    /// The position is found first, as a constant, and the element there is selected.
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let mut shape = b.fact(args[0]).shape.clone();
        for &axis in &self.axes {
            shape[axis] = Dim::from(1);
        }
        let (x, axis) = merge_axes(b, args[0], &self.axes)?;
        let at = b.push(ArgExtreme { axis, extreme: self.extreme, last: false }, &[x])?;
        let y = b.push(Select { axis }, &[x, at])?;
        b.reshape(y, &shape)
    }
}

/// `x` with some axes as one, and that axis. The other axes keep their order.
fn merge_axes(b: &mut Build<'_>, x: Id, axes: &[usize]) -> Result<(Id, usize), OpError> {
    if let [axis] = axes {
        return Ok((x, *axis));
    }
    let shape = b.fact(x).shape.clone();
    let merged: Vec<Dim> = axes.iter().map(|&a| shape[a]).collect();
    let merged = product(&merged)
        .ok_or_else(|| OpError::unsupported("a reduction over two axes of", "the batch size"))?;
    let kept: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).collect();
    let mut flat: Vec<Dim> = kept.iter().map(|&a| shape[a]).collect();
    let adjacent = axes.windows(2).all(|w| w[1] == w[0] + 1);
    let axis = axes.first().copied().filter(|_| adjacent).unwrap_or(kept.len());
    let x = if adjacent { x } else { b.transpose(x, &[&kept[..], axes].concat())? };
    flat.insert(axis, merged);
    Ok((b.reshape(x, &flat)?, axis))
}

/// The product over some axes, which stay with size 1.
#[derive(Clone, Debug)]
pub(crate) struct ReduceProd {
    /// The axes, ascending.
    axes: Vec<usize>,
}

impl Op for ReduceProd {
    fn name(&self) -> &'static str {
        "ReduceProd"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        infer_reduced(args, &self.axes)
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![match x {
            Tensor::Float(a) => fold(a, &self.axes, &1.0, |p, v| p * v).into(),
            Tensor::Int(a) => fold(a, &self.axes, &1, |p, v| p.wrapping_mul(*v)).into(),
            Tensor::Bool(_) => {
                return Err(OpError::unsupported("a reduction of elements of type", x.dtype()));
            }
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axes: next(&self.axes) })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(write_reduction(e, self.name(), &args[0], &self.axes))
    }
}

impl Composite for ReduceProd {
    /// Halves are multiplied until one element is left, so that zeros need no division.
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        self.axes.iter().try_fold(args[0], |x, &axis| halve(b, x, axis))
    }
}

fn halve(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    let mut shape = b.fact(x).shape.clone();
    let mut size = usize::try_from(shape[axis].as_fixed().unwrap_or(-1))
        .map_err(|_| OpError::unsupported("a product over an axis of size", shape[axis]))?;
    if size == 0 {
        shape[axis] = Dim::from(1);
        let one = b.scalar(1.0);
        return b.expand(one, &shape);
    }
    let mut product = x;
    let mut odd: Option<Id> = None;
    while size > 1 {
        let half = size / 2;
        let part = |start, len| Slice::along(axis, Span { start, step: 1, len });
        let (low, high) = (part(0, half), part(half, half));
        if size % 2 == 1 {
            let rest = b.push(part(size - 1, 1), &[product])?;
            odd = Some(match odd {
                Some(odd) => b.mul(odd, rest)?,
                None => rest,
            });
        }
        let (low, high) = (b.push(low, &[product])?, b.push(high, &[product])?);
        product = b.mul(low, high)?;
        size = half;
    }
    odd.map_or(Ok(product), |odd| b.mul(product, odd))
}

/// log Σ exp(x) over some axes, which stay with size 1.
#[derive(Clone, Debug)]
pub(crate) struct LogSumExp {
    /// The axes, ascending.
    axes: Vec<usize>,
}

impl Op for LogSumExp {
    fn name(&self) -> &'static str {
        "ReduceLogSumExp"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if x.dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        infer_reduced(args, &self.axes)
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let x = x.as_float()?;
        let max = fold(x, &self.axes, &f64::NEG_INFINITY, |m, v| m.max(*v));
        // Without a finite maximum the sum is 0 or ∞, and needs no shift.
        let shift = max.mapv(|m| if m.is_finite() { m } else { 0.0 });
        let exp = (x - &shift).mapv(f64::exp).into_shared();
        let sum = fold(&exp, &self.axes, &0.0, |s, v| s + v);
        Ok(vec![(sum.mapv(f64::ln) + shift).into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axes: next(&self.axes) })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(write_reduction(e, self.name(), &args[0], &self.axes))
    }
}

impl Composite for LogSumExp {
    /// The maximum is subtracted as a constant, which changes nothing: the result does not depend on
    /// it.
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let max = b.push(ReduceExtreme::frozen_max(&self.axes), args)?;
        let centred = b.sub(args[0], max)?;
        let exp = b.push(Unary(&EXP), &[centred])?;
        let sum = b.sum(exp, &self.axes)?;
        let log = b.push(Unary(&LOG), &[sum])?;
        b.add(log, max)
    }
}

/// x², element by element: one product with a tangent, where the product of x with itself has two.
#[derive(Debug)]
pub(crate) struct Square;

impl Op for Square {
    fn name(&self) -> &'static str {
        "Square"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if x.dtype == DType::Bool {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        Ok(vec![match x {
            Tensor::Float(a) => a.mapv(|v| v * v).into(),
            Tensor::Int(a) => a.mapv(|v| v.wrapping_mul(v)).into(),
            Tensor::Bool(_) => {
                return Err(OpError::DType { want: DType::Float, got: DType::Bool });
            }
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Pointwise(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("Mul", &[args[0].clone(), args[0].clone()], vec![])])
    }
}

impl Pointwise for Square {
    fn d1(&self, b: &mut Build<'_>, x: Id, _y: Id) -> Result<Id, OpError> {
        b.scale(x, 2.0)
    }
}

/// The mean over axes, which stay with size 1.
pub(crate) fn mean(b: &mut Build<'_>, x: Id, axes: &[usize]) -> Result<Id, OpError> {
    let fact = b.fact(x);
    if fact.dtype != DType::Float {
        return Err(OpError::unsupported("a mean of elements of type", fact.dtype));
    }
    let (open, fixed): (Vec<Dim>, Vec<Dim>) =
        axes.iter().map(|&a| fact.shape[a]).partition(|d| d.depends_on_batch());
    let count: f64 = fixed.iter().map(|d| d.fixed as f64).product();
    let sum = b.sum(x, axes)?;
    let mean = b.scale(sum, 1.0 / count)?;
    if open.is_empty() {
        return Ok(mean);
    }
    let one = b.scalar(1.0);
    let ones = b.expand(one, &open)?;
    let count = b.sum(ones, &(0..open.len()).collect::<Vec<_>>())?;
    let count = b.reshape(count, &[])?;
    let share = b.push(Unary(&RECIPROCAL), &[count])?;
    b.mul(mean, share)
}

/// The axes of a reduction, ascending; all of them if none are given.
fn reduced_axes(r: &mut Reader<'_, '_>, x: Id) -> Result<Vec<usize>, OpError> {
    let rank = r.rank(x);
    let idle = r.flag("noop_with_empty_axes", false);
    let given = r.axes("axes", 1)?.unwrap_or_default();
    if given.is_empty() {
        return Ok(if idle { Vec::new() } else { (0..rank).collect() });
    }
    let mut axes = given.into_iter().map(|a| r.axis(a, rank)).collect::<Result<Vec<usize>, _>>()?;
    axes.sort_unstable();
    axes.dedup();
    Ok(axes)
}

/// Reads axes, reduces with `f` to axes of size 1, and drops these if the node says so.
fn read(
    r: &mut Reader<'_, '_>,
    f: impl FnOnce(&mut Build<'_>, Id, &[usize]) -> Result<Id, OpError>,
) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let axes = reduced_axes(r, x)?;
    let y = f(&mut r.b, x, &axes)?;
    if r.flag("keepdims", true) {
        return Ok(vec![y]);
    }
    let kept = r.fact(y).shape.iter().enumerate().filter(|(i, _)| !axes.contains(i));
    let shape: Vec<Dim> = kept.map(|(_, d)| *d).collect();
    Ok(vec![r.b.reshape(y, &shape)?])
}

/// Reduces with an operator, which does nothing without axes.
fn read_op<O: Op>(
    r: &mut Reader<'_, '_>,
    op: impl FnOnce(Vec<usize>) -> O,
) -> Result<Vec<Id>, OpError> {
    read(r, |b, x, axes| if axes.is_empty() { Ok(x) } else { b.push(op(axes.to_vec()), &[x]) })
}

/// False is below true.
fn read_extreme(r: &mut Reader<'_, '_>, extreme: Extreme) -> Result<Vec<Id>, OpError> {
    let op = |axes| ReduceExtreme { axes, extreme, frozen: false };
    if r.fact(r.arg(0)?).dtype != DType::Bool {
        return read_op(r, op);
    }
    read(r, |b, x, axes| {
        let x = b.push(Cast { to: DType::Int }, &[x])?;
        let y = b.push(op(axes.to_vec()), &[x])?;
        // The extreme of nothing is far below or above.
        let zero = b.graph_mut().constant(int(0));
        b.push(Compare::Greater, &[y, zero])
    })
}

fn read_sum(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    fn sum(b: &mut Build<'_>, x: Id, axes: &[usize]) -> Result<Id, OpError> {
        b.sum(x, axes)
    }
    read(r, sum)
}

fn read_l1(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    read(r, |b, x, axes| {
        let size = magnitude(b, x)?;
        b.sum(size, axes)
    })
}

/// |x| as x · sign(x).
pub(crate) fn magnitude(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let sign = b.push(Sign, &[x])?;
    b.mul(x, sign)
}

fn read_l2(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    read(r, |b, x, axes| {
        let sum = sum_square(b, x, axes)?;
        b.push(Unary(&SQRT), &[sum])
    })
}

/// Σ x² over axes, which stay with size 1.
pub(crate) fn sum_square(b: &mut Build<'_>, x: Id, axes: &[usize]) -> Result<Id, OpError> {
    let square = b.push(Square, &[x])?;
    b.sum(square, axes)
}

fn read_log_sum(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    read(r, |b, x, axes| {
        let sum = b.sum(x, axes)?;
        b.push(Unary(&LOG), &[sum])
    })
}

/// Samples over axes, with elements between `low` and `high`.
fn samples_in(low: f64, high: f64) -> Vec<Sample> {
    let of = |title: &str, shape: &[usize]| Sample::new(title).active_in(shape, low, high);
    vec![
        of("all axes", &[2, 3]),
        of("last axis, dropped", &[2, 3]).ints(&[-1]).int("keepdims", 0).batched(),
        of("two axes", &[2, 3, 2]).ints(&[1, 2]).batched(),
        of("apart, dropped", &[2, 2, 3]).ints(&[2, 0]).int("keepdims", 0),
        of("nothing to do", &[2, 3]).int("noop_with_empty_axes", 1).batched(),
    ]
}

fn over_the_batch(low: f64, high: f64) -> Vec<Sample> {
    let of = |title: &str, shape: &[usize]| Sample::new(title).active_in(shape, low, high);
    let mut samples = samples_in(low, high);
    samples.push(of("over the batch", &[2, 3]).ints(&[0]).batched());
    samples.push(of("everything", &[2, 3, 2]).int("keepdims", 0).batched());
    samples
}

/// Axes as an attribute, as they were written before they became an input.
fn old(opset: i64, low: f64, high: f64) -> Sample {
    Sample::new("axes as an attribute")
        .active_in(&[2, 3, 2], low, high)
        .int_list("axes", &[-2])
        .opset(opset)
        .batched()
}

fn integers() -> Sample {
    Sample::new("integers").fed(Tensor::ints(&[2, 3, 7, -1])).int("keepdims", 0)
}

fn with_old(mut samples: Vec<Sample>, low: f64, high: f64) -> Vec<Sample> {
    samples.push(old(13, low, high));
    samples
}

fn sum_samples() -> Vec<Sample> {
    let mut samples = over_the_batch(-1.0, 1.0);
    samples.extend([old(11, -1.0, 1.0), integers()]);
    samples
}

fn extreme_samples() -> Vec<Sample> {
    let mut samples = with_old(samples_in(-1.0, 1.0), -1.0, 1.0);
    samples.extend([Sample::new("first axis").active(&[3, 2]).ints(&[0]), integers()]);
    samples
}

fn prod_samples() -> Vec<Sample> {
    let zero = Tensor::from(ndarray::arr2(&[[0.5, 0.0, -1.5], [2.0, 0.3, 1.2]]).into_dyn());
    let mut samples = with_old(samples_in(-1.5, 1.5), -1.5, 1.5);
    samples.extend([
        Sample::new("a zero among the factors").fed(zero).ints(&[1]).batched(),
        Sample::new("seven factors").active_in(&[2, 7], -1.5, 1.5).ints(&[1]).batched(),
        integers(),
    ]);
    samples
}

fn norm_samples() -> Vec<Sample> {
    let mixed = Tensor::from(ndarray::arr2(&[[0.5, -0.7, -1.5], [2.0, -0.3, 1.2]]).into_dyn());
    let mut samples = with_old(over_the_batch(0.3, 1.5), 0.3, 1.5);
    samples.push(Sample::new("both signs").fed(mixed).ints(&[1]).batched());
    samples
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("ReduceSum", read_sum, sum_samples),
    Entry::new("ReduceMean", |r| read(r, mean), || with_old(over_the_batch(-1.0, 1.0), -1.0, 1.0)),
    Entry::new("ReduceMax", |r| read_extreme(r, Extreme::Max), extreme_samples),
    Entry::new("ReduceMin", |r| read_extreme(r, Extreme::Min), extreme_samples),
    Entry::new("ReduceProd", |r| read_op(r, |axes| ReduceProd { axes }), prod_samples),
    Entry::new("ReduceL1", read_l1, norm_samples),
    Entry::new("ReduceL2", read_l2, norm_samples),
    Entry::new("ReduceSumSquare", |r| read(r, sum_square), norm_samples),
    Entry::new("ReduceLogSum", read_log_sum, || with_old(over_the_batch(0.3, 1.5), 0.3, 1.5)),
    Entry::new(
        "ReduceLogSumExp",
        |r| read_op(r, |axes| LogSumExp { axes }),
        || with_old(over_the_batch(-2.0, 2.0), -2.0, 2.0),
    ),
];
