//! What a pass gathered of all data.

use std::collections::HashMap;

use taste_stats::{covariance::Covariance, groups::GroupMeans, moments::Moments, tally::Tally};

use super::{
    Drawn, Plan,
    blocks::Sum,
    sketch::Sketch,
    state::{Counts, Kept},
};
use crate::{Error, Profile, refused};

#[derive(Clone, Debug)]
enum Found {
    Moments(Moments),
    Covariance(Covariance),
    Rows(Drawn),
    Range(Vec<(f32, f32)>),
    Values(Tally),
    Classes(GroupMeans),
}

/// What a pass gathered, by the names that were given to it.
#[derive(Clone, Debug)]
pub struct Gathered {
    counts: Counts,
    sketch: Sketch,
    profile: Profile,
    found: HashMap<String, Found>,
}

impl Gathered {
    pub(super) fn new(
        plan: &Plan,
        counts: Counts,
        sketch: Sketch,
        kept: Vec<Kept>,
        sums: &[Sum],
    ) -> Self {
        let names = plan.parts().gathers.iter().map(|g| g.0.clone());
        let found = names.zip(kept).filter_map(|(name, kept)| {
            let found = match kept {
                Kept::Rows(draw) => Found::Rows(draw.finish()),
                Kept::Range { low, high } => Found::Range(low.into_iter().zip(high).collect()),
                Kept::Values(tally) => Found::Values(tally),
                Kept::Sum(place) => match sums.get(place)? {
                    Sum::Moments(moments) => Found::Moments(moments.clone()),
                    Sum::Covariance(covariance) => Found::Covariance(covariance.clone()),
                    Sum::Classes(means) => Found::Classes(means.clone()),
                },
            };
            Some((name, found))
        });
        Self { counts, sketch, profile: Profile::default(), found: found.collect() }
    }

    /// With what the samples looked like.
    pub(super) fn with(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// What the samples looked like.
    pub(crate) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Samples that were looked at.
    pub fn taken(&self) -> usize {
        count(self.counts.taken)
    }

    /// Samples that counted.
    pub fn used(&self) -> usize {
        self.taken() - self.bad_inputs() - self.bad_values()
    }

    /// Samples with entries that are NaN or infinite.
    pub fn bad_inputs(&self) -> usize {
        count(self.counts.bad_inputs)
    }

    /// Samples with finite entries whose values are not.
    pub fn bad_values(&self) -> usize {
        count(self.counts.bad_values)
    }

    /// What the samples were, by hashes.
    pub(crate) fn sketch(&self) -> &Sketch {
        &self.sketch
    }

    /// Rows of the whole data set, and the sum of the hashes of their keys.
    pub(crate) fn offered(&self) -> (u64, u64) {
        (self.counts.offered, self.counts.checksum)
    }

    /// Moments under a name.
    pub fn moments(&self, name: &str) -> Result<&Moments, Error> {
        match self.found.get(name) {
            Some(Found::Moments(found)) => Ok(found),
            _ => Err(self.missing(name)),
        }
    }

    /// A covariance under a name.
    pub fn covariance(&self, name: &str) -> Result<&Covariance, Error> {
        match self.found.get(name) {
            Some(Found::Covariance(found)) => Ok(found),
            _ => Err(self.missing(name)),
        }
    }

    /// Rows under a name.
    pub fn rows(&self, name: &str) -> Result<&Drawn, Error> {
        match self.found.get(name) {
            Some(Found::Rows(found)) => Ok(found),
            _ => Err(self.missing(name)),
        }
    }

    /// Smallest and largest values under a name.
    pub fn range(&self, name: &str) -> Result<&[(f32, f32)], Error> {
        match self.found.get(name) {
            Some(Found::Range(found)) => Ok(found),
            _ => Err(self.missing(name)),
        }
    }

    /// How often values occur, under a name.
    pub fn values(&self, name: &str) -> Result<&Tally, Error> {
        match self.found.get(name) {
            Some(Found::Values(found)) => Ok(found),
            _ => Err(self.missing(name)),
        }
    }

    /// Means by class under a name.
    pub fn classes(&self, name: &str) -> Result<&GroupMeans, Error> {
        match self.found.get(name) {
            Some(Found::Classes(found)) => Ok(found),
            _ => Err(self.missing(name)),
        }
    }

    /// A name that nothing is under: no sample counted, or nothing was gathered so.
    fn missing(&self, name: &str) -> Error {
        if self.used() == 0 {
            return refused(format!(
                "none of {} samples has finite entries and values, so there is nothing to learn from",
                self.taken()
            ));
        }
        refused(format!("nothing was gathered under {name:?}"))
    }
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
