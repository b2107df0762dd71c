//! Which values are far out.

use std::{fmt, str::FromStr};

use taste_choice::Choice;
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use crate::{Error, names};

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

/// What engines leave of a value, as a share of it.
const RESOLVED: f64 = 1e-4;

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
        names::read("tail", TAILS, text)
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(names::of(TAILS, self))
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
                let off = functions::abs(b, off)?;
                // Nearer to the middle than single precision resolves, all values are alike.
                let least = RESOLVED * centre.abs();
                let beyond = b.offset(off, -least)?;
                let beyond = if least > 0.0 { functions::relu(b, beyond)? } else { beyond };
                b.offset(beyond, least)
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
