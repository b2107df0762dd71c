//! The last ranks, from which it is told when a change began.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Moment;
use crate::{
    origin::Origin,
    sequential::{Evidence, Rank},
};

/// Samples in a block.
const BLOCK: usize = 1024;
/// Blocks that are kept.
const BLOCKS: usize = 16;

/// The ranks of some samples in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Block {
    /// For every stream, the largest products of bets just before the block.
    before: Vec<Vec<f64>>,
    /// By stream.
    ranks: Vec<Vec<Rank>>,
    /// The number of every sample in the stream.
    samples: Vec<u64>,
}

/// Samples that came together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Arrival {
    /// The first of them, and when.
    at: Moment,
    origin: Origin,
    names: Vec<String>,
}

/// The ranks since the last restart, or the last sixteen thousand of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recent {
    blocks: VecDeque<Block>,
    arrivals: VecDeque<Arrival>,
}

impl Recent {
    /// Before a sample is taken: `streams` are the evidence up to it.
    pub(crate) fn push(&mut self, sample: u64, ranks: &[Rank], streams: &[Evidence]) {
        if self.blocks.back().is_none_or(|block| block.samples.len() == BLOCK) {
            self.blocks.push_back(Block {
                before: streams.iter().map(|e| e.log_largest().to_vec()).collect(),
                ranks: vec![Vec::new(); ranks.len()],
                samples: Vec::new(),
            });
            if self.blocks.len() > BLOCKS {
                self.blocks.pop_front();
                self.forget();
            }
        }
        if let Some(block) = self.blocks.back_mut() {
            block.samples.push(sample);
            block.ranks.iter_mut().zip(ranks).for_each(|(list, rank)| list.push(*rank));
        }
    }

    /// Arrivals before the first sample that is kept go.
    fn forget(&mut self) {
        let first = self.blocks.front().and_then(|b| b.samples.first()).copied().unwrap_or(0);
        while self.arrivals.get(1).is_some_and(|next| next.at.sample <= first) {
            self.arrivals.pop_front();
        }
    }

    /// Notes where the samples from a number on came from.
    pub(crate) fn arrive(&mut self, at: Moment, origin: &Origin, names: &[String]) {
        self.arrivals.push_back(Arrival { at, origin: origin.clone(), names: names.to_vec() });
    }

    /// When a sample came, and what it is called.
    pub(crate) fn locate(&self, sample: u64) -> Option<(Moment, String)> {
        let place = self.arrivals.partition_point(|a| a.at.sample <= sample).checked_sub(1)?;
        let arrival = self.arrivals.get(place)?;
        let position = usize::try_from(sample - arrival.at.sample).ok()?;
        let own = arrival.names.get(position).cloned();
        let name = own.unwrap_or_else(|| arrival.origin.label(position));
        Some((Moment { sample, time: arrival.at.time }, name))
    }

    /// The products of bets before the first sample, the ranks of a stream, and the numbers of their samples.
    pub(crate) fn stream(&self, stream: usize) -> (Vec<f64>, Vec<Rank>, Vec<u64>) {
        let before = self.blocks.front().map_or_else(Vec::new, |b| b.before[stream].clone());
        let ranks = self.blocks.iter().flat_map(|b| b.ranks[stream].iter().copied()).collect();
        let samples = self.blocks.iter().flat_map(|b| b.samples.iter().copied()).collect();
        (before, ranks, samples)
    }

    /// Begins anew; where the samples at hand came from stays known.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        let last = self.arrivals.pop_back();
        self.arrivals.clear();
        self.arrivals.extend(last);
    }
}
