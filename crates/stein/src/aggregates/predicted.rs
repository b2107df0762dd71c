//! The residual of the class most likely at x.

use std::sync::Arc;

use taste_choice::Choice;
use taste_detector::passes::Gathered;
use taste_engine::Target;
use taste_graph::{Build, Id};

use super::{Aggregate, AggregateKind};
use crate::{
    Error,
    residual::{Adjusted, Residual, Subject},
};

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

    fn join(
        &self,
        _: &mut Build<'_>,
        _: &Residual,
        adjusted: &Adjusted,
        _: &Gathered,
    ) -> Result<Id, Error> {
        Ok(adjusted.single)
    }
}
