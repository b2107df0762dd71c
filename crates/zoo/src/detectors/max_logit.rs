//! The largest logit (Hendrycks and others 2022): the score is −max z.

use taste_choice::Choice;
use taste_detector::Family;
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use super::of_logits::OfLogits;

pub(super) const FAMILY: &dyn Family = &OfLogits {
    choice: Choice { name: "max-logit", usage: "max-logit", about: "minus the largest logit" },
    paper: "Hendrycks and others 2022",
    temperature: None,
    score,
};

/// −max z.
fn score(b: &mut Build<'_>, logits: Id, _: f64) -> Result<Id, OpError> {
    let largest = functions::largest(b, logits, 1)?;
    b.neg(largest)
}
