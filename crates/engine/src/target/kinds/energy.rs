//! The energy of the logits.

use taste_choice::Choice;
use taste_ops::functions;

use crate::target::{Class, Head, SoftmaxCurvature, Target, TargetKind};

pub(super) const KIND: &TargetKind = &TargetKind {
    choice: Choice { name: "energy", usage: "energy", about: "minus log-sum-exp of the logits" },
    class: Class::None,
    needs_classes: true,
    is_every_class: false,
    follows_likeliest: false,
    ignores_offset: false,
    curvature_ignores_offset: true,
    softmax_curvature: Some(SoftmaxCurvature::LogPartition),
    build: |head, b, _| {
        // log pₖ = zₖ − log Σ exp z for every k.
        let log_p = functions::log_softmax(b, head.logits, 1)?;
        let difference = b.sub(log_p, head.logits)?;
        Head::column(b, difference, 0)
    },
};

impl Target {
    /// −log Σ exp of the logits.
    pub const fn energy() -> Self {
        Self { kind: KIND, class: None }
    }
}
