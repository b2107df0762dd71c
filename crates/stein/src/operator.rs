//! The operators that turn a model f and a score s into a residual.

use std::{fmt, str::FromStr};

/// An operator, applied to f at x.
#[derive(Clone, Debug, PartialEq)]
pub enum Operator {
    /// Δf + s·∇f: the Langevin Stein operator (equation 2 of the paper).
    Langevin,
    /// s·∇f.
    NoLaplacian,
    /// ‖s‖: the data alone, without the model.
    ScoreOnly,
    /// v·∇f + f·(v·s) for a fixed direction v: the first-order Stein operator (appendix G).
    FirstOrder(Direction),
    /// ‖∇f + f·s‖²: no Stein operator, as its mean under p is not zero before the adjustment.
    FirstOrderNorm,
}

/// A direction in the space of inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Direction {
    /// One in every entry.
    Ones,
    /// These entries.
    Entries(Vec<f64>),
}

impl Direction {
    /// The entries for inputs of `dimension` entries.
    pub fn entries(&self, dimension: usize) -> Result<Vec<f64>, String> {
        match self {
            Self::Ones => Ok(vec![1.0; dimension]),
            Self::Entries(v) if v.len() == dimension => Ok(v.clone()),
            Self::Entries(v) => Err(format!(
                "the direction of the first-order operator has {} entries, and a sample has {dimension}",
                v.len()
            )),
        }
    }
}

impl Operator {
    /// Whether its mean under p vanishes when the score is right.
    pub fn is_stein(&self) -> bool {
        matches!(self, Self::Langevin | Self::FirstOrder(_))
    }

    /// Whether it looks at the model at all.
    pub fn uses_model(&self) -> bool {
        *self != Self::ScoreOnly
    }
}

impl FromStr for Operator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "langevin" => Self::Langevin,
            "no-laplacian" => Self::NoLaplacian,
            "score-only" => Self::ScoreOnly,
            "first-order-norm" => Self::FirstOrderNorm,
            "first-order" | "first-order:ones" => Self::FirstOrder(Direction::Ones),
            _ => match text.strip_prefix("first-order:") {
                Some(list) => {
                    let entries: Result<Vec<f64>, _> =
                        list.split(',').map(|v| v.trim().parse::<f64>()).collect();
                    let entries = entries.map_err(|_| {
                        format!("operator {text:?}: {list:?} is not a list of numbers like 1,1")
                    })?;
                    if entries.iter().all(|v| *v == 0.0) || entries.iter().any(|v| !v.is_finite()) {
                        return Err(format!("operator {text:?}: the direction has no length"));
                    }
                    Self::FirstOrder(Direction::Entries(entries))
                }
                None => {
                    return Err(format!(
                        "no operator {text:?}; there are langevin, no-laplacian, score-only, \
                         first-order:V and first-order-norm"
                    ));
                }
            },
        })
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Langevin => f.write_str("langevin"),
            Self::NoLaplacian => f.write_str("no-laplacian"),
            Self::ScoreOnly => f.write_str("score-only"),
            Self::FirstOrderNorm => f.write_str("first-order-norm"),
            Self::FirstOrder(Direction::Ones) => f.write_str("first-order:ones"),
            Self::FirstOrder(Direction::Entries(v)) => {
                let list: Vec<String> = v.iter().map(ToString::to_string).collect();
                write!(f, "first-order:{}", list.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_reads_what_it_writes() {
        for text in [
            "langevin",
            "no-laplacian",
            "score-only",
            "first-order:ones",
            "first-order:1,-0.5",
            "first-order-norm",
        ] {
            let operator: Operator = text.parse().expect("an operator");
            assert_eq!(operator.to_string(), text);
        }
        for text in ["laplace", "first-order:", "first-order:0,0", "first-order:a", ""] {
            assert!(text.parse::<Operator>().is_err(), "{text:?}");
        }
    }
}
