//! The residual of a fixed class.

use std::sync::Arc;

use taste_choice::Choice;
use taste_engine::Target;

use super::{Aggregate, AggregateKind};
use crate::residual::Subject;

pub(super) const KIND: AggregateKind = AggregateKind {
    choice: Choice { name: "class", usage: "class:K", about: "the residual of class K" },
    read: |mut arguments| {
        let class = arguments.word_as("K", "the number of a class", |_| true)?;
        let class = class.ok_or_else(|| arguments.missing("the number of a class"))?;
        arguments.finish()?;
        Ok(Arc::new(Class(class)))
    },
};

#[derive(Debug)]
struct Class(usize);

impl Aggregate for Class {
    fn written(&self) -> String {
        format!("{}:{}", KIND.choice.name, self.0)
    }

    fn subject(&self) -> Subject {
        Subject::Single(Target::prob(Some(self.0)))
    }

    fn is_signed(&self) -> bool {
        true
    }
}
