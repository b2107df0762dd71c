//! The logarithm of the probability of a class.

use taste_choice::Choice;

use crate::target::{Class, SoftmaxCurvature, Target, TargetKind};

pub(super) const KIND: &TargetKind = &TargetKind {
    choice: Choice {
        name: "logprob",
        usage: "logprob[:K]",
        about: "the logarithm of the probability of class K, or of the most likely class",
    },
    class: Class::Any,
    needs_classes: true,
    is_every_class: false,
    follows_likeliest: true,
    ignores_offset: true,
    curvature_ignores_offset: true,
    softmax_curvature: Some(SoftmaxCurvature::LogPartition),
    build: |head, b, class| {
        let log_p = head.log_probabilities(b)?;
        head.class(b, log_p, class)
    },
};

impl Target {
    /// The logarithm of a probability, of a class or of the most likely one.
    pub const fn log_prob(class: Option<usize>) -> Self {
        Self { kind: KIND, class }
    }
}
