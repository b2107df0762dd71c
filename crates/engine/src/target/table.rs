//! The targets.

use taste_choice::Choice;
use taste_ops::functions;

use super::{Class, SoftmaxCurvature, TargetKind, head::row_sum};
use crate::error::request;

/// Every function of the output that can be derived.
pub const TARGETS: &[&TargetKind] =
    &[&PROB, &PROBS, &LOGIT, &LOGPROB, &ENERGY, &ENTROPY, &MARGIN, &OUTPUT];

pub(super) static PROB: TargetKind = TargetKind {
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

pub(super) static PROBS: TargetKind = TargetKind {
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

pub(super) static LOGIT: TargetKind = TargetKind {
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

pub(super) static LOGPROB: TargetKind = TargetKind {
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

pub(super) static ENERGY: TargetKind = TargetKind {
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
        head.column(b, difference, 0)
    },
};

pub(super) static ENTROPY: TargetKind = TargetKind {
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

pub(super) static MARGIN: TargetKind = TargetKind {
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

pub(super) static OUTPUT: TargetKind = TargetKind {
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
        k if k < head.width => head.column(b, head.output, k),
        k => Err(request(format!(
            "there is no output:{k}: the output of the model has {}",
            match head.width {
                1 => "one entry, and there is output:0 alone".to_owned(),
                n => format!("{n} entries, and there are output:0 to output:{}", n - 1),
            }
        ))),
    },
};
