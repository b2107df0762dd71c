use std::sync::Arc;

use super::{cluster, expand};
use crate::{Build, Calculus, Fact, Graph, Id, Op, OpError};

/// How a value depends on an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// Not at all, or only through steps.
    Independent,
    /// Affinely.
    Affine,
    /// Affinely on each of finitely many pieces: second derivatives are zero almost everywhere.
    PiecewiseAffine,
    /// With curvature.
    Curved,
}

/// How every value that `ends` depend on depends on `x`, by the index of the value.
pub fn structure(graph: &Graph, ends: &[Id], x: Id) -> Result<Vec<Shape>, OpError> {
    let mut scratch = graph.clone();
    let mut b = Build::new(&mut scratch);
    let nodes = b.graph().ancestors(ends, &[x]);
    let mut shapes = vec![];
    set(&mut shapes, x, Shape::Affine);
    classify(&mut b, &nodes, &mut shapes)?;
    Ok(shapes)
}

fn get(shapes: &[Shape], id: Id) -> Shape {
    shapes.get(id.index()).copied().unwrap_or(Shape::Independent)
}

fn set(shapes: &mut Vec<Shape>, id: Id, shape: Shape) {
    if shapes.len() <= id.index() {
        shapes.resize(id.index() + 1, Shape::Independent);
    }
    shapes[id.index()] = shape;
}

fn classify(b: &mut Build<'_>, nodes: &[usize], shapes: &mut Vec<Shape>) -> Result<(), OpError> {
    for &n in nodes {
        let node = b.graph().nodes()[n].clone();
        let args: Vec<Shape> = node.args.iter().map(|a| get(shapes, *a)).collect();
        let widest = args.iter().copied().max().unwrap_or(Shape::Independent);
        if widest == Shape::Independent {
            continue;
        }
        let shape = match node.op.calculus() {
            Calculus::Constant => Shape::Independent,
            Calculus::Unknown => Shape::Curved,
            Calculus::Linear(l) => {
                let linear = (0..args.len()).filter(|&i| l.active(i)).map(|i| args[i]).max();
                let selected = (0..args.len()).any(|i| !l.active(i) && depends(b, node.args[i]));
                let linear = linear.unwrap_or(Shape::Independent);
                if selected && linear != Shape::Independent {
                    linear.max(Shape::PiecewiseAffine)
                } else {
                    linear
                }
            }
            Calculus::Bilinear(_) => match (args[0], args[1]) {
                (Shape::Independent, one) | (one, Shape::Independent) => {
                    let other = usize::from(args[0] != Shape::Independent);
                    if depends(b, node.args[other]) { one.max(Shape::PiecewiseAffine) } else { one }
                }
                _ => Shape::Curved,
            },
            Calculus::Pointwise(_) => {
                let fact = b.graph().fact(node.args[0]).clone();
                let curved = is_curved(&node.op, &fact)?;
                if curved { Shape::Curved } else { args[0].max(Shape::PiecewiseAffine) }
            }
            Calculus::Composite(c) => {
                let (result, inner) = expand(b, c, &node.args)?;
                classify(b, &inner, shapes)?;
                get(shapes, result)
            }
        };
        for out in &node.outs {
            set(shapes, *out, shape);
        }
    }
    Ok(())
}

/// Whether the second derivative of a pointwise operator, on an argument of this kind, is more than zero almost everywhere:
/// whether its first derivative has a derivative.
pub fn is_curved(op: &Arc<dyn Op>, fact: &Fact) -> Result<bool, OpError> {
    let mut scratch = Graph::new();
    let x = scratch.input("x", fact.clone());
    let mut b = Build::new(&mut scratch);
    let y = b.apply(op, &[x])?;
    let Some(slope) = cluster::slope(&mut b, y, x)? else { return Ok(false) };
    Ok(cluster::slope(&mut b, slope, x)?.is_some())
}

/// Whether a value changes at all when inputs do: a mask or an index, rather than a constant.
fn depends(b: &Build<'_>, id: Id) -> bool {
    b.graph().as_constant(id).is_none() && b.graph().known_ints(id).is_none()
}
