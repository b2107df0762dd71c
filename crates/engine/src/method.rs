//! Ways to compute a Laplacian.

use std::{fmt, str::FromStr};

/// A way to compute a Laplacian or a Hessian's diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The best of the others for the model at hand.
    Auto,
    /// The forward Laplacian along the whole basis: exact for every model.
    Exact,
    /// A vector-Jacobian product for every logit: exact where the logits are piecewise affine.
    ClosedForm,
    /// The same with the most likely classes only: biased.
    ClosedFormTop(usize),
    /// Random signs in the space of logits: unbiased where the logits are piecewise affine.
    Probe(usize),
    /// Random signs in the space of inputs: unbiased for every model.
    Hutchinson(usize),
    /// Hutchinson on what a low-rank sketch leaves: unbiased for every model.
    HutchPlusPlus(usize),
}

impl Method {
    /// Whether the result is an estimate with a standard error.
    pub fn is_stochastic(self) -> bool {
        matches!(self, Self::Probe(_) | Self::Hutchinson(_) | Self::HutchPlusPlus(_))
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (name, count) = match s.split_once(':') {
            Some((name, count)) => {
                let count: usize =
                    count.parse().ok().filter(|c| (1..=1_000_000).contains(c)).ok_or_else(
                        || format!("method {s:?}: {count:?} is not a number of at least 1"),
                    )?;
                (name, Some(count))
            }
            None => (s, None),
        };
        Ok(match (name, count) {
            ("auto", None) => Self::Auto,
            ("exact", None) => Self::Exact,
            ("closed-form", None) => Self::ClosedForm,
            ("closed-form", Some(k)) => Self::ClosedFormTop(k),
            ("probe", m) => Self::Probe(m.unwrap_or(2)),
            ("hutchinson", m) => Self::Hutchinson(m.unwrap_or(16)),
            ("hutchpp", m) => {
                let m = m.unwrap_or(30);
                if m % 3 != 0 {
                    return Err(format!(
                        "method {s:?}: Hutch++ splits its products in three equal parts, so \
                                        their number must be a multiple of 3"
                    ));
                }
                Self::HutchPlusPlus(m)
            }
            _ => {
                return Err(format!(
                    "no method {s:?}; there are auto, exact, closed-form, closed-form:K, probe:M, \
                     hutchinson:M and hutchpp:M"
                ));
            }
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Exact => f.write_str("exact"),
            Self::ClosedForm => f.write_str("closed-form"),
            Self::ClosedFormTop(k) => write!(f, "closed-form:{k}"),
            Self::Probe(m) => write!(f, "probe:{m}"),
            Self::Hutchinson(m) => write!(f, "hutchinson:{m}"),
            Self::HutchPlusPlus(m) => write!(f, "hutchpp:{m}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in [
            "auto",
            "exact",
            "closed-form",
            "closed-form:3",
            "probe:2",
            "hutchinson:5",
            "hutchpp:9",
        ] {
            assert_eq!(name.parse::<Method>().map(|m| m.to_string()).as_deref(), Ok(name));
        }
        for name in ["", "hutchinson:0", "hutchpp:10", "probe:x", "exact:2", "closed-form:-1"] {
            assert!(name.parse::<Method>().is_err(), "{name}");
        }
    }
}
