//! The energy score (Liu, Wang, Owens and Li 2020): −T·log Σ exp(z/T).

use taste_choice::Choice;
use taste_detector::Family;
use taste_graph::{Build, Id, OpError};

use super::{of_logits::OfLogits, shared::energy};

pub(super) const FAMILY: &dyn Family = &OfLogits {
    choice: Choice {
        name: "energy",
        usage: "energy[:t=1]",
        about: "minus the logarithm of the sum of exponentials of the logits, at temperature t",
    },
    paper: "Liu, Wang, Owens and Li 2020",
    temperature: Some(1.0),
    score,
};

/// −T·log Σ exp(z/T).
fn score(b: &mut Build<'_>, logits: Id, temperature: f64) -> Result<Id, OpError> {
    let cooled = b.scale(logits, 1.0 / temperature)?;
    let energy = energy(b, cooled)?;
    b.scale(energy, temperature)
}
