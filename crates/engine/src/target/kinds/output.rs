//! The output as it is.

use taste_choice::Choice;

use crate::{
    error::request,
    target::{Class, Head, Target, TargetKind},
};

pub(super) const KIND: &TargetKind = &TargetKind {
    choice: Choice {
        name: "output",
        usage: "output[:K]",
        about: "entry K of the output as it is, the first by default",
    },
    class: Class::First,
    needs_classes: false,
    is_every_class: false,
    follows_likeliest: false,
    ignores_offset: false,
    curvature_ignores_offset: false,
    softmax_curvature: None,
    build: |head, b, entry| match entry.unwrap_or(0) {
        k if k < head.entries => Head::column(b, head.output, k),
        k => Err(request(format!(
            "there is no output:{k}: the output of the model has {}",
            match head.entries {
                1 => "one entry, and there is output:0 alone".to_owned(),
                n => format!("{n} entries, and there are output:0 to output:{}", n - 1),
            }
        ))),
    },
};

impl Target {
    /// An entry of the output as it is.
    pub const fn output(entry: usize) -> Self {
        Self { kind: KIND, class: Some(entry) }
    }
}
