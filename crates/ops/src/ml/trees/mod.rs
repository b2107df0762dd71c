//! Ensembles of trees as plain gathers: every sample stands at one node of every tree, and takes one step a level.

mod forest;
mod read;

use std::collections::BTreeSet;

use ndarray::{ArrayD, IxDyn};
use taste_graph::{Build, DType, Dim, Id, OpError, Tensor};

use crate::{
    compare::{Compare, Logic, Test, Where},
    functions::matmul,
    gather::{GatherElements, GatherNd},
};
use forest::{Forest, Rule};

pub(crate) use read::ENTRIES;

use super::pick;

/// Weights of all leaves have at most this many entries.
const MOST_WEIGHTS: usize = 1 << 27;
/// What trees give is summed in groups of trees to about this many numbers a sample, which a linear layer adds up.
pub(super) const PARTS: usize = 256;

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

    /// The weights of the leaves that samples reach, summed over trees: N × targets. The last step is a linear layer, so that
    /// what it adds up are the features of the model.
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
        let shape = if self.targets == 1 { vec![count] } else { vec![count, self.targets] };
        let weights = b.graph_mut().stored(Tensor::floats(&shape, weights)?);
        let reached = self.leaves(b, x)?;
        let given = pick(b, weights, reached)?;
        let (rows, targets) = (b.fact(x).shape[0], Dim::from(self.targets));
        let groups = self.roots.len() / self.grouped;
        if groups <= 1 {
            let sums = b.sum(given, &[1])?;
            return b.reshape(sums, &[rows, targets]);
        }
        let mut parts = given;
        if self.grouped > 1 {
            let apart = [rows, Dim::from(groups), Dim::from(self.grouped), targets];
            let apart = b.reshape(given, &apart)?;
            parts = b.sum(apart, &[2])?;
        }
        let width = groups * self.targets;
        let parts = b.reshape(parts, &[rows, Dim::from(width)])?;
        let own =
            |i: usize| f64::from(u8::from(i / self.targets % self.targets == i % self.targets));
        let adds = (0..width * self.targets).map(own).collect();
        let adds = b.graph_mut().stored(Tensor::floats(&[width, self.targets], adds)?);
        matmul(b, parts, adds)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use taste_graph::{Calculus, Fact, Graph};

    use super::{
        forest::{Node, Raw},
        *,
    };

    /// Stumps on two features in turn: 1 + i above the threshold i/100 for target i mod K, else 0.
    fn stumps(count: usize, targets: usize) -> Forest {
        let mut raw = Vec::new();
        for i in 0..count {
            let (rule, yes) = (Rule::Greater, 3 * i + 1);
            raw.push(Raw::Branch(Node {
                feature: i % 2,
                threshold: i as f64 / 100.0,
                rule,
                yes,
                no: yes + 1,
                missing_follows: false,
            }));
            raw.push(Raw::Leaf(vec![(i % targets, 1.0 + i as f64)]));
            raw.push(Raw::Leaf(vec![]));
        }
        let roots: Vec<usize> = (0..count).map(|i| 3 * i).collect();
        Forest::new(raw, &roots, 2, targets).expect("trees")
    }

    #[test]
    fn trees_in_groups_add_up_to_what_all_of_them_give() {
        for (count, targets) in [(1, 1), (5, 1), (256, 1), (257, 1), (1000, 3), (7, 200), (4, 300)]
        {
            let forest = stumps(count, targets);
            assert!(forest.trees == count && forest.roots.len().is_multiple_of(forest.grouped));
            let mut graph = Graph::new();
            let x = graph.input("x", Fact::float(vec![Dim::BATCH, Dim::from(2)]));
            let sums = forest.sums(&mut Build::new(&mut graph), x).expect("sums");
            let rows = vec![0.015, 0.5, 2.0, -1.0, 99.0, 99.0];
            let feeds = HashMap::from([(x, Tensor::floats(&[3, 2], rows.clone()).expect("rows"))]);
            let got = graph.eval(&[sums], &feeds, 3).expect("values");
            let mut want = vec![0.0; 3 * targets];
            for (sample, row) in rows.chunks(2).enumerate() {
                for i in (0..count).filter(|i| row[i % 2] > *i as f64 / 100.0) {
                    want[sample * targets + i % targets] += 1.0 + i as f64;
                }
            }
            let got: Vec<f64> = got[0].as_float().expect("floats").iter().copied().collect();
            assert_eq!(got, want, "{count} trees, {targets} targets");
            let layers = graph.nodes().iter().filter(|node| {
                matches!(node.op.calculus(), Calculus::Bilinear(_)) && !node.op.is_elementwise()
            });
            let widths: Vec<usize> =
                layers.map(|node| graph.fact(node.args[0]).shape[1].at(1)).collect();
            let groups = forest.roots.len() / forest.grouped;
            let want = if groups > 1 { vec![groups * targets] } else { vec![] };
            assert_eq!(widths, want, "{count} trees, {targets} targets");
            assert!(widths.iter().all(|w| *w <= PARTS));
        }
    }

    fn branch(yes: usize, no: usize) -> Raw {
        let (rule, missing_follows) = (Rule::Equal, false);
        Raw::Branch(Node { feature: 0, threshold: yes as f64, rule, yes, no, missing_follows })
    }

    #[test]
    fn branches_may_share_what_is_below_them_and_lead_nowhere_else_than_down() {
        let leaf = |weight: f64| Raw::Leaf(vec![(0, weight)]);
        // 3 or 4 in two ways to one leaf.
        let shared = vec![branch(3, 1), branch(3, 2), branch(4, 3), leaf(1.0), leaf(2.0)];
        assert_eq!(Forest::new(shared, &[0], 1, 1).expect("trees").depth, 3);
        // Every branch twice: 2^40 ways of 40 steps, and 40 nodes.
        let mut chain: Vec<Raw> = (0..40).map(|i| branch(i + 1, i + 1)).collect();
        chain.push(leaf(1.0));
        assert_eq!(Forest::new(chain, &[0], 1, 1).expect("trees").depth, 40);
        let around = vec![branch(1, 2), branch(0, 2), leaf(1.0)];
        let message = Forest::new(around, &[0], 1, 1).expect_err("refused").to_string();
        assert!(message.contains("leads back to itself"), "{message}");
        let mut deep: Vec<Raw> = (0..300).map(|i| branch(300, i + 1)).collect();
        deep.push(leaf(1.0));
        let message = Forest::new(deep, &[0], 1, 1).expect_err("refused").to_string();
        assert!(message.contains("deeper than"), "{message}");
    }
}
