//! How far the two largest logits are apart.

use taste_choice::Choice;
use taste_ops::functions;

use crate::target::{Class, Target, TargetKind, head::row_sum};

pub(super) const KIND: &TargetKind = &TargetKind {
    choice: Choice {
        name: "margin",
        usage: "margin",
        about: "the largest logit minus the second largest",
    },
    class: Class::None,
    needs_classes: true,
    is_every_class: false,
    follows_likeliest: true,
    ignores_offset: false,
    curvature_ignores_offset: false,
    softmax_curvature: None,
    build: |head, b, _| {
        let first = functions::first_max(b, head.logits, 1)?;
        let lowered = b.scale(first, -1e30)?;
        let others = b.add(head.logits, lowered)?;
        let second = functions::first_max(b, others, 1)?;
        let weights = b.sub(first, second)?;
        let product = b.mul(head.logits, weights)?;
        Ok(row_sum(b, product)?)
    },
};

impl Target {
    /// The largest logit minus the second largest.
    pub const fn margin() -> Self {
        Self { kind: KIND, class: None }
    }
}
