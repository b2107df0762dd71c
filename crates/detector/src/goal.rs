//! Which of its two questions a detector flags by.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use taste_choice::{Choice, unknown};

/// What a sample is flagged for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// It matters to the model: the score.
    #[default]
    Harm,
    /// It differs from the training data at all: the novelty.
    Novelty,
    /// Either: the smaller of the two p-values is at most α/2.
    Both,
}

/// Every goal.
pub const GOALS: &[(Choice, Goal)] = &[
    (
        Choice {
            name: "harm",
            usage: "harm",
            about: "samples that matter to the model: the score",
        },
        Goal::Harm,
    ),
    (
        Choice {
            name: "novelty",
            usage: "novelty",
            about: "samples that differ from the training data at all: the novelty",
        },
        Goal::Novelty,
    ),
    (
        Choice {
            name: "both",
            usage: "both",
            about: "either: the smaller of both p-values is at most half of alpha",
        },
        Goal::Both,
    ),
];

impl Goal {
    /// The false-positive rates of score and novelty that make one of `alpha`; none for what does not flag.
    pub(crate) fn shares(self, alpha: f64) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Harm => (Some(alpha), None),
            Self::Novelty => (None, Some(alpha)),
            Self::Both => (Some(alpha / 2.0), Some(alpha / 2.0)),
        }
    }
}

impl FromStr for Goal {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self, crate::Error> {
        let choices: Vec<Choice> = GOALS.iter().map(|g| g.0).collect();
        let found = GOALS.iter().find(|g| g.0.name == text).map(|g| g.1);
        found.ok_or_else(|| unknown("goal", &choices, text).into())
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(GOALS.iter().find(|g| g.1 == *self).map_or("", |g| g.0.name))
    }
}
