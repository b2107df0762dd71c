//! Derivatives as graphs. Each transform is one match over the classes of [`crate::Calculus`] and names
//! no operator.

mod cluster;
mod jvp;
mod laplacian;
mod structure;
mod vjp;

pub use jvp::{hvp, jvp};
pub use laplacian::{Curvature, Second, second_order};
pub use structure::{Shape as Structure, is_curved, structure};
pub use vjp::{gradient, vjp};

use std::collections::HashMap;

use crate::{Build, Composite, Id, Node, OpError};

/// A derivative by value; an absent value has derivative zero.
pub type Derivatives = HashMap<Id, Id>;

/// A node, and its name in errors.
fn explain(node: &Node, cause: &OpError) -> OpError {
    let place = node.label.as_deref().map_or_else(String::new, |l| format!(" {l:?}"));
    OpError::invalid(format!("derivative of {}{place}: {cause}", node.op.name()))
}

/// The sum, where an absent term is zero.
fn accumulate(b: &mut Build<'_>, sum: Option<Id>, term: Option<Id>) -> Result<Option<Id>, OpError> {
    Ok(match (sum, term) {
        (Some(sum), Some(term)) => Some(b.add(sum, term)?),
        (sum, term) => sum.or(term),
    })
}

/// Builds the expansion of a composite node: its result, and the nodes between arguments and result.
fn expand(
    b: &mut Build<'_>,
    composite: &dyn Composite,
    args: &[Id],
) -> Result<(Id, Vec<usize>), OpError> {
    let result = composite.expand(b, args)?;
    let nodes = b.graph().ancestors(&[result], args);
    Ok((result, nodes))
}
