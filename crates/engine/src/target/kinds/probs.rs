//! The probability of every class.

use taste_choice::Choice;

use crate::target::{Class, Target, TargetKind};

pub(super) const KIND: &TargetKind = &TargetKind {
    choice: Choice { name: "probs", usage: "probs", about: "the probability of every class" },
    class: Class::None,
    needs_classes: true,
    is_every_class: true,
    follows_likeliest: false,
    ignores_offset: true,
    curvature_ignores_offset: true,
    softmax_curvature: None,
    build: |head, b, _| Ok(head.probabilities(b)?),
};

impl Target {
    /// The probability of every class at once: results gain an axis of classes.
    pub const fn every_prob() -> Self {
        Self { kind: KIND, class: None }
    }
}
