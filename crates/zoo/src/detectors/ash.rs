//! Activation shaping, ASH-S (Djurisic, Bozanic, Ashok and Liu 2023): the energy score with the smaller activations of
//! a sample set to zero, and the others scaled by the exponential of the share that they have of the sum.

use taste_choice::Choice;
use taste_detector::Family;
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use super::{shaped::Shaped, shared::Pruned};

pub(super) const FAMILY: &dyn Family = &Shaped {
    choice: Choice {
        name: "ash",
        usage: "ash[:p=0.65]",
        about: "the energy score with a share p of the activations of a sample, the smallest, set to zero and the others \
                scaled up",
    },
    paper: "Djurisic, Bozanic, Ashok and Liu 2023",
    p: 0.65,
    shape,
};

/// Pruned and scaled.
fn shape(b: &mut Build<'_>, Pruned { flat, least, scale }: Pruned) -> Result<Id, OpError> {
    let kept = functions::at_most(b, least, flat)?;
    b.formula([flat, kept, scale], |[x, kept, scale]| x * kept * scale)
}
