//! Ensembles of trees as plain gathers: every sample stands at one node of every tree, and takes one step a level.

mod forest;
mod read;

use std::collections::BTreeSet;

use ndarray::{ArrayD, IxDyn};
use taste_graph::{Build, DType, Dim, Id, OpError, Tensor};

use crate::{
    compare::{Compare, Logic, Test, Where},
    gather::{GatherElements, GatherNd},
};
use forest::{Forest, Rule};

pub(crate) use read::ENTRIES;

use super::pick;

/// Weights of all leaves have at most this many entries.
const MOST_WEIGHTS: usize = 1 << 27;

/// The nodes of a forest as tables, by the node's number.
struct Tables {
    feature: Id,
    threshold: Id,
    yes: Id,
    no: Id,
    /// The rule of every node, where they differ.
    rule: Option<Id>,
    /// 1 where missing values go the way of a rule that holds, if they do anywhere.
    missing: Option<Id>,
}

fn row(values: &[f64]) -> Result<Tensor, OpError> {
    Tensor::floats(&[values.len()], values.to_vec())
}

fn places(values: impl Iterator<Item = usize>) -> Tensor {
    Tensor::ints(&values.map(|v| v as i64).collect::<Vec<_>>())
}

impl Tables {
    fn new(b: &mut Build<'_>, forest: &Forest) -> Result<Self, OpError> {
        let nodes = &forest.nodes;
        let thresholds: Vec<f64> = nodes.iter().map(|n| n.threshold).collect();
        let rules: BTreeSet<Rule> = forest.branches().map(|n| n.rule).collect();
        let rule = (rules.len() > 1).then(|| places(nodes.iter().map(|n| n.rule as usize)));
        let follows = forest.branches().any(|n| n.missing_follows);
        let missing = follows.then(|| places(nodes.iter().map(|n| usize::from(n.missing_follows))));
        let g = b.graph_mut();
        Ok(Self {
            feature: g.stored(places(nodes.iter().map(|n| n.feature))),
            threshold: g.stored(row(&thresholds)?),
            yes: g.stored(places(nodes.iter().map(|n| n.yes))),
            no: g.stored(places(nodes.iter().map(|n| n.no))),
            rule: rule.map(|t| g.stored(t)),
            missing: missing.map(|t| g.stored(t)),
        })
    }

    /// Whether the rule of each node that samples stand at holds, given the entries it looks at.
    fn holds(
        &self,
        b: &mut Build<'_>,
        rules: &BTreeSet<Rule>,
        at: Id,
        x: Id,
    ) -> Result<Id, OpError> {
        let threshold = pick(b, self.threshold, at)?;
        let own = self.rule.map(|rule| pick(b, rule, at)).transpose()?;
        let mut found = None;
        for &rule in rules {
            let mut holds = rule.holds(b, x, threshold)?;
            if let Some(own) = own {
                let number = b.graph_mut().constant(ndarray::arr0(rule as i64).into_dyn().into());
                let is_it = b.push(Compare::Equal, &[own, number])?;
                holds = b.push(Logic::And, &[holds, is_it])?;
            }
            found = Some(match found {
                Some(found) => b.push(Logic::Or, &[found, holds])?,
                None => holds,
            });
        }
        let found = found.ok_or_else(|| OpError::invalid("a forest without a rule"))?;
        let Some(missing) = self.missing else { return Ok(found) };
        let follows = pick(b, missing, at)?;
        let one = b.graph_mut().constant(ndarray::arr0(1i64).into_dyn().into());
        let follows = b.push(Compare::Equal, &[follows, one])?;
        let nan = b.push(Test::IsNaN, &[x])?;
        let follows = b.push(Logic::And, &[nan, follows])?;
        b.push(Logic::Or, &[found, follows])
    }
}

impl Rule {
    fn holds(self, b: &mut Build<'_>, x: Id, threshold: Id) -> Result<Id, OpError> {
        let compare = match self {
            Self::AtMost => Compare::LessOrEqual,
            Self::Less => Compare::Less,
            Self::AtLeast => Compare::GreaterOrEqual,
            Self::Greater => Compare::Greater,
            Self::Equal | Self::Unequal => Compare::Equal,
        };
        let holds = b.push(compare, &[x, threshold])?;
        if self == Self::Unequal { b.push(Test::Not, &[holds]) } else { Ok(holds) }
    }
}

impl Forest {
    /// The leaf that every sample of x (N × D) reaches in every tree: N × T.
    fn leaves(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let (rows, trees) = (b.fact(x).shape[0], Dim::from(self.roots.len()));
        let roots = Tensor::from(
            ArrayD::from_shape_vec(
                IxDyn(&[1, self.roots.len()]),
                self.roots.iter().map(|&r| r as i64).collect(),
            )
            .map_err(|e| OpError::invalid(e.to_string()))?,
        );
        let roots = b.graph_mut().constant(roots);
        if self.depth == 0 {
            return b.expand(roots, &[rows, trees]);
        }
        let tables = Tables::new(b, self)?;
        let rules: BTreeSet<Rule> = self.branches().map(|n| n.rule).collect();
        let mut at = roots;
        for level in 0..self.depth {
            let feature = pick(b, tables.feature, at)?;
            // At the roots all samples look at the same entries.
            let looked_at = if level == 0 {
                let list = b.reshape(feature, &[trees, Dim::from(1)])?;
                b.push(GatherNd { lead: 1 }, &[x, list])?
            } else {
                b.push(GatherElements { axis: 1 }, &[x, feature])?
            };
            let holds = tables.holds(b, &rules, at, looked_at)?;
            let (yes, no) = (pick(b, tables.yes, at)?, pick(b, tables.no, at)?);
            at = b.push(Where, &[holds, yes, no])?;
        }
        Ok(at)
    }

    /// The weights of the leaves that samples reach, summed over trees: N × targets.
    fn sums(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let count = self.leaves.len();
        if count.checked_mul(self.targets).is_none_or(|n| n > MOST_WEIGHTS) {
            return Err(OpError::unsupported(
                "leaves by targets",
                format!("{count} × {}", self.targets),
            ));
        }
        if b.fact(x).dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: b.fact(x).dtype });
        }
        let mut weights = vec![0.0; count * self.targets];
        for (leaf, given) in self.leaves.iter().enumerate() {
            for &(target, weight) in given {
                weights[leaf * self.targets + target] += weight;
            }
        }
        let reached = self.leaves(b, x)?;
        if self.targets == 1 {
            let weights = b.graph_mut().stored(row(&weights)?);
            let reached = pick(b, weights, reached)?;
            return b.sum(reached, &[1]);
        }
        let weights = Tensor::floats(&[count, self.targets], weights)?;
        let weights = b.graph_mut().stored(weights);
        let reached = pick(b, weights, reached)?;
        let sums = b.sum(reached, &[1])?;
        let rows = b.fact(x).shape[0];
        b.reshape(sums, &[rows, Dim::from(self.targets)])
    }
}
