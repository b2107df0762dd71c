//! The entropy of the class probabilities (Chan, Rottmann and Gottschalk 2021): −Σ p·log p, with probabilities from
//! 10⁻⁷ on.

use taste_choice::Choice;
use taste_detector::Family;
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use super::of_logits::OfLogits;

pub(super) const FAMILY: &dyn Family = &OfLogits {
    choice: Choice {
        name: "entropy",
        usage: "entropy",
        about: "the entropy of the class probabilities",
    },
    paper: "Chan, Rottmann and Gottschalk 2021",
    temperature: None,
    score,
};

/// Probabilities are at least this.
const LEAST: f64 = 1e-7;

/// −Σ p·log p.
fn score(b: &mut Build<'_>, logits: Id, _: f64) -> Result<Id, OpError> {
    let p = functions::softmax(b, logits, 1)?;
    let p = functions::at_least(b, p, LEAST)?;
    let log = functions::log(b, p)?;
    b.formula([p, log], |[p, log]| -(p * log).sum(&[1]))
}
