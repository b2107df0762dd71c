//! Operators as functions, for crates that build graphs of their own.

use taste_graph::{
    Build, DType, Dim, Graph, Id, OpError, Tensor,
    algebra::{Add, Concat, Slice, Span},
    downcast,
};

use crate::{
    arg::{FirstMax, Place, Select, TopPositions, top},
    arithmetic::{self, Extremum},
    cast::{self, Cast},
    compare::{Compare, Logic, Test, Where},
    gather::GatherNd,
    matmul::MatMul,
    pointwise::{ABS, EXP, LOG, RECIPROCAL, RELU, SIGMOID, SQRT, Sign, TANH, Unary},
    reduce::{Extreme, ReduceExtreme},
    softmax::Softmax,
};

/// exp(x) / Σ exp(x) along an axis.
pub fn softmax(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    b.push(Softmax { axis, log: false }, &[x])
}

/// The logarithm of softmax along an axis.
pub fn log_softmax(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    b.push(Softmax { axis, log: true }, &[x])
}

/// A value as a softmax along its last axis, with what softmax is applied to, if that is how it was made: by
/// the operator, or for two classes as 1 − σ(h) and σ(h), which are the softmax of 0 and h.
pub fn as_softmax(graph: &mut Graph, id: Id) -> Result<Option<(Id, Id)>, OpError> {
    if let Some(logits) = softmax_argument(graph, id) {
        return Ok(Some((id, logits)));
    }
    let Some(h) = sigmoid_pair(graph, id) else { return Ok(None) };
    let axis = graph.fact(id).rank() - 1;
    let mut b = Build::new(graph);
    let zeros = b.zeros_like(h)?;
    let logits = concat(&mut b, &[zeros, h], axis)?;
    Ok(Some((softmax(&mut b, logits, axis)?, logits)))
}

/// What softmax along the last axis was applied to.
pub(crate) fn softmax_argument(graph: &Graph, id: Id) -> Option<Id> {
    let node = graph.node_of(id);
    let softmax = downcast::<Softmax>(&*node.op)?;
    (!softmax.log && softmax.axis + 1 == graph.fact(id).rank()).then(|| node.args[0])
}

/// What a sigmoid was applied to, if a value is one, whatever its shape became since.
pub fn sigmoid_argument(graph: &Graph, id: Id) -> Option<Id> {
    let id = before_reshapes(graph, id);
    is_sigmoid(graph, id).then(|| graph.node_of(id).args.first().copied()).flatten()
}

/// Whether a value is a `ReLU` or a softplus, whatever its shape became since: at least zero, with no bound above.
pub fn is_amount(graph: &Graph, id: Id) -> bool {
    let node = graph.node_of(before_reshapes(graph, id));
    ["Relu", "Softplus"].contains(&node.op.name())
}

/// A value before its shape was changed.
fn before_reshapes(graph: &Graph, mut id: Id) -> Id {
    const RESHAPES: [&str; 5] = ["Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"];
    loop {
        let node = graph.node_of(id);
        match node.args.first() {
            Some(&x) if RESHAPES.contains(&node.op.name()) => id = x,
            _ => return id,
        }
    }
}

fn is_sigmoid(graph: &Graph, id: Id) -> bool {
    let node = graph.node_of(id);
    downcast::<Unary>(&*node.op).is_some_and(|u| std::ptr::eq(u.0, &raw const SIGMOID))
}

/// h, if a value is 1 − σ(h) followed by σ(h) along the last axis, one entry each.
fn sigmoid_pair(graph: &Graph, id: Id) -> Option<Id> {
    let pair = graph.node_of(id);
    let axis = downcast::<Concat>(&*pair.op)?.axis;
    let [complement, p] = pair.args[..] else { return None };
    let sigmoid = graph.node_of(p);
    let minus = graph.node_of(complement);
    let is_minus = downcast::<Add>(&*minus.op).is_some_and(|a| a.minus) && minus.args[1] == p;
    let from_one = || match graph.as_constant(minus.args[0]) {
        Some(Tensor::Float(a)) => a.iter().all(|v| v.to_bits() == 1.0f64.to_bits()),
        _ => false,
    };
    let single = |id: Id| graph.fact(id).shape.last() == Some(&Dim::from(1));
    let fits = axis + 1 == graph.fact(id).rank() && single(complement) && single(p);
    (fits && is_sigmoid(graph, p) && is_minus && from_one()).then(|| sigmoid.args[0])
}

/// 1 at the first largest element along an axis, 0 elsewhere.
pub fn first_max(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    b.push(FirstMax { axis }, &[x])
}

