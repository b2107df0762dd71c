//! Which values are far out.

use std::{fmt, str::FromStr};

use taste_choice::{Choice, unknown};
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use crate::Error;

/// Which side of the calibration samples is far out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Large values.
    Upper,
    /// Small values.
    Lower,
    /// Values far from the middle of held-out samples, on either side.
    TwoSided,
}

/// Every tail.
pub const TAILS: &[(Choice, Tail)] = &[
    (Choice { name: "upper", usage: "upper", about: "large values" }, Tail::Upper),
    (Choice { name: "lower", usage: "lower", about: "small values" }, Tail::Lower),
    (
        Choice {
            name: "two-sided",
            usage: "two-sided",
            about: "values far from the middle, on either side",
        },
        Tail::TwoSided,
    ),
];

impl FromStr for Tail {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let choices: Vec<Choice> = TAILS.iter().map(|t| t.0).collect();
        let found = TAILS.iter().find(|t| t.0.name == text).map(|t| t.1);
        found.ok_or_else(|| unknown("tail", &choices, text).into())
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = TAILS.iter().find(|t| t.1 == *self).map_or("", |t| t.0.name);
        f.write_str(name)
    }
}

impl Tail {
    /// The score of a value: larger is further out. `centre` is the middle of held-out samples.
    pub(crate) fn score(self, b: &mut Build<'_>, value: Id, centre: f64) -> Result<Id, OpError> {
        match self {
            Self::Upper => Ok(value),
            Self::Lower => b.neg(value),
            Self::TwoSided => {
                let off = b.offset(value, -centre)?;
                functions::abs(b, off)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_reads_what_it_writes() {
        for tail in [Tail::Upper, Tail::Lower, Tail::TwoSided] {
            assert_eq!(tail.to_string().parse::<Tail>().expect("a tail"), tail);
        }
        let message = "uper".parse::<Tail>().expect_err("mistyped").to_string();
        assert!(message.contains("did you mean upper?"), "{message}");
    }
}
