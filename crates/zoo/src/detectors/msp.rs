//! The maximum softmax probability (Hendrycks and Gimpel 2017): the score is −max softmax(z/T).

use taste_choice::Choice;
use taste_detector::Family;
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use super::of_logits::OfLogits;

pub(super) const FAMILY: &dyn Family = &OfLogits {
    choice: Choice {
        name: "msp",
        usage: "msp[:t=1]",
        about: "one less the largest probability of a class, at temperature t",
    },
    paper: "Hendrycks and Gimpel 2017",
    temperature: Some(1.0),
    score,
};

/// 1 − max softmax(z/T).
fn score(b: &mut Build<'_>, logits: Id, temperature: f64) -> Result<Id, OpError> {
    let cooled = b.scale(logits, 1.0 / temperature)?;
    let probabilities = functions::softmax(b, cooled, 1)?;
    let first = functions::first_max(b, cooled, 1)?;
    // 1 − max p as the sum of the others, which keeps its digits where the softmax is all but certain.
    let rest = b.from_offset(1.0, first)?;
    let others = b.mul(probabilities, rest)?;
    b.sum(others, &[1])
}
