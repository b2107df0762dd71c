//! The probability of a class.

use taste_choice::Choice;

use crate::target::{Class, SoftmaxCurvature, Target, TargetKind};

pub(super) const KIND: &TargetKind = &TargetKind {
    choice: Choice {
        name: "prob",
        usage: "prob[:K]",
        about: "the probability of class K, or of the most likely class",
    },
    class: Class::Any,
    needs_classes: true,
    is_every_class: false,
    follows_likeliest: true,
    ignores_offset: true,
    curvature_ignores_offset: true,
    softmax_curvature: Some(SoftmaxCurvature::Probability),
    build: |head, b, class| {
        let p = head.probabilities(b)?;
        head.class(b, p, class)
    },
};

impl Target {
    /// The probability of a class, or of the most likely one.
    pub const fn prob(class: Option<usize>) -> Self {
        Self { kind: KIND, class }
    }
}
