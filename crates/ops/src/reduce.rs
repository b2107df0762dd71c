//! Reductions over axes.

use ndarray::Axis;
use taste_graph::{Calculus, Concrete, Emitter, Id, Lift, Op, OpError, Tensor, take};
use taste_onnx::builders;

use crate::{Entry, Reader, Sample};

/// Which end of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Max,
    Min,
}

/// The largest or smallest element along an axis, which stays with size 1. Taken as a constant: where
/// derivatives must flow, the position is found first and the element gathered.
#[derive(Clone, Debug)]
pub(crate) struct ReduceExtreme {
    pub(crate) axis: usize,
    pub(crate) extreme: Extreme,
}

impl Op for ReduceExtreme {
    fn name(&self) -> &'static str {
        match self.extreme {
            Extreme::Max => "ReduceMax",
            Extreme::Min => "ReduceMin",
        }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        let mut shape = x.shape.clone();
        *shape
            .get_mut(self.axis)
            .ok_or_else(|| OpError::shape("an axis below", x.rank(), self.axis))? = 1;
        Ok(vec![x.with_shape(shape)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let (empty, pick): (f64, fn(f64, f64) -> f64) = match self.extreme {
            Extreme::Max => (f64::NEG_INFINITY, f64::max),
            Extreme::Min => (f64::INFINITY, f64::min),
        };
        let axis = Axis(self.axis);
        Ok(vec![match x {
            Tensor::Float(a) => {
                a.fold_axis(axis, empty, |&m, &v| pick(m, v)).insert_axis(axis).into()
            }
            Tensor::Int(a) => match self.extreme {
                Extreme::Max => a.fold_axis(axis, i64::MIN, |&m, &v| m.max(v)),
                Extreme::Min => a.fold_axis(axis, i64::MAX, |&m, &v| m.min(v)),
            }
            .insert_axis(axis)
            .into(),
            Tensor::Bool(_) => return Err(OpError::unsupported("reduction of", x.dtype())),
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1, extreme: self.extreme })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let axes = e.ints(&[self.axis as i64]);
        let keep = builders::attr_int("keepdims", 1);
        Ok(vec![e.node(self.name(), &[args[0].clone(), axes], vec![keep])])
    }
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

/// A result with reduced axes of size 1, without them if the node says so.
fn finish(r: &mut Reader<'_, '_>, y: Id, axes: &[usize]) -> Result<Vec<Id>, OpError> {
    if r.flag("keepdims", true) {
        return Ok(vec![y]);
    }
    let shape: Vec<_> = r
        .fact(y)
        .shape
        .iter()
        .enumerate()
        .filter(|(i, _)| !axes.contains(i))
        .map(|(_, d)| *d)
        .collect();
    Ok(vec![r.b.reshape(y, &shape)?])
}

fn read_sum(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let axes = reduced_axes(r, x)?;
    let y = r.b.sum(x, &axes)?;
    finish(r, y, &axes)
}

fn samples() -> Vec<Sample> {
    vec![
        Sample::new("all axes").active(&[2, 3]),
        Sample::new("last axis, dropped").active(&[2, 3]).ints(&[-1]).int("keepdims", 0).batched(),
        Sample::new("two axes").active(&[2, 3, 2]).ints(&[1, 2]).batched(),
        Sample::new("over the batch").active(&[2, 3]).ints(&[0]).batched(),
        Sample::new("nothing to do").active(&[2, 3]).int("noop_with_empty_axes", 1).batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[Entry::new("ReduceSum", read_sum, samples)];
