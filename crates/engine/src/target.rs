//! The scalar function f of the model's output.

use std::{fmt, str::FromStr};

use taste_graph::{
    Build, Dim, Graph, Id, OpError,
    algebra::{Slice, Span},
};
use taste_ops::functions;

use crate::error::{Error, request};

/// Which function of the output is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The probability of a class, or of the most likely one.
    Prob(Option<usize>),
    /// The probability of every class at once: results gain an axis of classes.
    EveryProb,
    /// The logit of a class, or of the most likely one.
    Logit(Option<usize>),
    /// The logarithm of a probability, of a class or of the most likely one.
    LogProb(Option<usize>),
    /// −log Σ exp of the logits.
    Energy,
    /// The entropy of the class probabilities.
    Entropy,
    /// The largest logit minus the second largest.
    Margin,
    /// An entry of the output as it is.
    Output(usize),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (name, index) = match s.split_once(':') {
            Some((name, index)) => {
                let index = index
                    .parse()
                    .map_err(|_| format!("target {s:?}: {index:?} is not the number of a class"))?;
                (name, Some(index))
            }
            None => (s, None),
        };
        Ok(match (name, index) {
            ("prob", k) => Self::Prob(k),
            ("probs", None) => Self::EveryProb,
            ("logit", k) => Self::Logit(k),
            ("logprob", k) => Self::LogProb(k),
            ("energy", None) => Self::Energy,
            ("entropy", None) => Self::Entropy,
            ("margin", None) => Self::Margin,
            ("output", k) => Self::Output(k.unwrap_or(0)),
            _ => {
                return Err(format!(
                    "no target {s:?}; there are prob, prob:K, probs, logit, logit:K, logprob, logprob:K, \
                     energy, entropy, margin and output:K"
                ));
            }
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, index) = match self {
            Self::Prob(k) => ("prob", *k),
            Self::EveryProb => ("probs", None),
            Self::Logit(k) => ("logit", *k),
            Self::LogProb(k) => ("logprob", *k),
            Self::Energy => ("energy", None),
            Self::Entropy => ("entropy", None),
            Self::Margin => ("margin", None),
            Self::Output(k) => ("output", Some(*k)),
        };
        match index {
            Some(k) => write!(f, "{name}:{k}"),
            None => f.write_str(name),
        }
    }
}

/// What a model's output is, as far as its last operator tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The output, one row a sample.
    pub(crate) output: Id,
    /// What softmax is or would be applied to.
    pub(crate) logits: Id,
    /// Columns of a row.
    pub(crate) width: usize,
    /// Whether the output is softmax of the logits already.
    pub(crate) softmax_inside: bool,
}

impl Head {
    /// Looks at an output; it becomes a matrix with one row a sample.
    pub(crate) fn of(graph: &mut Graph, name: &str, output: Id) -> Result<Self, Error> {
        let shape = graph.fact(output).shape.clone();
        let (rows, rest) = shape.split_first().map_or((Dim::from(1), &shape[..]), |(r, s)| (*r, s));
        let width = rest
            .iter()
            .map(|d| d.as_fixed().and_then(|d| usize::try_from(d).ok()))
            .try_fold(1usize, |p, d| p.checked_mul(d?))
            .ok_or_else(|| {
                request(format!(
                    "output {name:?} has shape {}: only its first axis may depend on the batch",
                    graph.fact(output)
                ))
            })?;
        if width == 0 {
            return Err(request(format!("output {name:?} is empty: {}", graph.fact(output))));
        }
        let inside = functions::as_softmax(graph, output)?;
        let (output, logits) = inside.unwrap_or((output, output));
        let mut b = Build::new(graph);
        let matrix = [rows, Dim::from(width)];
        let (output, logits) = (b.reshape(output, &matrix)?, b.reshape(logits, &matrix)?);
        Ok(Self { output, logits, width, softmax_inside: inside.is_some() })
    }

    fn class(&self, b: &mut Build<'_>, matrix: Id, class: Option<usize>) -> Result<Id, Error> {
        if let Some(k) = class {
            Ok(self.column(b, matrix, k)?)
        } else {
            let mask = functions::first_max(b, self.logits, 1)?;
            let picked = b.mul(matrix, mask)?;
            Ok(row_sum(b, picked)?)
        }
    }

