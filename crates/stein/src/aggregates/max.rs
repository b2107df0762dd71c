//! The largest size of an adjusted residual.

use std::sync::Arc;

use taste_choice::Choice;
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use super::{Aggregate, AggregateKind};

pub(super) const KIND: AggregateKind = AggregateKind {
    choice: Choice {
        name: "max",
        usage: "max",
        about: "the largest size among the residuals of all classes",
    },
    read: |arguments| {
        arguments.finish()?;
        Ok(Arc::new(Max))
    },
};

#[derive(Debug)]
struct Max;

impl Aggregate for Max {
    fn written(&self) -> String {
        KIND.choice.name.to_owned()
    }

    fn formula(&self, b: &mut Build<'_>, components: Id) -> Result<Option<Id>, OpError> {
        let rows = b.fact(components).shape[0];
        let sizes = functions::abs(b, components)?;
        let largest = functions::first_max(b, sizes, 1)?;
        let picked = b.mul(sizes, largest)?;
        let sum = b.sum(picked, &[1])?;
        Ok(Some(b.reshape(sum, &[rows])?))
    }
}
