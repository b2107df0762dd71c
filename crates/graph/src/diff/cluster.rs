//! Chains of element-by-element operators as one function.
//!
//! If y follows from r by such operators alone, y = φ(r) element by element, and its derivatives are
//! φ'(r) and φ''(r), computed once for all directions. What an exporter writes as six operators, say a
//! GELU, then costs one product a direction.

use std::collections::{HashMap, HashSet};

use crate::{Build, Calculus, Graph, Id, Op, OpError};

/// A chain has at most this many operators, so that a slope costs a bounded number of steps for each of them.
const LONGEST: usize = 64;

/// For every value among the results of `nodes` that is an element-by-element function of a single
/// moving value, that value. `moving` are the values that move by themselves.
pub(super) fn roots(graph: &Graph, nodes: &[usize], moving: &[Id]) -> HashMap<Id, Id> {
    let mut active: HashSet<Id> = moving.iter().copied().collect();
    let mut roots: HashMap<Id, Id> = HashMap::new();
    let mut lengths: HashMap<Id, usize> = HashMap::new();
    for &n in nodes {
        let node = &graph.nodes()[n];
        let [out] = node.outs[..] else { continue };
        if active.contains(&out) || matches!(node.op.calculus(), Calculus::Constant) {
            continue;
        }
        let mut sources: Vec<Id> = node
            .args
            .iter()
            .filter(|a| active.contains(a))
            .map(|a| roots.get(a).copied().unwrap_or(*a))
            .collect();
        sources.dedup();
        if !sources.is_empty() {
            active.insert(out);
        }
        let length = 1 + node.args.iter().filter_map(|a| lengths.get(a)).sum::<usize>();
        if let [root] = sources[..]
            && length <= LONGEST
            && is_elementwise(&*node.op)
            && graph.fact(root) == graph.fact(out)
        {
            roots.insert(out, root);
            lengths.insert(out, length);
        }
    }
    roots
}

/// The values whose own derivatives somebody asks for: `ends`, and what is read by a node outside of the value's chain.
/// All others are steps within a chain.
pub(super) fn read_outside(
    graph: &Graph,
    nodes: &[usize],
    roots: &HashMap<Id, Id>,
    ends: &[Id],
) -> HashSet<Id> {
    let mut read: HashSet<Id> = ends.iter().copied().collect();
    for &n in nodes {
        let node = &graph.nodes()[n];
        let root = node.outs.first().and_then(|out| roots.get(out));
        read.extend(node.args.iter().filter(|a| root.is_none() || roots.get(a) != root));
    }
    read
}

fn is_elementwise(op: &dyn Op) -> bool {
    matches!(op.calculus(), Calculus::Pointwise(_)) || op.is_elementwise()
}

/// The derivative of `end` by `root`, element by element; absent where it is zero. It broadcasts to the
/// shape of `end`.
pub(super) fn slope(b: &mut Build<'_>, end: Id, root: Id) -> Result<Option<Id>, OpError> {
    let nodes = b.graph().between(root, end);
    let mut slopes = HashMap::from([(root, b.scalar(1.0))]);
    walk(b, &nodes, &mut slopes)?;
    Ok(slopes.get(&end).copied())
}

fn walk(b: &mut Build<'_>, nodes: &[usize], slopes: &mut HashMap<Id, Id>) -> Result<(), OpError> {
    for &n in nodes {
        let node = b.graph().nodes()[n].clone();
        let moving: Vec<Option<Id>> = node.args.iter().map(|a| slopes.get(a).copied()).collect();
        if slopes.contains_key(&node.outs[0]) || moving.iter().all(Option::is_none) {
            continue;
        }
        let slope = match node.op.calculus() {
            Calculus::Constant => None,
            Calculus::Unknown => return Err(OpError::NoDerivative),
            Calculus::Linear(rule) => {
                let zero = b.scalar(0.0);
                let mut args = node.args.clone();
                for i in (0..args.len()).filter(|&i| rule.active(i)) {
                    args[i] = moving[i].unwrap_or(zero);
                }
                Some(b.apply(&node.op, &args)?)
            }
            Calculus::Bilinear(_) => super::jvp::bilinear(b, &node, &moving)?,
            Calculus::Pointwise(p) => {
                let Some(inner) = moving[0] else { continue };
                let outer = p.d1(b, node.args[0], node.outs[0])?;
                Some(b.mul(outer, inner)?)
            }
            Calculus::Composite(c) => {
                let (result, inner) = super::expand(b, c, &node.args)?;
                walk(b, &inner, slopes)?;
                slopes.get(&result).copied()
            }
        };
        slopes.extend(slope.map(|s| (node.outs[0], s)));
    }
    Ok(())
}
