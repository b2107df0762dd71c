//! Softmax and its logarithm.

use ndarray::Axis;
use taste_graph::{
    Build, Calculus, Composite, Concrete, DType, Emitter, Id, Lift, Op, OpError, Tensor, take,
};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    pointwise::{EXP, LOG, Unary},
    reduce::ReduceExtreme,
    shape::product,
};

/// exp(x) / Σ exp(x) along an axis, or its logarithm.
#[derive(Clone, Debug)]
pub(crate) struct Softmax {
    /// The axis that sums to one.
    pub(crate) axis: usize,
    /// Whether the logarithm is taken.
    pub(crate) log: bool,
}

impl Op for Softmax {
    fn name(&self) -> &'static str {
        if self.log { "LogSoftmax" } else { "Softmax" }
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if self.axis >= x.rank() {
            return Err(OpError::shape("an axis below", x.rank(), self.axis));
        }
        if x.dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let mut y = x.as_float()?.to_owned();
        for mut lane in y.lanes_mut(Axis(self.axis)) {
            let max = lane.fold(f64::NEG_INFINITY, |m, &v| m.max(v));
            let sum: f64 = lane.iter().map(|v| (v - max).exp()).sum();
            let log = self.log;
            lane.mapv_inplace(|v| if log { v - max - sum.ln() } else { (v - max).exp() / sum });
        }
        Ok(vec![y.into()])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Composite(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1, log: self.log })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let axis = builders::attr_int("axis", self.axis as i64);
        Ok(vec![e.node(self.name(), args, vec![axis])])
    }
}

impl Composite for Softmax {
    /// exp(x − log Σ exp(x)): a tangent meets one product after the sum. The maximum is subtracted as a
    /// constant, which changes nothing: the result does not depend on it.
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let max = b.push(ReduceExtreme::frozen_max(&[self.axis]), args)?;
        let centred = b.sub(args[0], max)?;
        let exp = b.push(Unary(&EXP), &[centred])?;
        let sum = b.sum(exp, &[self.axis])?;
        let log_sum = b.push(Unary(&LOG), &[sum])?;
        let log = b.sub(centred, log_sum)?;
        if self.log { Ok(log) } else { b.push(Unary(&EXP), &[log]) }
    }
}

/// The meaning of an axis before opset 13: everything from the axis on is one distribution. Returns the
/// argument with these axes as one, and that axis.
pub(crate) fn old_distribution(r: &mut Reader<'_, '_>, x: Id) -> Result<(Id, usize), OpError> {
    let rank = r.rank(x);
    let axis = r.int_or("axis", 1);
    let axis = if i64::try_from(rank) == Ok(axis) { rank } else { r.axis(axis, rank)? };
    let (outer, inner) = r.fact(x).shape.split_at(axis);
    let inner = product(inner)
        .ok_or_else(|| OpError::unsupported("a distribution over two axes of", "the batch size"))?;
    let shape = [outer, &[inner]].concat();
    Ok((r.b.reshape(x, &shape)?, axis))
}

fn read(r: &mut Reader<'_, '_>, log: bool) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let shape = r.fact(x).shape.clone();
    let (x, axis) = if r.opset < 13 {
        old_distribution(r, x)?
    } else {
        let axis = r.int_or("axis", -1);
        (x, r.axis(axis, shape.len())?)
    };
    let y = r.b.push(Softmax { axis, log }, &[x])?;
    Ok(vec![r.b.reshape(y, &shape)?])
}

fn samples() -> Vec<Sample> {
    vec![
        Sample::new("last axis").active(&[2, 4]).batched(),
        Sample::new("axis 1 of 3").active(&[2, 3, 2]).int("axis", 1).batched(),
        Sample::new("axis from the end").active(&[2, 3, 2]).int("axis", -2).batched(),
        Sample::new("over the batch").active(&[2, 3]).int("axis", 0).batched(),
        Sample::new("all but the first axis").active(&[2, 3, 2]).opset(12).batched(),
        Sample::new("everything").active(&[2, 3]).int("axis", 0).opset(9).batched(),
        Sample::new("last axis of old").active(&[2, 3, 2]).int("axis", -1).opset(11).batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Softmax", |r| read(r, false), samples),
    Entry::new("LogSoftmax", |r| read(r, true), samples),
];
