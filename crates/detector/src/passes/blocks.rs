//! Sums over blocks of rows, merged along one binary tree however the data were cut.
//!
//! Additions round, so a sum depends on its order. Here the rows k·B to (k + 1)·B are summed one after the other, and blocks
//! are merged as the leaves of a binary tree: [0, 1], [2, 3], then [0…3], and so on. What is a node of that tree depends on
//! the rows alone; so does the result.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};
use taste_stats::{covariance::Covariance, groups::GroupMeans, moments::Moments};

use crate::Error;

/// A sum whose last bits depend on the order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Sum {
    Moments(Moments),
    Covariance(Covariance),
    Classes(GroupMeans),
}

impl Sum {
    fn merge(&mut self, later: &Self) -> Result<(), Error> {
        match (self, later) {
            (Self::Moments(a), Self::Moments(b)) => a.merge(b)?,
            (Self::Covariance(a), Self::Covariance(b)) => a.merge(b)?,
            (Self::Classes(a), Self::Classes(b)) => a.merge(b)?,
            _ => return Err(Error::Parts("states of different passes".to_owned())),
        }
        Ok(())
    }
}

/// A node of the tree, or a fragment of a block, which is no node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Node {
    /// How many levels above the leaves; none for a fragment.
    level: Option<u32>,
    /// One past its last row.
    end: u64,
    sums: Vec<Sum>,
}

/// Sums over some blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Blocks {
    /// Rows of a block.
    size: u64,
    /// By first row.
    nodes: BTreeMap<u64, Node>,
}

impl Blocks {
    pub(super) fn new(size: u64) -> Self {
        Self { size: size.max(1), nodes: BTreeMap::new() }
    }

    /// Adds the sums of some rows: of a whole block, or of a part of one.
    pub(super) fn add(
        &mut self,
        rows: Range<u64>,
        whole: bool,
        sums: Vec<Sum>,
    ) -> Result<(), Error> {
        self.insert(rows.start, Node { level: whole.then_some(0), end: rows.end, sums })
    }

    /// Adds what another part of the data gave.
    pub(super) fn merge(&mut self, other: Self) -> Result<(), Error> {
        if self.size != other.size {
            return Err(Error::Parts("states of different passes".to_owned()));
        }
        other.nodes.into_iter().try_for_each(|(first, node)| self.insert(first, node))
    }

    fn insert(&mut self, mut first: u64, mut node: Node) -> Result<(), Error> {
        let reaches_in = self.nodes.range(..=first).next_back().is_some_and(|(_, n)| n.end > first);
        let reaches_out = self.nodes.range(first..).next().is_some_and(|(f, _)| *f < node.end);
        if reaches_in || reaches_out {
            return Err(Error::Parts(format!("rows from {first} on were counted twice")));
        }
        while let Some(level) = node.level {
            let span = self.size << level;
            let is_left = (first / span).is_multiple_of(2);
            let sibling = if is_left { first + span } else { first - span };
            if self.nodes.get(&sibling).is_none_or(|n| n.level != Some(level)) {
                break;
            }
            let Some(other) = self.nodes.remove(&sibling) else { break };
            let (mut left, right) = if is_left { (node, other) } else { (other, node) };
            for (a, b) in left.sums.iter_mut().zip(&right.sums) {
                a.merge(b)?;
            }
            first = first.min(sibling);
            let end = left.end.max(right.end);
            node = Node { level: Some(level + 1), end, sums: left.sums };
        }
        self.nodes.insert(first, node);
        Ok(())
    }

    /// The sums over all rows, in their order.
    pub(super) fn total(self) -> Result<Option<Vec<Sum>>, Error> {
        let mut nodes = self.nodes.into_values();
        let Some(first) = nodes.next() else { return Ok(None) };
        let mut sums = first.sums;
        for node in nodes {
            for (a, b) in sums.iter_mut().zip(&node.sums) {
                a.merge(b)?;
            }
        }
        Ok(Some(sums))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taste_stats::random::Random;

    use super::*;

    fn leaf(values: &[f64]) -> Vec<Sum> {
        let mut moments = Moments::new(1);
        for &v in values {
            moments.push(&[v]).expect("one column");
        }
        vec![Sum::Moments(moments)]
    }

    /// The rows `from..to` in blocks of 8.
    fn part(rows: &[f64], from: usize, to: usize) -> Blocks {
        let mut blocks = Blocks::new(8);
        let mut start = from;
        while start < to {
            let end = to.min((start / 8 + 1) * 8);
            let whole = end - start == 8;
            blocks.add(start as u64..end as u64, whole, leaf(&rows[start..end])).expect("new");
            start = end;
        }
        blocks
    }

    proptest! {
        #[test]
        fn cuts_at_borders_in_any_order_change_no_bit(
            length in 1usize..200, seed: u64, cuts in prop::collection::vec(0usize..25, 0..6),
        ) {
            let mut random = Random::new(seed);
            let rows: Vec<f64> = (0..length).map(|_| random.normal()).collect();
            let whole = part(&rows, 0, length);
            let mut borders: Vec<usize> = cuts.iter().map(|c| (c * 8).min(length)).collect();
            borders.extend([0, length]);
            borders.sort_unstable();
            let mut parts: Vec<Blocks> =
                borders.windows(2).map(|w| part(&rows, w[0], w[1])).collect();
            let mut merged = Blocks::new(8);
            while !parts.is_empty() {
                let next = parts.swap_remove(random.below(parts.len()));
                merged.merge(next).expect("apart");
            }
            prop_assert_eq!(merged.total().expect("sums"), whole.total().expect("sums"));
        }
    }

    #[test]
    fn a_part_that_comes_twice_is_refused() {
        let rows: Vec<f64> = (0..40).map(f64::from).collect();
        // A fragment, a block within a larger node, parts that overlap on either side.
        for (first, second) in
            [((0, 20), (16, 20)), ((0, 32), (8, 16)), ((4, 7), (0, 5)), ((0, 5), (4, 7))]
        {
            let mut blocks = part(&rows, first.0, first.1);
            let message = blocks.merge(part(&rows, second.0, second.1)).expect_err("twice");
            assert!(message.to_string().contains("counted twice"), "{message}");
        }
    }
}
