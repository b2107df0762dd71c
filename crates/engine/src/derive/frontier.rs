//! Where curvature begins.

use std::collections::{BTreeSet, HashSet};

use taste_graph::{
    Build, Calculus, DType, Graph, Id,
    algebra::ShapeOf,
    diff::{Structure, structure},
    downcast,
};

use crate::Error;

/// How f depends on x.
#[derive(Clone, Debug)]
pub(crate) enum Cut {
    /// Piecewise affinely.
    Flat,
    /// Through values that are piecewise affine in x and no more numerous than the model's outputs.
    Logits(Id),
    /// In another way: which operator bends first.
    Smooth(String),
}

/// Finds the cut between a piecewise affine body and a head of at most `width` entries a sample.
pub(crate) fn cut(graph: &Graph, f: Id, x: Id, width: usize) -> Result<Cut, Error> {
    let shapes = structure(graph, &[f], x)?;
    let shape = |id: Id| shapes.get(id.index()).copied().unwrap_or(Structure::Independent);
    if shape(f) != Structure::Curved {
        return Ok(Cut::Flat);
    }
    let border = border(graph, f, &|id| shape(id) == Structure::Curved, &|id| {
        shape(id) != Structure::Independent
    });
    if let [z] = border[..] {
        let size: i64 = graph.fact(z).shape[1..].iter().map(|d| d.at(1) as i64).product();
        if size == width as i64 && z != x {
            return Ok(Cut::Logits(z));
        }
    }
    let bends = graph
        .ancestors(&[f], &[x])
        .into_iter()
        .map(|n| &graph.nodes()[n])
        .find(|n| n.outs.first().is_some_and(|o| shape(*o) == Structure::Curved));
    let place = bends.map_or_else(String::new, |n| match &n.label {
        Some(label) => format!(" ({} {label:?} bends first)", n.op.name()),
        None => format!(" ({} bends first)", n.op.name()),
    });
    Ok(Cut::Smooth(format!("the body is smooth, not piecewise affine{place}")))
}

/// The values just outside the region around `f` where `inside` holds, as far as `counts` holds for
/// them.
fn border(
    graph: &Graph,
    f: Id,
    inside: &dyn Fn(Id) -> bool,
    counts: &dyn Fn(Id) -> bool,
) -> Vec<Id> {
    let mut border = BTreeSet::new();
    let mut seen = BTreeSet::from([f]);
    let mut stack = vec![f];
    while let Some(id) = stack.pop() {
        for &arg in &graph.node_of(id).args {
            if inside(arg) {
                if seen.insert(arg) {
                    stack.push(arg);
                }
            } else if counts(arg) {
                border.insert(arg);
            }
        }
    }
    border.into_iter().collect()
}

/// The first operator on the way from x to `end` whose result does not belong to one sample: the batch is no
/// axis of it any more, or two, or its elements meet along that axis.
pub(crate) fn mixed(graph: &Graph, end: Id, x: Id) -> Result<Option<String>, Error> {
    if !graph.fact(x).depends_on_batch() {
        return Ok(None);
    }
    let mut scratch = graph.clone();
    let mut b = Build::new(&mut scratch);
    let nodes = b.graph().ancestors(&[end], &[x]);
    let mut reached = HashSet::from([x]);
    mixed_among(&mut b, &nodes, &mut reached)
}

fn mixed_among(
    b: &mut Build<'_>,
    nodes: &[usize],
    reached: &mut HashSet<Id>,
) -> Result<Option<String>, Error> {
    for &n in nodes {
        let node = b.graph().nodes()[n].clone();
        // Sizes are the same whatever the samples hold.
        let sizes = node.outs.iter().all(|o| b.graph().known_ints(*o).is_some());
        let sizes = sizes || downcast::<ShapeOf>(&*node.op).is_some();
        if sizes || !node.args.iter().any(|a| reached.contains(a)) {
            continue;
        }
        let batch_axes = |b: &Build<'_>, id: Id| -> Vec<usize> {
            let shape = &b.graph().fact(id).shape;
            (0..shape.len()).filter(|&a| shape[a].depends_on_batch()).collect()
        };
        let meets = node.args.iter().any(|&a| {
            reached.contains(&a)
                && batch_axes(b, a).first().is_some_and(|&axis| node.op.mixes(axis))
        });
        let inner = match node.op.calculus() {
            // Rules are for floats.
            Calculus::Composite(c) if b.graph().fact(node.outs[0]).dtype == DType::Float => {
                let result = c.expand(b, &node.args)?;
                let inner = b.graph().ancestors(&[result], &node.args);
                let mut starts: HashSet<Id> =
                    node.args.iter().copied().filter(|a| reached.contains(a)).collect();
                mixed_among(b, &inner, &mut starts)?
            }
            _ => None,
        };
        let split = node.outs.iter().any(|&o| batch_axes(b, o).len() != 1);
        if meets || split || inner.is_some() {
            return Ok(Some(match &node.label {
                Some(label) => format!("{} {label:?}", node.op.name()),
                None => node.op.name().to_owned(),
            }));
        }
        reached.extend(&node.outs);
    }
    Ok(None)
}

/// The value that is affine in x and that f depends on x through, if there is one; the last of them. Where f depends on
/// several affine values, as on a and a/√2 in a·(1 + erf(a/√2)), it is what they are all computed from.
pub(crate) fn affine_waist(graph: &Graph, f: Id, x: Id) -> Result<Option<Id>, Error> {
    let shapes = structure(graph, &[f], x)?;
    let shape = |id: Id| shapes.get(id.index()).copied().unwrap_or(Structure::Independent);
    if shape(f) == Structure::Affine {
        return Ok(None);
    }
    let is_affine = |id: Id| shape(id) == Structure::Affine;
    let mut values: BTreeSet<Id> =
        border(graph, f, &|id| shape(id) > Structure::Affine, &is_affine).into_iter().collect();
    // Values come after what they are made from.
    while let Some(last) = values.pop_last() {
        if values.is_empty() {
            return Ok((last != x).then_some(last));
        }
        values.extend(graph.node_of(last).args.iter().copied().filter(|&a| is_affine(a)));
    }
    Ok(None)
}
