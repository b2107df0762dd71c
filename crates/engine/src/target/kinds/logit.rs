//! A logit.

use taste_choice::Choice;

use crate::target::{Class, Target, TargetKind};

pub(super) const KIND: &TargetKind = &TargetKind {
    choice: Choice {
        name: "logit",
        usage: "logit[:K]",
        about: "the logit of class K, or of the most likely class",
    },
    class: Class::Any,
    needs_classes: false,
    is_every_class: false,
    follows_likeliest: true,
    ignores_offset: false,
    curvature_ignores_offset: false,
    softmax_curvature: None,
    build: |head, b, class| head.class(b, head.logits, class),
};

impl Target {
    /// The logit of a class, or of the most likely one.
    pub const fn logit(class: Option<usize>) -> Self {
        Self { kind: KIND, class }
    }
}
