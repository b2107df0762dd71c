//! What was gathered of a part of the data.

use serde::{Deserialize, Serialize};
use taste_stats::tally::Tally;

use super::{
    Gathered, Plan,
    blocks::{Blocks, Sum},
    drawn::Draw,
    sketch::Sketch,
};
use crate::{Error, Profile, refused};

/// What was gathered of a value, where the order does not matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Kept {
    /// This one is among the sums of the blocks, at this place.
    Sum(usize),
    Rows(Draw),
    Range {
        low: Vec<f32>,
        high: Vec<f32>,
    },
    Values(Tally),
}

/// How many samples were looked at, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Samples that were offered, and the wrapping sum of the hashes of their keys.
    pub(super) offered: u64,
    pub(super) checksum: u64,
    /// Samples of the plan's share.
    pub(super) taken: u64,
    /// Of those, samples with entries that are no numbers.
    pub(super) bad_inputs: u64,
    /// Of those, samples with finite entries and a value that is no number.
    pub(super) bad_values: u64,
}

/// What a pass gathered of a part of the data. States of all parts merge in any order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(super) plan: u64,
    pub(super) counts: Counts,
    pub(super) kept: Vec<Kept>,
    pub(super) blocks: Blocks,
    pub(super) sketch: Sketch,
    pub(super) profile: Profile,
}

impl State {
    /// Adds what another part of the data gave.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        if self.plan != other.plan {
            return Err(Error::Parts("states of different passes".to_owned()));
        }
        let (a, b) = (&mut self.counts, other.counts);
        a.offered += b.offered;
        a.checksum = a.checksum.wrapping_add(b.checksum);
        a.taken += b.taken;
        a.bad_inputs += b.bad_inputs;
        a.bad_values += b.bad_values;
        self.sketch.merge(&other.sketch);
        self.profile.merge(&other.profile);
        // A part without samples of the plan's share has nothing to merge.
        if self.kept.is_empty() {
            self.kept = other.kept;
            return self.blocks.merge(other.blocks);
        }
        for (own, new) in self.kept.iter_mut().zip(other.kept) {
            match (own, new) {
                (Kept::Rows(a), Kept::Rows(b)) => a.merge(b).map_err(|key| {
                    Error::Parts(format!("the sample with the key {key} was counted twice"))
                })?,
                (Kept::Range { low, high }, Kept::Range { low: l, high: h }) => {
                    low.iter_mut().zip(l).for_each(|(a, b)| *a = a.min(b));
                    high.iter_mut().zip(h).for_each(|(a, b)| *a = a.max(b));
                }
                (Kept::Values(a), Kept::Values(b)) => a.merge(b),
                _ => {}
            }
        }
        self.blocks.merge(other.blocks)
    }

    /// How many samples were offered, of the plan's share or not.
    pub fn rows(&self) -> u64 {
        self.counts.offered
    }

    /// The wrapping sum of the hashes of the keys of all samples that were offered.
    pub fn checksum(&self) -> u64 {
        self.counts.checksum
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        postcard::to_stdvec(self).map_err(|e| refused(format!("the state can't be written: {e}")))
    }

    /// From [`State::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        postcard::from_bytes(bytes).map_err(|e| refused(format!("this is no state of a pass: {e}")))
    }

    /// What was gathered of all data.
    pub(crate) fn finish(self, plan: &Plan) -> Result<Gathered, Error> {
        if self.plan != plan.id() {
            return Err(Error::Parts("the state of another pass".to_owned()));
        }
        let sums: Vec<Sum> = self.blocks.total()?.unwrap_or_default();
        Ok(Gathered::new(plan, self.counts, self.sketch, self.kept, &sums).with(self.profile))
    }
}
