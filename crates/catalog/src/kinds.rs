//! The kinds of things that users choose.

use taste_choice::{Choice, Entry, unknown};
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
    pub entries: fn() -> Vec<Choice>,
}

impl Entry for Kind {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        choice: Choice { name: "methods", usage: "methods", about: "What a detector computes." },
        title: "Methods",
        entries: || methods().iter().map(|m| *m.choice()).collect(),
    },
    Kind {
        choice: Choice {
            name: "score-models",
            usage: "score-models",
            about: "s(x) ≈ ∇ log p(x) of the training data, for the method `stein`.",
        },
        title: "Score models",
        entries: || score_models().table().iter().map(|f| f.choice).collect(),
    },
    Kind {
        choice: Choice {
            name: "targets",
            usage: "targets",
            about: "The function f of the model, for derivatives and for the method `stein`.",
        },
        title: "Targets",
        entries: || taste_engine::TARGETS.iter().map(|t| *t.choice()).collect(),
    },
    Kind {
        choice: Choice {
            name: "stein-operators",
            usage: "stein-operators",
            about: "What the method `stein` makes of f and s.",
        },
        title: "Stein operators",
        entries: || OPERATORS.iter().map(|o| o.choice).collect(),
    },
    Kind {
        choice: Choice {
            name: "aggregates",
            usage: "aggregates",
            about: "How the method `stein` joins the residuals of all classes.",
        },
        title: "Aggregates",
        entries: || AGGREGATES.iter().map(|a| a.choice).collect(),
    },
    Kind {
        choice: Choice {
            name: "preconditions",
            usage: "preconditions",
            about: "The metric of the operator, for the method `stein`.",
        },
        title: "Preconditions",
        entries: || PRECONDITIONS.iter().map(|p| p.0).collect(),
    },
    Kind {
        choice: Choice {
            name: "baselines",
            usage: "baselines",
            about: "What the method `stein` takes off residuals.",
        },
        title: "Baselines",
        entries: || BASELINES.iter().map(|b| b.0).collect(),
    },
    Kind {
        choice: Choice {
            name: "tails",
            usage: "tails",
            about: "Which values are far out, for the method `stein`.",
        },
        title: "Tails",
        entries: || TAILS.iter().map(|t| t.0).collect(),
    },
    Kind {
        choice: Choice {
            name: "laplacian-methods",
            usage: "laplacian-methods",
            about: "How second derivatives are computed.",
        },
        title: "Laplacian methods",
        entries: || taste_engine::LAPLACIAN_METHODS.iter().map(|m| *m.choice()).collect(),
    },
    Kind {
        choice: Choice { name: "backends", usage: "backends", about: "What runs graphs." },
        title: "Backends",
        entries: || taste_engine::BACKENDS.iter().map(|b| *b.choice()).collect(),
    },
    Kind {
        choice: Choice {
            name: "formats",
            usage: "formats",
            about: "Files that data are read from.",
        },
        title: "Formats",
        entries: || taste_data::FORMATS.iter().map(|f| *f.choice()).collect(),
    },
    Kind {
        choice: Choice {
            name: "metrics",
            usage: "metrics",
            about: "What `taste evaluate` says of a detector, each with an interval at 95 %.",
        },
        title: "Metrics",
        entries: || taste_zoo::METRICS.iter().map(|m| m.choice).collect(),
    },
    Kind {
        choice: Choice {
            name: "corruptions",
            usage: "corruptions",
            about: "What `taste corrupt` does to data; severities are 1 to 5, or `mixed` for all in turns.",
        },
        title: "Corruptions",
        entries: || taste_zoo::CORRUPTIONS.iter().map(|c| c.choice).collect(),
    },
];

/// A kind by its name.
pub fn kind(name: &str) -> Result<&'static Kind, taste_choice::Error> {
    KINDS.iter().find(|k| k.choice.name == name).ok_or_else(|| unknown("list", KINDS, name))
}
