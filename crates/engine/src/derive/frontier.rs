//! Where curvature begins.

use std::collections::BTreeSet;

use taste_graph::{
    Graph, Id,
    diff::{Structure, structure},
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

/// The only value that f depends on x through and that is affine in x, if there is one.
pub(crate) fn affine_waist(graph: &Graph, f: Id, x: Id) -> Result<Option<Id>, Error> {
    let shapes = structure(graph, &[f], x)?;
    let shape = |id: Id| shapes.get(id.index()).copied().unwrap_or(Structure::Independent);
    if shape(f) == Structure::Affine {
        return Ok(None);
    }
    let border = border(graph, f, &|id| shape(id) > Structure::Affine, &|id| {
        shape(id) == Structure::Affine
    });
    Ok(match border[..] {
        [waist] if waist != x => Some(waist),
        _ => None,
    })
}
