//! The samples that are furthest out.

use serde::{Deserialize, Serialize};

use super::Moment;

/// How many are kept.
pub(crate) const KEPT: usize = 16;

/// A sample that is far out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// Which sample of the stream, and when.
    pub at: Moment,
    /// What it is called: the request or the file, and its place there.
    pub name: String,
    /// The score; what is no number is +∞, which JSON writes as null.
    pub score: f64,
    /// Its conformal p-value.
    pub p_value: f64,
    /// Whether the detector flags it.
    pub flagged: bool,
}

/// The samples with the largest scores since the last restart, the worst first; of equals the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorstSamples(Vec<Worst>);

impl WorstSamples {
    /// Positions of a batch's scores that would be kept.
    pub(crate) fn entering(&self, scores: &[f64]) -> Vec<usize> {
        let mut best: Vec<f64> = self.0.iter().map(|w| w.score).collect();
        let mut entering = Vec::new();
        for (position, &score) in scores.iter().enumerate() {
            let score = if score.is_nan() { f64::INFINITY } else { score };
            let place = best.partition_point(|b| *b >= score);
            if place < KEPT {
                best.insert(place, score);
                best.truncate(KEPT);
                entering.push(position);
            }
        }
        entering
    }

    pub(crate) fn insert(&mut self, worst: Worst) {
        let place = self.0.partition_point(|w| w.score >= worst.score);
        self.0.insert(place, worst);
        self.0.truncate(KEPT);
    }

    pub(crate) fn list(&self) -> &[Worst] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
