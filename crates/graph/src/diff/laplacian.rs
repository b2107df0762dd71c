use std::collections::HashMap;

use super::{accumulate, cluster, expand, explain, jvp};
use crate::{Build, Calculus, Id, Node, OpError};

/// What is carried of the second derivatives along the lanes' directions v₁ … `v_K`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curvature {
    /// Their sum Σₖ vₖᵀHvₖ: the Laplacian if the directions are an orthonormal basis.
    Sum,
    /// Each vₖᵀHvₖ in its lane: the diagonal of the Hessian if they are the standard basis.
    Each,
}

/// First and second derivatives of a value along the directions.
#[derive(Clone, Copy, Debug)]
pub struct Second {
    /// The tangents, one a lane.
    pub tangents: Id,
    /// The second derivatives; absent where they are zero.
    pub curvature: Option<Id>,
}

/// Carries tangents and second derivatives from `x` to `ends` in one pass (the forward Laplacian, or
/// Taylor mode collapsed at the second coefficient). `directions` has lanes.
pub fn second_order(
    b: &mut Build<'_>,
    ends: &[Id],
    seeds: &HashMap<Id, Second>,
    mode: Curvature,
) -> Result<Vec<Option<Second>>, OpError> {
    let starts: Vec<Id> = seeds.keys().copied().collect();
    let nodes = b.graph().ancestors(ends, &starts);
    let mut state = seeds.clone();
    propagate(b, &nodes, ends, &mut state, mode)?;
    Ok(ends.iter().map(|e| state.get(e).copied()).collect())
}

fn propagate(
    b: &mut Build<'_>,
    nodes: &[usize],
    ends: &[Id],
    state: &mut HashMap<Id, Second>,
    mode: Curvature,
) -> Result<(), OpError> {
    let moving: Vec<Id> = state.keys().copied().collect();
    let roots = cluster::roots(b.graph(), nodes, &moving);
    let wanted = cluster::read_outside(b.graph(), nodes, &roots, ends);
    for &n in nodes {
        let node = b.graph().nodes()[n].clone();
        let out = node.outs[0];
        if state.contains_key(&out) {
            continue;
        }
        if let Some(&root) = roots.get(&out) {
            if !wanted.contains(&out) {
                continue;
            }
            let second = chain_second(b, out, root, state, mode).map_err(|e| explain(&node, &e))?;
            state.extend(second.map(|s| (out, s)));
            continue;
        }
        if let Some(second) = node_second(b, &node, state, mode).map_err(|e| explain(&node, &e))? {
            state.insert(node.outs[0], second);
        }
    }
    Ok(())
}

/// y = φ(r): φ'·J and φ'·L + φ''·Σ J².
fn chain_second(
    b: &mut Build<'_>,
    out: Id,
    root: Id,
    state: &HashMap<Id, Second>,
    mode: Curvature,
) -> Result<Option<Second>, OpError> {
    let Some(&at_root) = state.get(&root) else { return Ok(None) };
    let Some(slope) = cluster::slope(b, out, root)? else { return Ok(None) };
    let bend = cluster::slope(b, slope, root)?;
    let mut curvature = at_root.curvature.map(|c| b.mul(slope, c)).transpose()?;
    if let Some(bend) = bend {
        let squares = b.square(at_root.tangents)?;
        let squares = collapse(b, squares, mode)?;
        let term = b.mul(bend, squares)?;
        curvature = accumulate(b, curvature, Some(term))?;
    }
    Ok(Some(Second { tangents: b.mul(slope, at_root.tangents)?, curvature }))
}

fn node_second(
    b: &mut Build<'_>,
    node: &Node,
    state: &mut HashMap<Id, Second>,
    mode: Curvature,
) -> Result<Option<Second>, OpError> {
    let args = &node.args;
    let inputs: Vec<Option<Second>> = args.iter().map(|a| state.get(a).copied()).collect();
    if inputs.iter().all(Option::is_none) {
        return Ok(None);
    }
    let firsts: Vec<Option<Id>> = inputs.iter().map(|s| s.map(|s| s.tangents)).collect();
    let seconds: Vec<Option<Id>> = inputs.iter().map(|s| s.and_then(|s| s.curvature)).collect();
    match node.op.calculus() {
        Calculus::Constant => Ok(None),
        Calculus::Unknown => Err(OpError::NoDerivative),
        Calculus::Linear(_) => {
            let Some(tangents) = jvp::linear(b, node, &firsts)? else { return Ok(None) };
            let curvature = jvp::linear(b, node, &seconds)?;
            Ok(Some(Second { tangents, curvature }))
        }
        Calculus::Bilinear(_) => {
            let Some(tangents) = jvp::bilinear(b, node, &firsts)? else { return Ok(None) };
            let mut curvature = jvp::bilinear(b, node, &seconds)?;
            if let (Some(x), Some(w)) = (firsts[0], firsts[1]) {
                let cross = b.apply(&node.op, &[x, w])?;
                let cross = collapse(b, cross, mode)?;
                let cross = b.scale(cross, 2.0)?;
                curvature = accumulate(b, curvature, Some(cross))?;
            }
            Ok(Some(Second { tangents, curvature }))
        }
        Calculus::Pointwise(_) => chain_second(b, node.outs[0], args[0], state, mode),
        Calculus::Composite(c) => {
            let (result, nodes) = expand(b, c, args)?;
            propagate(b, &nodes, &[result], state, mode)?;
            Ok(state.get(&result).copied())
        }
    }
}

fn collapse(b: &mut Build<'_>, lanes: Id, mode: Curvature) -> Result<Id, OpError> {
    match mode {
        Curvature::Sum => b.sum_lanes(lanes),
        Curvature::Each => Ok(lanes),
    }
}

impl Second {
    /// Directions without curvature.
    pub fn along(directions: Id) -> Self {
        Self { tangents: directions, curvature: None }
    }
}
