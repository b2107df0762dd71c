use super::{Derivatives, accumulate, cluster, expand, explain};
use crate::{Build, Calculus, DType, Id, Node, OpError, Side};

/// The cotangents of `wrt`, given cotangents of some values that depend on it. An absent cotangent is
/// zero. Several cotangents at once are lanes of the seeds.
pub fn vjp(b: &mut Build<'_>, seeds: &Derivatives, wrt: &[Id]) -> Result<Vec<Option<Id>>, OpError> {
    let ends: Vec<Id> = seeds.keys().copied().collect();
    let nodes = b.graph().ancestors(&ends, wrt);
    let mut cts = seeds.clone();
    pull_back(b, &nodes, wrt, &mut cts)?;
    Ok(wrt.iter().map(|w| cts.get(w).copied()).collect())
}

/// The gradient in `x` of the sum of `f`: for one scalar a sample, the gradient of every sample.
pub fn gradient(b: &mut Build<'_>, f: Id, x: Id) -> Result<Option<Id>, OpError> {
    let shape = b.fact(f).shape.clone();
    let one = b.scalar(1.0);
    let ones = b.expand(one, &shape)?;
    Ok(vjp(b, &Derivatives::from([(f, ones)]), &[x])?[0])
}

fn pull_back(
    b: &mut Build<'_>,
    nodes: &[usize],
    wrt: &[Id],
    cts: &mut Derivatives,
) -> Result<(), OpError> {
    let active = b.graph().active(nodes, wrt);
    let roots = cluster::roots(b.graph(), nodes, wrt);
    for &n in nodes.iter().rev() {
        let node = b.graph().nodes()[n].clone();
        let Some(ct) = node.outs.iter().find_map(|o| cts.get(o).copied()) else { continue };
        let out = node.outs[0];
        if let Some(&root) = roots.get(&out) {
            let slope = cluster::slope(b, out, root).map_err(|e| explain(&node, &e))?;
            if let Some(slope) = slope {
                let term = b.mul(ct, slope).map_err(|e| explain(&node, &e))?;
                add_to(b, cts, root, term)?;
            }
            continue;
        }
        let wanted: Vec<bool> = node
            .args
            .iter()
            .map(|a| {
                active.get(a.index()).copied().unwrap_or(false)
                    && b.graph().fact(*a).dtype == DType::Float
            })
            .collect();
        if wanted.iter().any(|w| *w) {
            pull_back_node(b, &node, &wanted, ct, cts).map_err(|e| explain(&node, &e))?;
        }
    }
    Ok(())
}

fn pull_back_node(
    b: &mut Build<'_>,
    node: &Node,
    wanted: &[bool],
    ct: Id,
    cts: &mut Derivatives,
) -> Result<(), OpError> {
    let args = &node.args;
    match node.op.calculus() {
        Calculus::Constant => {}
        Calculus::Unknown => return Err(OpError::NoDerivative),
        Calculus::Linear(l) => {
            for i in (0..args.len()).filter(|&i| wanted[i] && l.active(i)) {
                let term = l.transpose(b, args, i, ct)?;
                add_to(b, cts, args[i], term)?;
            }
        }
        Calculus::Bilinear(f) => {
            for (i, side) in [Side::Lhs, Side::Rhs].into_iter().enumerate().filter(|s| wanted[s.0])
            {
                let term = f.transpose(b, side, [args[0], args[1]], ct)?;
                add_to(b, cts, args[i], term)?;
            }
        }
        Calculus::Pointwise(p) => {
            let slope = p.d1(b, args[0], node.outs[0])?;
            let term = b.mul(ct, slope)?;
            add_to(b, cts, args[0], term)?;
        }
        Calculus::Composite(c) => {
            let (result, nodes) = expand(b, c, args)?;
            let wrt: Vec<Id> =
                args.iter().zip(wanted).filter(|(_, w)| **w).map(|(a, _)| *a).collect();
            let mut inner = Derivatives::from([(result, ct)]);
            if !wrt.contains(&result) {
                pull_back(b, &nodes, &wrt, &mut inner)?;
            }
            let mut seen = Vec::new();
            for arg in wrt {
                if let Some(&term) = inner.get(&arg).filter(|_| !seen.contains(&arg)) {
                    add_to(b, cts, arg, term)?;
                    seen.push(arg);
                }
            }
        }
    }
    Ok(())
}

fn add_to(b: &mut Build<'_>, cts: &mut Derivatives, id: Id, term: Id) -> Result<(), OpError> {
    if let Some(sum) = accumulate(b, cts.get(&id).copied(), Some(term))? {
        cts.insert(id, sum);
    }
    Ok(())
}
