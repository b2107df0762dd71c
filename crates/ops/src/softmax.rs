//! Softmax and its logarithm.

use ndarray::Axis;
use taste_graph::{
    Build, Calculus, Composite, Concrete, Emitter, Id, Lift, Op, OpError, Tensor, take,
};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    pointwise::{EXP, LOG, RECIPROCAL, Unary},
    reduce::{Extreme, ReduceExtreme},
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
    /// The maximum is subtracted as a constant, which changes nothing: the result does not depend on
    /// it.
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError> {
        let max = b.push(ReduceExtreme { axis: self.axis, extreme: Extreme::Max }, args)?;
        let centred = b.sub(args[0], max)?;
        let exp = b.push(Unary(&EXP), &[centred])?;
        let sum = b.sum(exp, &[self.axis])?;
        if self.log {
            let log_sum = b.push(Unary(&LOG), &[sum])?;
            b.sub(centred, log_sum)
        } else {
            let scale = b.push(Unary(&RECIPROCAL), &[sum])?;
            b.mul(exp, scale)
        }
    }
}

fn read(r: &mut Reader<'_, '_>, log: bool) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let rank = r.rank(x);
    if r.opset < 13 {
        // The old meaning: everything from the axis on is one distribution.
        let axis = r.int_or("axis", 1);
        let axis = if axis == rank as i64 { rank } else { r.axis(axis, rank)? };
        if axis + 1 != rank {
            return Err(OpError::unsupported("softmax over several axes (opset below 13)", axis));
        }
        return Ok(vec![r.b.push(Softmax { axis, log }, &[x])?]);
    }
    let axis = r.int_or("axis", -1);
    let axis = r.axis(axis, rank)?;
    Ok(vec![r.b.push(Softmax { axis, log }, &[x])?])
}

fn samples() -> Vec<Sample> {
    vec![
        Sample::new("last axis").active(&[2, 4]).batched(),
        Sample::new("axis 1 of 3").active(&[2, 3, 2]).int("axis", 1).batched(),
        Sample::new("axis from the end").active(&[2, 3, 2]).int("axis", -2).batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Softmax", |r| read(r, false), samples),
    Entry::new("LogSoftmax", |r| read(r, true), samples),
];
