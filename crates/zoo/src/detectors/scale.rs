//! SCALE (Xu, Chen, Franchi and Yao 2024): the energy score with the activations of a sample scaled by the exponential
//! of the share that the larger ones have of the sum.

use taste_choice::Choice;
use taste_detector::Family;
use taste_graph::{Build, Id, OpError};

use super::{shaped::Shaped, shared::Pruned};

pub(super) const FAMILY: &dyn Family = &Shaped {
    choice: Choice {
        name: "scale",
        usage: "scale[:p=0.65]",
        about: "the energy score with the activations of a sample scaled by what the largest, all but a share p, have of \
                their sum",
    },
    paper: "Xu, Chen, Franchi and Yao 2024",
    p: 0.65,
    shape,
};

/// Scaled, and none pruned.
fn shape(b: &mut Build<'_>, Pruned { flat, scale, .. }: Pruned) -> Result<Id, OpError> {
    b.mul(flat, scale)
}
