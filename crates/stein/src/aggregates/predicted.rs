//! The residual of the class most likely at x.

use std::sync::Arc;

use taste_choice::Choice;
use taste_engine::Target;

use super::{Aggregate, AggregateKind};
use crate::residual::Subject;

pub(super) const KIND: AggregateKind = AggregateKind {
    choice: Choice {
        name: "predicted",
        usage: "predicted",
        about: "the residual of the predicted class",
    },
    read: |arguments| {
        arguments.finish()?;
        Ok(Arc::new(Predicted))
    },
};

/// The residual of the predicted class, or of the only function.
#[derive(Debug)]
pub(crate) struct Predicted;

impl Aggregate for Predicted {
    fn written(&self) -> String {
        KIND.choice.name.to_owned()
    }

    fn subject(&self) -> Subject {
        Subject::Single(Target::prob(None))
    }

    fn is_signed(&self) -> bool {
        true
    }
}
