//! The worst samples themselves, where they may be kept.

use std::{collections::BTreeMap, sync::Arc};

use ndarray::{ArrayD, Axis};
use taste_monitor::{Outcome, View};

/// Samples by their number in the stream.
#[derive(Debug)]
pub(crate) struct Kept {
    most: usize,
    samples: BTreeMap<u64, Arc<ArrayD<f32>>>,
}

impl Kept {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, samples: BTreeMap::new() }
    }

    /// Whether samples are kept at all.
    pub(crate) fn keeps(&self) -> bool {
        self.most > 0
    }

    /// Keeps those of a batch that are among the worst.
    pub(crate) fn offer(&mut self, outcome: &Outcome, samples: &ArrayD<f32>) {
        if !self.keeps() {
            return;
        }
        for &position in outcome.worst.iter().filter(|p| **p < samples.shape()[0]) {
            let sample = samples.index_axis(Axis(0), position).to_owned();
            self.samples.insert(outcome.first + position as u64, Arc::new(sample));
        }
    }

    /// The samples that a page shows, with their places among the worst; forgets those that are no longer there.
    pub(crate) fn shown(&mut self, view: &View) -> Vec<(usize, Arc<ArrayD<f32>>)> {
        self.samples.retain(|number, _| view.worst.iter().any(|w| w.at.sample == *number));
        let kept = view.worst.iter().enumerate().take(self.most);
        kept.filter_map(|(place, worst)| {
            self.samples.get(&worst.at.sample).map(|sample| (place, Arc::clone(sample)))
        })
        .collect()
    }
}
