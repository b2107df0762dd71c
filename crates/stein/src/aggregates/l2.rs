//! The length of the vector of adjusted residuals.

use std::sync::Arc;

use taste_choice::Choice;
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use super::{Aggregate, AggregateKind};

pub(super) const KIND: AggregateKind = AggregateKind {
    choice: Choice { name: "l2", usage: "l2", about: "the length of the residuals of all classes" },
    read: |arguments| {
        arguments.finish()?;
        Ok(Arc::new(L2))
    },
};

#[derive(Debug)]
struct L2;

impl Aggregate for L2 {
    fn written(&self) -> String {
        KIND.choice.name.to_owned()
    }

    fn formula(&self, b: &mut Build<'_>, components: Id) -> Result<Option<Id>, OpError> {
        let rows = b.fact(components).shape[0];
        let square = functions::square_sum(b, components, 1)?;
        let norm = functions::sqrt(b, square)?;
        Ok(Some(b.reshape(norm, &[rows])?))
    }
}
