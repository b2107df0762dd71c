//! The kinds of things that users choose.

use taste_choice::{Arguments, Choice, Entry, unknown};
use taste_detector::{Family, Named, Needs};
use taste_stein::{BASELINES, PRECONDITIONS, TAILS, aggregates::AGGREGATES, operators::OPERATORS};

use crate::{methods, score_models};

/// A kind of things that users choose by name.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// What it is called in lists, and where it is chosen.
    pub choice: Choice,
    /// Its heading.
    pub title: &'static str,
    /// Its entries.
    pub entries: fn() -> Vec<Listed>,
}

/// An entry as tables show it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What it is and how it is written.
    pub choice: Choice,
    /// What else is known of it, by the heading of a column: all entries of a kind have the same.
    pub facts: Vec<(&'static str, String)>,
}

impl From<Choice> for Listed {
    fn from(choice: Choice) -> Self {
        Self { choice, facts: Vec::new() }
    }
}

fn listed<E: Entry>(entries: &[E]) -> Vec<Listed> {
    entries.iter().map(|e| (*e.choice()).into()).collect()
}

/// A method, with its source, what it costs and what it needs.
fn listed_method(family: &dyn Family) -> Listed {
    let about = family.about();
    let mut arguments = Arguments::new("method", family.choice().usage, None);
    let needs = family.read(&mut arguments, &Named::new()).map(|m| m.needs()).unwrap_or_default();
    let facts = vec![
        ("from", about.paper.to_owned()),
        ("fit", about.fit.to_owned()),
        ("score", about.score.to_owned()),
        ("needs", needed(needs)),
    ];
    Listed { choice: *family.choice(), facts }
}

fn needed(needs: Needs) -> String {
    let parts = [
        needs.classes.then_some("classes"),
        needs.labels.then_some("labels"),
        needs.uses_labels.then_some("labels if there are any"),
        needs.features.then_some("features"),
        needs.images.then_some("images"),
        needs.keeps.is_some().then_some("training rows in the file"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

impl Entry for Kind {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        choice: Choice {
            name: "methods",
            usage: "methods",
            about: "What a detector computes. A fit costs passes over the training samples, a score forward passes.",
        },
        title: "Methods",
        entries: || methods().into_iter().map(listed_method).collect(),
    },
    Kind {
        choice: Choice {
            name: "score-models",
            usage: "score-models",
            about: "s(x) ≈ ∇ log p(x) of the training data, for the method `stein`.",
        },
        title: "Score models",
        entries: || score_models().table().iter().map(|f| f.choice.into()).collect(),
    },
    Kind {
        choice: Choice {
            name: "targets",
            usage: "targets",
            about: "The function f of the model, for derivatives and for the method `stein`.",
        },
        title: "Targets",
        entries: || listed(taste_engine::TARGETS),
    },
    Kind {
        choice: Choice {
            name: "stein-operators",
            usage: "stein-operators",
            about: "What the method `stein` makes of f and s.",
        },
        title: "Stein operators",
        entries: || OPERATORS.iter().map(|e| e.choice.into()).collect(),
    },
    Kind {
        choice: Choice {
            name: "aggregates",
            usage: "aggregates",
            about: "How the method `stein` joins the residuals of all classes.",
        },
        title: "Aggregates",
        entries: || AGGREGATES.iter().map(|e| e.choice.into()).collect(),
    },
    Kind {
        choice: Choice {
            name: "preconditions",
            usage: "preconditions",
            about: "The metric of the operator, for the method `stein`.",
        },
        title: "Preconditions",
        entries: || PRECONDITIONS.iter().map(|e| e.0.into()).collect(),
    },
    Kind {
        choice: Choice {
            name: "baselines",
            usage: "baselines",
            about: "What the method `stein` takes off residuals.",
        },
        title: "Baselines",
        entries: || BASELINES.iter().map(|e| e.0.into()).collect(),
    },
    Kind {
        choice: Choice {
            name: "tails",
            usage: "tails",
            about: "Which values are far out, for the method `stein`.",
        },
        title: "Tails",
        entries: || TAILS.iter().map(|e| e.0.into()).collect(),
    },
    Kind {
        choice: Choice {
            name: "laplacian-methods",
            usage: "laplacian-methods",
            about: "How second derivatives are computed.",
        },
        title: "Laplacian methods",
        entries: || listed(taste_engine::LAPLACIAN_METHODS),
    },
    Kind {
        choice: Choice { name: "backends", usage: "backends", about: "What runs graphs." },
        title: "Backends",
        entries: || listed(taste_engine::BACKENDS),
    },
    Kind {
        choice: Choice {
            name: "formats",
            usage: "formats",
            about: "Files that data are read from.",
        },
        title: "Formats",
        entries: || listed(taste_data::FORMATS),
    },
    Kind {
        choice: Choice {
            name: "metrics",
            usage: "metrics",
            about: "What `taste evaluate` says of a detector, each with an interval at 95 %.",
        },
        title: "Metrics",
        entries: || taste_zoo::METRICS.iter().map(|e| e.choice.into()).collect(),
    },
    Kind {
        choice: Choice {
            name: "attacks",
            usage: "attacks",
            about: "What `taste attack` does to samples, so that a classifier errs; costs are for a sample that is not \
                    misled.",
        },
        title: "Attacks",
        entries: || taste_zoo::ATTACKS.iter().map(|a| a.choice.into()).collect(),
    },
    Kind {
        choice: Choice {
            name: "corruptions",
            usage: "corruptions",
            about: "What `taste corrupt` does to data; severities are 1 to 5, or `mixed` for all in turns.",
        },
        title: "Corruptions",
        entries: || taste_zoo::CORRUPTIONS.iter().map(|e| e.choice.into()).collect(),
    },
];

/// A kind by its name.
pub fn kind(name: &str) -> Result<&'static Kind, taste_choice::Error> {
    KINDS.iter().find(|k| k.choice.name == name).ok_or_else(|| unknown("list", KINDS, name))
}
