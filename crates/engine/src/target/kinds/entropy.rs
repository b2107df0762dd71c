//! The entropy of the class probabilities.

use taste_choice::Choice;

use crate::target::{Class, Target, TargetKind, head::row_sum};

pub(super) const KIND: &TargetKind = &TargetKind {
    choice: Choice {
        name: "entropy",
        usage: "entropy",
        about: "the entropy of the class probabilities",
    },
    class: Class::None,
    needs_classes: true,
    is_every_class: false,
    follows_likeliest: false,
    ignores_offset: true,
    curvature_ignores_offset: true,
    softmax_curvature: None,
    build: |head, b, _| {
        let (p, log_p) = (head.probabilities(b)?, head.log_probabilities(b)?);
        let product = b.mul(p, log_p)?;
        let sum = row_sum(b, product)?;
        Ok(b.neg(sum)?)
    },
};

impl Target {
    /// The entropy of the class probabilities.
    pub const fn entropy() -> Self {
        Self { kind: KIND, class: None }
    }
}
