//! How the residuals of several functions of a model become one score.

use std::{fmt, str::FromStr};

/// A rule that joins the residuals of all classes. Their plain sum is not among them: probabilities add up to
/// one, so Σ r ≡ 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The length of the vector of adjusted residuals.
    L2,
    /// The largest absolute value.
    Max,
    /// The class most likely at x.
    Predicted,
    /// A fixed class.
    Class(usize),
    /// The Stein profile: residuals and drifts of several functions, joined by a one-class rule.
    Profile {
        /// Whether log‖s‖ is a feature as well, which looks at the data alone.
        with_score: bool,
    },
}

impl FromStr for Aggregate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "l2" => Self::L2,
            "max" => Self::Max,
            "predicted" => Self::Predicted,
            "profile" => Self::Profile { with_score: false },
            "profile+score" => Self::Profile { with_score: true },
            _ => match text.strip_prefix("class:").map(str::parse) {
                Some(Ok(class)) => Self::Class(class),
                _ => {
                    return Err(format!(
                        "no aggregate {text:?}; there are l2, max, predicted, class:K, profile and \
                         profile+score"
                    ));
                }
            },
        })
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::L2 => f.write_str("l2"),
            Self::Max => f.write_str("max"),
            Self::Predicted => f.write_str("predicted"),
            Self::Class(k) => write!(f, "class:{k}"),
            Self::Profile { with_score: false } => f.write_str("profile"),
            Self::Profile { with_score: true } => f.write_str("profile+score"),
        }
    }
}

/// Which side of the calibration scores is far out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Large values.
    Upper,
    /// Values far from the middle of the calibration data, on either side.
    TwoSided,
}

impl FromStr for Tail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "upper" => Ok(Self::Upper),
            "two-sided" => Ok(Self::TwoSided),
            _ => Err(format!("no tail {text:?}; there are upper and two-sided")),
        }
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Upper => "upper",
            Self::TwoSided => "two-sided",
        })
    }
}
