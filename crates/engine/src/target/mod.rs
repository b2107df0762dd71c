//! The function f of the model's output that is derived.

mod head;
mod kinds;

use std::{fmt, str::FromStr};

use taste_choice::{Choice, Entry, pick};
use taste_graph::{Build, Id};

pub(crate) use head::{Head, row_sum};
pub use kinds::TARGETS;

use crate::Error;

/// A function of a model's output, as an entry of [`TARGETS`].
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub struct TargetKind {
    /// How users write it.
    pub choice: Choice,
    /// Whether a class may stand behind the name.
    class: Class,
    /// Whether it is a function of classes, so that one entry is not enough.
    needs_classes: bool,
    /// Whether it has a value for every class rather than one.
    is_every_class: bool,
    /// Whether it has kinks where another class becomes the likeliest, unless a class is named.
    follows_likeliest: bool,
    /// Whether f(z + c) = f(z) for a common offset c of all logits z.
    ignores_offset: bool,
    /// Whether second derivatives of f by the logits do not change with a common offset of them.
    curvature_ignores_offset: bool,
    /// The curvature over logits that are affine in x, where it is known in terms of probabilities.
    softmax_curvature: Option<SoftmaxCurvature>,
    build: fn(&Head, &mut Build<'_>, Option<usize>) -> Result<Id, Error>,
}

/// What stands behind the name of a target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Nothing.
    None,
    /// The number of a class, or nothing for the likeliest.
    Any,
    /// The number of an entry; without one, the first.
    First,
}

/// Δf over piecewise affine logits, with gradients gᵢ, class probabilities p, ḡ = Σ pᵢgᵢ and V = Σ pᵢ‖gᵢ − ḡ‖².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SoftmaxCurvature {
    /// f·(‖g − ḡ‖² − V), with g that of the class: f is its probability.
    Probability,
    /// −V.
    LogPartition,
}

impl Entry for TargetKind {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// Which function of the output is derived.
#[derive(Clone, Copy)]
pub struct Target {
    kind: &'static TargetKind,
    class: Option<usize>,
}

impl Target {
    /// Its entry in the table.
    pub fn kind(self) -> &'static TargetKind {
        self.kind
    }

    /// The class or entry that was named.
    pub fn class(self) -> Option<usize> {
        self.class
    }

    /// Whether it has a value for every class: N × K rather than N.
    pub fn is_every_class(self) -> bool {
        self.kind.is_every_class
    }

    /// Whether it is that of whichever class is the likeliest.
    pub fn is_of_likeliest(self) -> bool {
        self.class.is_none() && self.kind.class == Class::Any
    }

    /// Whether it has kinks where another class becomes the likeliest.
    pub fn has_kinks(self) -> bool {
        self.class.is_none() && self.kind.follows_likeliest
    }

    /// Whether f(z + c) = f(z) for a common offset c of all logits z.
    pub(crate) fn ignores_offset(self) -> bool {
        self.kind.ignores_offset
    }

    /// Whether second derivatives of f by the logits do not change with a common offset of them.
    pub(crate) fn curvature_ignores_offset(self) -> bool {
        self.kind.curvature_ignores_offset
    }

    pub(crate) fn softmax_curvature(self) -> Option<SoftmaxCurvature> {
        self.kind.softmax_curvature
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.kind.choice.name == other.kind.choice.name && self.class == other.class
    }
}

impl Eq for Target {}

impl FromStr for Target {
    type Err = taste_choice::Error;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let (kind, mut arguments) = pick("target", TARGETS, s)?;
        let wanted = "a number, counted from 0";
        let class = match kind.class {
            Class::None => None,
            Class::Any => arguments.word_as("K", wanted, |_: &usize| true)?,
            Class::First => Some(arguments.word_as("K", wanted, |_: &usize| true)?.unwrap_or(0)),
        };
        arguments.finish()?;
        Ok(Self { kind, class })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            Some(k) => write!(f, "{}:{k}", self.kind.choice.name),
            None => f.write_str(self.kind.choice.name),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_read_as_it_is_written() {
        for kind in TARGETS {
            let name = kind.choice.name;
            let read = |text: &str| text.parse::<Target>().map(|t| t.to_string());
            let plain = if kind.class == Class::First { format!("{name}:0") } else { name.into() };
            assert_eq!(read(name), Ok(plain));
            let with_class = format!("{name}:3");
            match kind.class {
                Class::None => assert!(read(&with_class).is_err(), "{with_class}"),
                _ => assert_eq!(read(&with_class), Ok(with_class)),
            }
        }
    }

    #[test]
    fn a_misspelt_target_gets_a_suggestion() {
        let message = "entrpy".parse::<Target>().expect_err("unknown").to_string();
        assert!(message.starts_with("no target \"entrpy\"; did you mean entropy?"), "{message}");
        for text in ["", "prob:", "prob:x", "prob:-1", "probs:2", "prob:1,2", "Prob"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn functions_and_names_mean_the_same() {
        let pairs = [
            ("prob", Target::prob(None)),
            ("prob:2", Target::prob(Some(2))),
            ("probs", Target::every_prob()),
            ("logit", Target::logit(None)),
            ("logprob:1", Target::log_prob(Some(1))),
            ("energy", Target::energy()),
            ("entropy", Target::entropy()),
            ("margin", Target::margin()),
            ("output", Target::output(0)),
        ];
        for (text, target) in pairs {
            assert_eq!(text.parse(), Ok(target));
        }
    }
}
