use std::sync::Arc;

use super::{Derivatives, accumulate, cluster, expand, explain, vjp::gradient};
use crate::{Build, Calculus, Id, Node, OpError};

/// The tangents of `ends`, given tangents of some values they depend on. An absent tangent is zero.
pub fn jvp(
    b: &mut Build<'_>,
    ends: &[Id],
    seeds: &Derivatives,
) -> Result<Vec<Option<Id>>, OpError> {
    let mut tangents = seeds.clone();
    let starts: Vec<Id> = seeds.keys().copied().collect();
    let nodes = b.graph().ancestors(ends, &starts);
    propagate(b, &nodes, ends, &mut tangents)?;
    Ok(ends.iter().map(|e| tangents.get(e).copied()).collect())
}

/// The product of the Hessian of `f` (a scalar a sample) in `x` with `direction`: the tangent of the
/// gradient.
pub fn hvp(b: &mut Build<'_>, f: Id, x: Id, direction: Id) -> Result<Option<Id>, OpError> {
    let Some(slope) = gradient(b, f, x)? else { return Ok(None) };
    let seeds = Derivatives::from([(x, direction)]);
    Ok(jvp(b, &[slope], &seeds)?[0])
}

fn propagate(
    b: &mut Build<'_>,
    nodes: &[usize],
    ends: &[Id],
    tangents: &mut Derivatives,
) -> Result<(), OpError> {
    let moving: Vec<Id> = tangents.keys().copied().collect();
    let roots = cluster::roots(b.graph(), nodes, &moving);
    let wanted = cluster::read_outside(b.graph(), nodes, &roots, ends);
    for &n in nodes {
        let node = b.graph().nodes()[n].clone();
        if node.outs.iter().any(|o| tangents.contains_key(o)) {
            continue;
        }
        let out = node.outs[0];
        if let Some(&root) = roots.get(&out) {
            if !wanted.contains(&out) {
                continue;
            }
            let slope = cluster::slope(b, out, root).map_err(|e| explain(&node, &e))?;
            if let (Some(slope), Some(&tangent)) = (slope, tangents.get(&root)) {
                tangents.insert(out, b.mul(slope, tangent).map_err(|e| explain(&node, &e))?);
            }
            continue;
        }
        if let Some(tangent) = node_tangent(b, &node, tangents).map_err(|e| explain(&node, &e))? {
            tangents.insert(node.outs[0], tangent);
        }
    }
    Ok(())
}

fn node_tangent(
    b: &mut Build<'_>,
    node: &Node,
    tangents: &mut Derivatives,
) -> Result<Option<Id>, OpError> {
    let args = &node.args;
    let moving: Vec<Option<Id>> = args.iter().map(|a| tangents.get(a).copied()).collect();
    if moving.iter().all(Option::is_none) {
        return Ok(None);
    }
    match node.op.calculus() {
        Calculus::Constant => Ok(None),
        Calculus::Unknown => Err(OpError::NoDerivative),
        Calculus::Linear(_) => linear(b, node, &moving),
        Calculus::Bilinear(_) => bilinear(b, node, &moving),
        Calculus::Pointwise(p) => {
            let Some(tangent) = moving[0] else { return Ok(None) };
            let slope = p.d1(b, args[0], node.outs[0])?;
            b.mul(slope, tangent).map(Some)
        }
        Calculus::Composite(c) => {
            let (result, nodes) = expand(b, c, args)?;
            propagate(b, &nodes, &[result], tangents)?;
            Ok(tangents.get(&result).copied())
        }
    }
}

/// A linear operator on tangents.
pub(super) fn linear(
    b: &mut Build<'_>,
    node: &Node,
    moving: &[Option<Id>],
) -> Result<Option<Id>, OpError> {
    let Calculus::Linear(rule) = node.op.calculus() else { return Ok(None) };
    let moving: Vec<Option<Id>> =
        moving.iter().enumerate().map(|(i, t)| t.filter(|_| rule.active(i))).collect();
    if moving.iter().all(Option::is_none) {
        return Ok(None);
    }
    if let Some(tangent) = rule.apply(b, &node.args, &moving) {
        return tangent.map(Some);
    }
    let mut args = node.args.clone();
    for (i, arg) in args.iter_mut().enumerate().filter(|(i, _)| rule.active(*i)) {
        *arg = match moving[i] {
            Some(tangent) => tangent,
            None => b.zeros_like(*arg)?,
        };
    }
    b.apply(&Arc::clone(&node.op), &args).map(Some)
}

/// B(ẋ, w) + B(x, ẇ).
pub(super) fn bilinear(
    b: &mut Build<'_>,
    node: &Node,
    moving: &[Option<Id>],
) -> Result<Option<Id>, OpError> {
    let [x, w] = [node.args[0], node.args[1]];
    let left = moving[0].map(|t| b.apply(&node.op, &[t, w])).transpose()?;
    let right = moving[1].map(|t| b.apply(&node.op, &[x, t])).transpose()?;
    accumulate(b, left, right)
}