/// The `k` largest elements along an axis, the largest first, and their positions as integers.
///
/// ```
/// use std::collections::HashMap;
/// use taste_graph::{Build, Dim, Fact, Graph, Tensor};
/// use taste_ops::functions::{bottom_k, top_k};
///
/// let mut graph = Graph::new();
/// let x = graph.input("x", Fact::float(vec![Dim::BATCH, Dim::fixed(4)]));
/// let mut b = Build::new(&mut graph);
/// let ([values, places], [low, _]) = (top_k(&mut b, x, 1, 2)?, bottom_k(&mut b, x, 1, 2)?);
/// let feeds = HashMap::from([(x, Tensor::floats(&[1, 4], vec![3.0, 8.0, 1.0, 5.0])?)]);
/// let found = graph.eval(&[values, places, low], &feeds, 1)?;
/// assert_eq!(found[0], Tensor::floats(&[1, 2], vec![8.0, 5.0])?);
/// assert_eq!(found[1].as_int()?.as_slice(), Some(&[1, 3][..]));
/// assert_eq!(found[2], Tensor::floats(&[1, 2], vec![1.0, 3.0])?);
/// # Ok::<(), taste_graph::OpError>(())
/// ```
pub fn top_k(b: &mut Build<'_>, x: Id, axis: usize, k: usize) -> Result<[Id; 2], OpError> {
    top(b, x, TopPositions { axis, k, extreme: Extreme::Max })
}

/// The `k` smallest elements along an axis, the smallest first, and their positions as integers.
pub fn bottom_k(b: &mut Build<'_>, x: Id, axis: usize, k: usize) -> Result<[Id; 2], OpError> {
    top(b, x, TopPositions { axis, k, extreme: Extreme::Min })
}

/// The elements at positions along an axis: y[…, i, …] = x[…, at[…, i, …], …]. Beside the axis both have the same shape.
pub fn select(b: &mut Build<'_>, x: Id, at: Id, axis: usize) -> Result<Id, OpError> {
    b.push(Select { axis }, &[x, at])
}

/// Elements added to zeros at positions along an axis of some size: the adjoint of [`select`].
pub fn place(b: &mut Build<'_>, x: Id, at: Id, axis: usize, size: usize) -> Result<Id, OpError> {
    b.push(Place { axis, size: Dim::from(size) }, &[x, at])
}

/// The largest element along an axis, which stays with size 1.
pub fn largest(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    b.push(ReduceExtreme { axes: vec![axis], extreme: Extreme::Max, frozen: false }, &[x])
}

/// The smallest element along an axis, which stays with size 1.
pub fn smallest(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    b.push(ReduceExtreme { axes: vec![axis], extreme: Extreme::Min, frozen: false }, &[x])
}

/// The larger of an element and a number.
pub fn at_least(b: &mut Build<'_>, x: Id, low: f64) -> Result<Id, OpError> {
    let low = b.scalar(low);
    b.push(Extremum::Max, &[x, low])
}

/// The smaller of an element and a number.
pub fn capped(b: &mut Build<'_>, x: Id, high: f64) -> Result<Id, OpError> {
    let high = b.scalar(high);
    b.push(Extremum::Min, &[x, high])
}

/// −1, 0 or 1, as the sign of an element is.
pub fn sign(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Sign, &[x])
}

/// Elements to the power of a number.
pub fn power(b: &mut Build<'_>, x: Id, exponent: f64) -> Result<Id, OpError> {
    arithmetic::power(b, x, exponent)
}

/// log Σ exp(x) along an axis, which stays with size 1.
pub fn log_sum_exp(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    let max = b.push(ReduceExtreme::frozen_max(&[axis]), &[x])?;
    let centred = b.sub(x, max)?;
    let terms = exp(b, centred)?;
    let sum = b.sum(terms, &[axis])?;
    let log = log(b, sum)?;
    b.add(log, max)
}

/// The product of matrices in the last two axes.
pub fn matmul(b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
    b.push(MatMul, &[x, y])
}

/// exp(x).
pub fn exp(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&EXP), &[x])
}

/// tanh(x).
pub fn tanh(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&TANH), &[x])
}

/// 1/(1 + exp(−x)).
pub fn sigmoid(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&SIGMOID), &[x])
}

/// max(x, 0).
pub fn relu(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&RELU), &[x])
}

/// √x.
pub fn sqrt(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&SQRT), &[x])
}

/// Σ x² along an axis, which stays with size 1.
pub fn square_sum(b: &mut Build<'_>, x: Id, axis: usize) -> Result<Id, OpError> {
    let squares = b.square(x)?;
    b.sum(squares, &[axis])
}

