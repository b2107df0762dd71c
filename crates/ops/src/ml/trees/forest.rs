//! Trees as tables of nodes, leaves first.

use std::collections::HashMap;

use taste_graph::OpError;

use super::PARTS;

/// Trees deeper than this are not written out, one step a level.
const DEEPEST: usize = 256;

/// What a branch asks of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    AtMost,
    Less,
    AtLeast,
    Greater,
    Equal,
    Unequal,
}

impl Rule {
    /// By the name in a file; nothing stands for a leaf.
    pub(super) fn named(name: &str) -> Result<Option<Self>, OpError> {
        Ok(Some(match name {
            "BRANCH_LEQ" => Self::AtMost,
            "BRANCH_LT" => Self::Less,
            "BRANCH_GTE" => Self::AtLeast,
            "BRANCH_GT" => Self::Greater,
            "BRANCH_EQ" => Self::Equal,
            "BRANCH_NEQ" => Self::Unequal,
            "LEAF" => return Ok(None),
            _ => return Err(OpError::unsupported("a rule of a node", name)),
        }))
    }

    /// By the number in a file.
    pub(super) fn numbered(number: i64) -> Result<Self, OpError> {
        let all =
            [Self::AtMost, Self::Less, Self::AtLeast, Self::Greater, Self::Equal, Self::Unequal];
        usize::try_from(number)
            .ok()
            .and_then(|n| all.get(n).copied())
            .ok_or_else(|| OpError::unsupported("a rule of a node", number))
    }
}

/// A node; a leaf leads to itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) feature: usize,
    pub(super) threshold: f64,
    pub(super) rule: Rule,
    pub(super) yes: usize,
    pub(super) no: usize,
    /// Whether a missing value goes where the rule holds.
    pub(super) missing_follows: bool,
}

/// A node as a file has it: a branch, or a leaf with its weights by target.
#[derive(Clone, Debug)]
pub(super) enum Raw {
    Branch(Node),
    Leaf(Vec<(usize, f64)>),
}

/// Trees over the same entries.
#[derive(Debug)]
pub(super) struct Forest {
    /// Leaves first, then branches.
    pub(super) nodes: Vec<Node>,
    /// As many as groups have in all; what the last lacks are leaves without weights.
    pub(super) roots: Vec<usize>,
    /// Trees of the file.
    pub(super) trees: usize,
    /// Trees of a group.
    pub(super) grouped: usize,
    /// Weights by target of each leaf.
    pub(super) leaves: Vec<Vec<(usize, f64)>>,
    pub(super) targets: usize,
    /// Steps from the roots to the furthest leaf.
    pub(super) depth: usize,
}

impl Forest {
    /// Numbers the nodes anew, and checks that every way ends at a leaf and looks at `features` entries only.
    pub(super) fn new(
        mut raw: Vec<Raw>,
        roots: &[usize],
        features: usize,
        targets: usize,
    ) -> Result<Self, OpError> {
        let (trees, mut roots) = (roots.len(), roots.to_vec());
        let groups = (PARTS / targets.max(1)).clamp(1, trees.max(1));
        let grouped = trees.div_ceil(groups).max(1);
        let lacking = trees.div_ceil(grouped) * grouped - trees;
        roots.extend(raw.len()..raw.len() + lacking);
        raw.extend((0..lacking).map(|_| Raw::Leaf(Vec::new())));
        let mut number = HashMap::with_capacity(raw.len());
        let is_leaf = |n: &&usize| matches!(raw[**n], Raw::Leaf(_));
        let all: Vec<usize> = (0..raw.len()).collect();
        let branches = all.iter().filter(|n| !is_leaf(n));
        for old in all.iter().filter(is_leaf).chain(branches) {
            number.insert(*old, number.len());
        }
        let to = |old: usize| {
            number.get(&old).copied().ok_or_else(|| OpError::invalid(format!("no node {old}")))
        };
        let roots = roots.iter().map(|&r| to(r)).collect::<Result<Vec<_>, _>>()?;
        let mut nodes = Vec::with_capacity(raw.len());
        let (mut leaves, mut branches) = (Vec::new(), Vec::new());
        for node in raw {
            match node {
                Raw::Leaf(weights) => {
                    if let Some((target, _)) = weights.iter().find(|(t, _)| *t >= targets) {
                        return Err(OpError::shape("a target below", targets, target));
                    }
                    let own = leaves.len();
                    leaves.push(weights);
                    let rule = Rule::AtMost;
                    nodes.push(Node {
                        feature: 0,
                        threshold: 0.0,
                        rule,
                        yes: own,
                        no: own,
                        missing_follows: false,
                    });
                }
                Raw::Branch(node) if node.feature >= features => {
                    return Err(OpError::shape("a feature below", features, node.feature));
                }
                Raw::Branch(node) => {
                    branches.push(Node { yes: to(node.yes)?, no: to(node.no)?, ..node });
                }
            }
        }
        nodes.extend(branches);
        // Leaves have no rule of their own: that of the branches does for them.
        if let Some(rule) = nodes.get(leaves.len()).map(|n| n.rule) {
            nodes.iter_mut().take(leaves.len()).for_each(|n| n.rule = rule);
        }
        let mut forest = Self { nodes, roots, trees, grouped, leaves, targets, depth: 0 };
        forest.depth = forest.measure()?;
        Ok(forest)
    }

    /// The nodes that ask something.
    pub(super) fn branches(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().skip(self.leaves.len())
    }

    /// Steps from a root to the furthest leaf. Branches may share what is below them, as categories of `LightGBM` do:
    /// each node is looked at once, and fails if it leads back to itself.
    fn measure(&self) -> Result<usize, OpError> {
        let mut below: Vec<Option<usize>> = vec![None; self.nodes.len()];
        below[..self.leaves.len()].fill(Some(0));
        let mut opened = vec![false; self.nodes.len()];
        let mut stack = self.roots.clone();
        while let Some(&n) = stack.last() {
            let Node { yes, no, .. } = self.nodes[n];
            match (below[n], below[yes], below[no]) {
                (Some(_), ..) => {
                    stack.pop();
                }
                (None, Some(yes), Some(no)) if yes.max(no) < DEEPEST => {
                    below[n] = Some(yes.max(no) + 1);
                }
                (None, Some(_), Some(_)) => {
                    return Err(OpError::unsupported("a tree deeper than", DEEPEST));
                }
                _ if std::mem::replace(&mut opened[n], true) => {
                    return Err(OpError::invalid("a node of a tree leads back to itself"));
                }
                _ => stack.extend([yes, no].into_iter().filter(|&child| below[child].is_none())),
            }
        }
        Ok(self.roots.iter().filter_map(|&r| below[r]).max().unwrap_or(0))
    }
}
