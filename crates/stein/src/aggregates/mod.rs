//! Aggregates: how the residuals of several functions become one score. One file and one line in [`AGGREGATES`] each.
//!
//! The plain sum is not among them: probabilities add up to one, so Σ r ≡ 0.

use std::{fmt, sync::Arc};

use taste_choice::{Arguments, Choice, Entry, pick};
use taste_detector::passes::{Gathered, Watch};
use taste_graph::{Build, Id, OpError};

use crate::{
    Error,
    residual::{Adjusted, Residual, Subject},
};

/// What the entries of the table are called in messages.
pub const KIND: &str = "aggregate";

/// A rule that joins the residuals of all classes.
pub trait Aggregate: fmt::Debug + Send + Sync {
    /// How it is written.
    fn written(&self) -> String;

    /// Which functions have residuals.
    fn subject(&self) -> Subject {
        Subject::EveryClass
    }

    /// Whether the result has a sign where residuals have one.
    fn is_signed(&self) -> bool {
        false
    }

    /// Whether small values can be far out as well as large ones.
    fn has_lower_tail(&self) -> bool {
        true
    }

    /// Whether it looks at the gradients of the logits.
    fn wants_jacobian(&self) -> bool {
        false
    }

    /// Adds what it learns from to the graph, and says what to gather of it.
    fn begin(&self, b: &mut Build<'_>, of: &Residual) -> Result<Vec<Watch>, Error> {
        let _ = (b, of);
        Ok(Vec::new())
    }

    /// A formula of the adjusted residuals alone (N × C → N), if it is one.
    fn formula(&self, b: &mut Build<'_>, components: Id) -> Result<Option<Id>, OpError> {
        let _ = (b, components);
        Ok(None)
    }

    /// One number for every sample (N): the formula, or the residual of the only function.
    fn join(
        &self,
        b: &mut Build<'_>,
        of: &Residual,
        adjusted: &Adjusted,
        seen: &Gathered,
    ) -> Result<Id, Error> {
        let _ = (of, seen);
        Ok(self.formula(b, adjusted.components)?.unwrap_or(adjusted.single))
    }
}

/// An entry of the table of aggregates.
#[derive(Clone, Copy, Debug)]
pub struct AggregateKind {
    /// What a user reads of it.
    pub choice: Choice,
    /// Reads its arguments.
    pub read: fn(Arguments<'_>) -> Result<Arc<dyn Aggregate>, Error>,
}

impl Entry for AggregateKind {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

taste_choice::table! {
    /// Every aggregate.
    pub AGGREGATES: [AggregateKind] = {
        l2::KIND,
        max::KIND,
        predicted::KIND,
        class::KIND,
        profile::KIND | KIND_WITH_SCORE,
    }
}

/// Reads an aggregate as the user writes it.
pub fn parse(text: &str) -> Result<Arc<dyn Aggregate>, Error> {
    let (kind, arguments) = pick(KIND, AGGREGATES, text)?;
    (kind.read)(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aggregate_reads_what_it_writes() {
        for text in ["l2", "max", "predicted", "class:3", "profile", "profile+score"] {
            assert_eq!(parse(text).expect("an aggregate").written(), text);
        }
        for text in ["sum", "class", "class:x", "l2:1"] {
            let message = parse(text).expect_err(text).to_string();
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