/// Values one after the other along an axis.
pub fn concat(b: &mut Build<'_>, parts: &[Id], axis: usize) -> Result<Id, OpError> {
    b.push(Concat { axis }, parts)
}

/// `len` positions from `start` along an axis.
pub fn slice(
    b: &mut Build<'_>,
    x: Id,
    axis: usize,
    start: usize,
    len: usize,
) -> Result<Id, OpError> {
    b.push(Slice::along(axis, Span { start, step: 1, len }), &[x])
}

/// log(x).
pub fn log(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&LOG), &[x])
}

/// |x|.
pub fn abs(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&ABS), &[x])
}

/// 1/x.
pub fn reciprocal(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Unary(&RECIPROCAL), &[x])
}

/// 1 where x ≤ y, 0 elsewhere, with broadcasting; 0 where either is not a number.
pub fn at_most(b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
    let holds = b.push(Compare::LessOrEqual, &[x, y])?;
    b.push(Cast { to: DType::Float }, &[holds])
}

/// 1 where x = y, 0 elsewhere, with broadcasting.
pub fn equal(b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
    let holds = b.push(Compare::Equal, &[x, y])?;
    b.push(Cast { to: DType::Float }, &[holds])
}

/// Whether x ≤ y does not hold, as truth values: true where either is not a number.
pub fn exceeds(b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
    let holds = b.push(Compare::LessOrEqual, &[x, y])?;
    b.push(Test::Not, &[holds])
}

/// Whether one of two conditions holds.
pub fn either(b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
    b.push(Logic::Or, &[x, y])
}

/// x in another type; x itself if it has that type.
pub fn cast(b: &mut Build<'_>, x: Id, to: DType) -> Result<Id, OpError> {
    cast::cast(b, x, to)
}

/// A constant in another type.
pub fn tensor_as(tensor: Tensor, to: DType) -> Option<Tensor> {
    taste_graph::Op::eval(&Cast { to }, &[tensor]).ok()?.into_iter().next()
}

/// x, and other values where x is not a number.
pub fn where_missing(b: &mut Build<'_>, x: Id, values: Id) -> Result<Id, OpError> {
    let missing = is_missing(b, x)?;
    choose(b, missing, values, x)
}

/// Whether x is not a number.
pub fn is_missing(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    b.push(Test::IsNaN, &[x])
}

/// One value where a condition holds, and another one elsewhere.
pub fn choose(b: &mut Build<'_>, condition: Id, then: Id, other: Id) -> Result<Id, OpError> {
    b.push(Where, &[condition, then, other])
}

/// Where whole numbers are looked up as they were fed, as ids are: the numbers, and how many the table knows from 0 on.
pub fn lookups(graph: &Graph) -> Vec<(Id, usize)> {
    const MOVES: [&str; 8] =
        ["Input", "Constant", "Reshape", "Slice", "Concat", "Transpose", "Expand", "Cast"];
    let moved = |at: Id| {
        graph.ancestors(&[at], &[]).iter().all(|n| MOVES.contains(&graph.nodes()[*n].op.name()))
    };
    let found = graph.nodes().iter().filter_map(|node| {
        let lead = downcast::<GatherNd>(&*node.op)?.lead;
        let &[table, at] = &node.args[..] else { return None };
        let known = graph.fact(table).shape.get(lead)?.as_fixed()?;
        let single = graph.fact(at).shape.last() == Some(&Dim::from(1));
        let fed = single && graph.as_constant(at).is_none() && moved(at);
        Some((at, usize::try_from(known).ok()?)).filter(|_| fed)
    });
    found.collect()
}

/// How often a graph asks whether values are numbers.
pub fn tests_of_missing(graph: &Graph) -> usize {
    let tests = graph.nodes().iter().filter_map(|node| downcast::<Test>(&*node.op));
    tests.filter(|test| **test == Test::IsNaN).count()
}

/// The values of a graph that missing entries are filled in, each with what is filled in.
pub fn imputed(graph: &Graph) -> Vec<(Id, Vec<f64>)> {
    let found = graph.nodes().iter().filter_map(|node| {
        downcast::<Where>(&*node.op)?;
        let &[mask, values, x] = &node.args[..] else { return None };
        let test = graph.node_of(mask);
        let is_missing = downcast::<Test>(&*test.op) == Some(&Test::IsNaN) && test.args[0] == x;
        let values = graph.as_constant(values).filter(|_| is_missing)?;
        Some((x, values.as_float().ok()?.iter().copied().collect()))
    });
    found.collect()
}
