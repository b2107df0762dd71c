//! Adding nodes, with lanes.
//!
//! A value may carry *lanes*: a leading axis that holds several tangents or cotangents at once. The
//! rules of calculus are written for one direction; pushing an operator on a laned argument applies
//! it to every lane. Lanes whose values are the same for every sample stay *uniform*: their batch axis
//! has size 1 until an operator mixes them with something that varies over the batch.

use std::{collections::HashMap, sync::Arc};

use crate::{
    Dim, Fact, Graph, Id, Lift, Op, OpError, Tensor,
    algebra::{Add, Concat, Expand, Mul, ReduceSum, Reshape, Slice, Span, Transpose},
    graph::infer,
};

#[derive(Clone, Debug)]
struct Lanes {
    count: usize,
    uniform: bool,
    /// The fact of one lane over a whole batch.
    fact: Fact,
}

/// A scope in which nodes are added to a graph. Lanes are known within the scope only; afterwards a
/// laned value is an ordinary one with one more axis.
pub struct Build<'g> {
    graph: &'g mut Graph,
    lanes: HashMap<Id, Lanes>,
}

impl<'g> Build<'g> {
    /// A scope without laned values.
    pub fn new(graph: &'g mut Graph) -> Self {
        Self { graph, lanes: HashMap::new() }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// The graph, to add to it without lanes.
    pub fn graph_mut(&mut self) -> &mut Graph {
        self.graph
    }

    /// Element type and shape of one lane.
    pub fn fact(&self, id: Id) -> &Fact {
        self.lanes.get(&id).map_or_else(|| self.graph.fact(id), |l| &l.fact)
    }

    /// How many lanes a value has, if any.
    pub fn lanes(&self, id: Id) -> Option<usize> {
        self.lanes.get(&id).map(|l| l.count)
    }

    /// Declares the first axis of `id` to be lanes of a value like `like`. Every other axis has the
    /// size that `like` has, or 1 where the same lane serves the whole batch.
    pub fn declare_lanes(&mut self, id: Id, like: Id) -> Result<Id, OpError> {
        let fact = self.fact(like).clone();
        let physical = self.graph.fact(id);
        let misfit = || OpError::shape("lanes of", fact.to_string(), physical.to_string());
        let (count, rest) = physical.shape.split_first().ok_or_else(misfit)?;
        let count = count.as_fixed().and_then(|c| usize::try_from(c).ok()).ok_or_else(misfit)?;
        let single: Vec<Dim> = fact.shape.iter().map(|d| d.with_batch(Dim::fixed(1))).collect();
        let uniform = rest != fact.shape;
        if uniform && rest != single {
            return Err(misfit());
        }
        self.lanes.insert(id, Lanes { count, uniform, fact });
        Ok(id)
    }

    /// Applies an operator with one result.
    pub fn push(&mut self, op: impl Op, args: &[Id]) -> Result<Id, OpError> {
        self.apply(&(Arc::new(op) as Arc<dyn Op>), args)
    }

    /// Applies an operator with one result, to every lane if some argument has lanes.
    pub fn apply(&mut self, op: &Arc<dyn Op>, args: &[Id]) -> Result<Id, OpError> {
        let Some(count) = args.iter().find_map(|a| self.lanes(*a)) else {
            return Ok(self.graph.push(op.clone(), args)?[0]);
        };
        let facts: Vec<Fact> = args.iter().map(|&a| self.fact(a).clone()).collect();
        let fact = infer(&**op, &facts)?.swap_remove(0);
        let steady = |a: &Id| match self.lanes.get(a) {
            Some(lanes) => lanes.uniform || !lanes.fact.depends_on_batch(),
            None => !self.fact(*a).depends_on_batch(),
        };
        // An operator that sums over the batch, or hides it inside another axis, needs all of it.
        let keeps_batch = fact.depends_on_batch() || facts.iter().all(|f| !f.depends_on_batch());
        let spreads = keeps_batch && facts.iter().chain([&fact]).all(spreads);
        let mixes = facts.iter().chain([&fact]).any(|f| {
            f.shape.iter().position(|d| d.depends_on_batch()).is_some_and(|axis| op.mixes(axis))
        });
        let uniform = spreads && !mixes && args.iter().all(steady);
        let op = match op.with_batch(Dim::fixed(1)) {
            Some(single) if uniform => single,
            _ => op.clone(),
        };
        let laned: Vec<bool> = args.iter().map(|a| self.lanes.contains_key(a)).collect();
        let result = match op.lift(&laned, count) {
            Lift::Broadcast => {
                let rank = facts.iter().map(Fact::rank).max().unwrap_or(0);
                let mut aligned = Vec::with_capacity(args.len());
                for &arg in args {
                    let arg = if spreads { arg } else { self.full_one(arg)? };
                    aligned.push(self.align_rank(arg, rank)?);
                }
                self.graph.push(op, &aligned)?[0]
            }
            Lift::Shift { op, shared } => {
                let mut stacked = args.to_vec();
                for (_, arg) in stacked.iter_mut().enumerate().filter(|(i, _)| !shared.contains(i))
                {
                    *arg = self.with_lanes(*arg, count)?;
                    if !uniform {
                        *arg = self.full_one(*arg)?;
                    }
                }
                self.graph.push(op, &stacked)?[0]
            }
            Lift::Fold => self.fold_lanes(op, args, count, uniform, &fact)?,
            Lift::PerLane => self.per_lane(&op, args, count)?,
        };
        let uniform = uniform && self.graph.fact(result).shape[1..] != fact.shape;
        self.lanes.insert(result, Lanes { count, uniform, fact });
        Ok(result)
    }

    /// Inserts axes of size 1 so that one lane has `rank` axes.
    fn align_rank(&mut self, id: Id, rank: usize) -> Result<Id, OpError> {
        let Some(lanes) = self.lanes.get(&id) else { return Ok(id) };
        let missing = rank - lanes.fact.rank();
        if missing == 0 {
            return Ok(id);
        }
        let mut shape = self.graph.fact(id).shape.clone();
        shape.splice(1..1, std::iter::repeat_n(Dim::from(1), missing));
        Ok(self.graph.push(Arc::new(Reshape { shape }), &[id])?[0])
    }

    /// A value with lanes, repeated if it has none.
    fn with_lanes(&mut self, id: Id, count: usize) -> Result<Id, OpError> {
        if self.lanes.contains_key(&id) {
            return Ok(id);
        }
        let fact = self.fact(id).clone();
        let lane = Dim::from(1);
        let shape: Vec<Dim> = std::iter::once(lane).chain(fact.shape.iter().copied()).collect();
        let single = self.graph.push(Arc::new(Reshape { shape: shape.clone() }), &[id])?[0];
        let mut spread = shape;
        spread[0] = Dim::from(count);
        let id = self.graph.push(Arc::new(Expand { shape: spread }), &[single])?[0];
        self.lanes.insert(id, Lanes { count, uniform: false, fact });
        Ok(id)
    }

    /// Uniform lanes spread over the batch.
    fn full_one(&mut self, id: Id) -> Result<Id, OpError> {
        let Some(lanes) = self.lanes.get(&id).filter(|l| l.uniform).cloned() else {
            return Ok(id);
        };
        let shape = std::iter::once(Dim::from(lanes.count))
            .chain(lanes.fact.shape.iter().copied())
            .collect();
        let full = self.graph.push(Arc::new(Expand { shape }), &[id])?[0];
        self.lanes.insert(full, Lanes { uniform: false, ..lanes });
        Ok(full)
    }

    /// (K, N, …) → (K·N, …), the operator, and back.
    fn fold_lanes(
        &mut self,
        op: Arc<dyn Op>,
        args: &[Id],
        count: usize,
        uniform: bool,
        fact: &Fact,
    ) -> Result<Id, OpError> {
        let merge = |first: Dim| Dim {
            per_batch: first.per_batch * count as i64,
            fixed: first.fixed * count as i64,
        };
        let mut folded = Vec::with_capacity(args.len());
        for &arg in args {
            let arg = if self.lanes.contains_key(&arg) {
                arg
            } else if self.fact(arg).depends_on_batch() {
                self.with_lanes(arg, count)?
            } else {
                folded.push(arg);
                continue;
            };
            let arg = if uniform { arg } else { self.full_one(arg)? };
            let mut shape = self.graph.fact(arg).shape[1..].to_vec();
            shape[0] = merge(shape[0]);
            folded.push(self.graph.push(Arc::new(Reshape { shape }), &[arg])?[0]);
        }
        let result = self.graph.push(op, &folded)?[0];
        let mut shape = self.graph.fact(result).shape.clone();
        let first = fact.shape[0];
        shape[0] = if uniform { first.with_batch(Dim::fixed(1)) } else { first };
        shape.insert(0, Dim::from(count));
        Ok(self.graph.push(Arc::new(Reshape { shape }), &[result])?[0])
    }

    fn per_lane(&mut self, op: &Arc<dyn Op>, args: &[Id], count: usize) -> Result<Id, OpError> {
        let mut results = Vec::with_capacity(count);
        for lane in 0..count {
            let mut picked = Vec::with_capacity(args.len());
            for &arg in args {
                if self.lanes.contains_key(&arg) {
                    let arg = self.full_one(arg)?;
                    picked.push(self.lane_of(arg, lane)?);
                } else {
                    picked.push(arg);
                }
            }
            let result = self.graph.push(op.clone(), &picked)?[0];
            let mut shape = self.graph.fact(result).shape.clone();
            shape.insert(0, Dim::from(1));
            results.push(self.graph.push(Arc::new(Reshape { shape }), &[result])?[0]);
        }
        Ok(self.graph.push(Arc::new(Concat { axis: 0 }), &results)?[0])
    }

    /// One lane as a value without lanes, spread over the batch.
    pub fn lane(&mut self, id: Id, lane: usize) -> Result<Id, OpError> {
        let shape = self.fact(id).shape.clone();
        let single = self.lane_of(id, lane)?;
        self.expand(single, &shape)
    }

    fn lane_of(&mut self, id: Id, lane: usize) -> Result<Id, OpError> {
        let span = Span { start: lane, step: 1, len: 1 };
        let slice = self.graph.push(Arc::new(Slice::along(0, span)), &[id])?[0];
        let shape = self.graph.fact(slice).shape[1..].to_vec();
        Ok(self.graph.push(Arc::new(Reshape { shape }), &[slice])?[0])
    }

    /// The sum of all lanes, as a value without lanes.
    pub fn sum_lanes(&mut self, id: Id) -> Result<Id, OpError> {
        let Some(lanes) = self.lanes.get(&id).cloned() else { return Ok(id) };
        let sum = self.graph.push(Arc::new(ReduceSum { axes: vec![0] }), &[id])?[0];
        let shape = self.graph.fact(sum).shape[1..].to_vec();
        let sum = self.graph.push(Arc::new(Reshape { shape }), &[sum])?[0];
        self.expand(sum, &lanes.fact.shape)
    }

    /// A laned value with its lanes as an ordinary first axis, spread over the batch.
    pub fn stacked(&mut self, id: Id) -> Result<Id, OpError> {
        self.full_one(id)
    }

    /// A float constant.
    pub fn scalar(&mut self, value: f64) -> Id {
        self.graph.constant(Tensor::scalar(value))
    }

    /// Zeros of the shape of `like`.
    pub fn zeros_like(&mut self, like: Id) -> Result<Id, OpError> {
        let shape = self.fact(like).shape.clone();
        let zero = self.scalar(0.0);
        self.expand(zero, &shape)
    }

    /// x + y.
    pub fn add(&mut self, x: Id, y: Id) -> Result<Id, OpError> {
        self.push(Add { minus: false }, &[x, y])
    }

    /// x − y.
    pub fn sub(&mut self, x: Id, y: Id) -> Result<Id, OpError> {
        self.push(Add { minus: true }, &[x, y])
    }

    /// x · y.
    pub fn mul(&mut self, x: Id, y: Id) -> Result<Id, OpError> {
        self.push(Mul, &[x, y])
    }

    /// factor · x.
    pub fn scale(&mut self, x: Id, factor: f64) -> Result<Id, OpError> {
        if factor.to_bits() == 1.0f64.to_bits() {
            return Ok(x);
        }
        let factor = self.scalar(factor);
        self.mul(x, factor)
    }

    /// x + offset.
    pub fn offset(&mut self, x: Id, offset: f64) -> Result<Id, OpError> {
        let offset = self.scalar(offset);
        self.add(x, offset)
    }

    /// offset − x.
    pub fn from_offset(&mut self, offset: f64, x: Id) -> Result<Id, OpError> {
        let offset = self.scalar(offset);
        self.sub(offset, x)
    }

    /// −x.
    pub fn neg(&mut self, x: Id) -> Result<Id, OpError> {
        self.scale(x, -1.0)
    }

    /// x².
    pub fn square(&mut self, x: Id) -> Result<Id, OpError> {
        self.mul(x, x)
    }

    /// x under another shape with as many elements.
    pub fn reshape(&mut self, x: Id, shape: &[Dim]) -> Result<Id, OpError> {
        if self.fact(x).shape == shape {
            return Ok(x);
        }
        self.push(Reshape { shape: shape.to_vec() }, &[x])
    }

    /// x broadcast to a shape.
    pub fn expand(&mut self, x: Id, shape: &[Dim]) -> Result<Id, OpError> {
        if self.fact(x).shape == shape {
            return Ok(x);
        }
        let rank = self.fact(x).rank();
        let mut aligned = vec![Dim::from(1); shape.len().saturating_sub(rank)];
        aligned.extend(&self.fact(x).shape);
        let x = self.reshape(x, &aligned)?;
        self.push(Expand { shape: shape.to_vec() }, &[x])
    }

    /// The sum over axes, which stay with size 1.
    pub fn sum(&mut self, x: Id, axes: &[usize]) -> Result<Id, OpError> {
        if axes.is_empty() {
            return Ok(x);
        }
        self.push(ReduceSum { axes: axes.to_vec() }, &[x])
    }

    /// x with axes in another order.
    pub fn transpose(&mut self, x: Id, perm: &[usize]) -> Result<Id, OpError> {
        if perm.iter().enumerate().all(|(i, &p)| i == p) {
            return Ok(x);
        }
        self.push(Transpose { perm: perm.to_vec() }, &[x])
    }

    /// The shape that two values broadcast to.
    pub fn broadcast_shape(&self, x: Id, y: Id) -> Result<Vec<Dim>, OpError> {
        let facts = [self.fact(x).clone(), self.fact(y).clone()];
        Ok(infer(&Add { minus: false }, &facts)?.swap_remove(0).shape)
    }

    /// The adjoint of broadcasting: `ct` summed to the shape of `like`.
    pub fn sum_to(&mut self, ct: Id, like: Id) -> Result<Id, OpError> {
        let want = self.fact(like).shape.clone();
        let got = self.fact(ct).shape.clone();
        if want == got {
            return Ok(ct);
        }
        let lead = got.len().saturating_sub(want.len());
        let axes: Vec<usize> =
            (0..got.len()).filter(|&axis| axis < lead || want[axis - lead] != got[axis]).collect();
        let sum = self.sum(ct, &axes)?;
        self.reshape(sum, &want)
    }
}

/// Whether N, where it occurs, is the whole of one axis, so that broadcasting reaches it.
fn spreads(fact: &Fact) -> bool {
    fact.shape.iter().all(|&d| d == Dim::BATCH || !d.depends_on_batch())
        && fact.shape.iter().filter(|d| d.depends_on_batch()).count() <= 1
}