    fn column(&self, b: &mut Build<'_>, matrix: Id, k: usize) -> Result<Id, Error> {
        if k >= self.width {
            return Err(request(format!(
                "there is no class {k}: the output has {} entries, counted from 0",
                self.width
            )));
        }
        let column = b.push(Slice::along(1, Span { start: k, step: 1, len: 1 }), &[matrix])?;
        let rows = b.fact(column).shape[0];
        Ok(b.reshape(column, &[rows])?)
    }

    /// The target that users expect when they name none.
    pub(crate) fn default_target(&self) -> Target {
        if self.width == 1 { Target::Output(0) } else { Target::Prob(None) }
    }

    /// Builds f: one scalar a sample, or one a class.
    pub(crate) fn build(&self, graph: &mut Graph, target: Target) -> Result<Id, Error> {
        let b = &mut Build::new(graph);
        let classes = !matches!(target, Target::Output(_) | Target::Logit(_));
        if classes && self.width == 1 {
            return Err(request(format!(
                "target {target} needs an output with one entry a class, and this one has a single \
                 entry: use output:0"
            )));
        }
        match target {
            Target::Output(k) if k >= self.width => Err(request(format!(
                "there is no output:{k}: the output of the model has {}",
                match self.width {
                    1 => "one entry, and there is output:0 alone".to_owned(),
                    n => format!("{n} entries, and there are output:0 to output:{}", n - 1),
                }
            ))),
            Target::Output(k) => self.column(b, self.output, k),
            Target::Logit(k) => self.class(b, self.logits, k),
            Target::Prob(k) => {
                let p = self.probabilities(b)?;
                self.class(b, p, k)
            }
            Target::EveryProb => Ok(self.probabilities(b)?),
            Target::LogProb(k) => {
                let log_p = self.log_probabilities(b)?;
                self.class(b, log_p, k)
            }
            Target::Energy => {
                // log pₖ = zₖ − log Σ exp z for every k.
                let log_p = functions::log_softmax(b, self.logits, 1)?;
                let difference = b.sub(log_p, self.logits)?;
                self.column(b, difference, 0)
            }
            Target::Entropy => {
                let (p, log_p) = (self.probabilities(b)?, self.log_probabilities(b)?);
                let product = b.mul(p, log_p)?;
                let sum = row_sum(b, product)?;
                Ok(b.neg(sum)?)
            }
            Target::Margin => {
                let first = functions::first_max(b, self.logits, 1)?;
                let lowered = b.scale(first, -1e30)?;
                let others = b.add(self.logits, lowered)?;
                let second = functions::first_max(b, others, 1)?;
                let weights = b.sub(first, second)?;
                let product = b.mul(self.logits, weights)?;
                Ok(row_sum(b, product)?)
            }
        }
    }

    /// Class probabilities as a matrix.
    pub(crate) fn probabilities(&self, b: &mut Build<'_>) -> Result<Id, OpError> {
        let centred = self.centred(b)?;
        functions::softmax(b, centred, 1)
    }

    fn log_probabilities(&self, b: &mut Build<'_>) -> Result<Id, OpError> {
        let centred = self.centred(b)?;
        functions::log_softmax(b, centred, 1)
    }

    /// Logits relative to the largest. Probabilities are the same; in their derivatives 1 − p of a likely class would be what
    /// rounding leaves of it, and is now a sum over the other classes.
    fn centred(&self, b: &mut Build<'_>) -> Result<Id, OpError> {
        let first = functions::first_max(b, self.logits, 1)?;
        let product = b.mul(self.logits, first)?;
        let largest = b.sum(product, &[1])?;
        b.sub(self.logits, largest)
    }
}

/// The sum of each row of a matrix.
pub(crate) fn row_sum(b: &mut Build<'_>, matrix: Id) -> Result<Id, OpError> {
    let sum = b.sum(matrix, &[1])?;
    let rows = b.fact(sum).shape[0];
    b.reshape(sum, &[rows])
}
