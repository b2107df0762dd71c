//! The last samples, so that it can be told what those behind an alarm differ in.

use std::collections::VecDeque;

use ndarray::{ArrayD, Axis, Slice};
use taste_detector::{Detector, Scorer, shift::Batch};

use crate::{Alarm, Reason};

/// Permutations of a test whose p-value is not looked at.
const PERMUTATIONS: usize = 19;
/// Reasons of each sort.
const TOLD: usize = 3;
/// Samples that are looked at.
const LOOKED_AT: u64 = 2000;

/// The last samples, within some bytes of memory. What is not kept is not told of; evidence does not depend on it.
#[derive(Debug)]
pub struct Kept {
    most: usize,
    bytes: usize,
    /// Samples in a row, with the number of the first in the stream.
    chunks: VecDeque<(u64, ArrayD<f32>)>,
}

impl Kept {
    /// At most so many bytes, or the last batch.
    pub fn new(most: usize) -> Self {
        Self { most, bytes: 0, chunks: VecDeque::new() }
    }

    /// Keeps samples, along the first axis, that were counted from a number on: [`Outcome::first`](crate::Outcome::first).
    pub fn push(&mut self, first: u64, samples: ArrayD<f32>) {
        self.bytes += 4 * samples.len();
        self.chunks.push_back((first, samples));
        while self.bytes > self.most && self.chunks.len() > 1 {
            if let Some((_, old)) = self.chunks.pop_front() {
                self.bytes -= 4 * old.len();
            }
        }
    }

    /// What the samples from the likely beginning of a change up to its alarm differ in: terms of the score, columns of a
    /// table, entries of the map. Empty where none of them is kept. The scorer should give maps, if the detector has any.
    pub fn reasons(
        &self,
        detector: &Detector,
        scorer: &Scorer,
        alarm: &Alarm,
    ) -> Result<Vec<Reason>, taste_detector::Error> {
        let from = alarm.began.map_or(alarm.raised.sample, |b| b.likely.sample);
        let from = from.max((alarm.raised.sample + 1).saturating_sub(LOOKED_AT));
        let mut batch = Batch::new(detector, 0);
        for (first, samples) in &self.chunks {
            let rows = samples.len_of(Axis(0));
            let place = |sample: u64| {
                usize::try_from(sample.saturating_sub(*first)).unwrap_or(usize::MAX).min(rows)
            };
            let (start, end) = (place(from), place(alarm.raised.sample + 1));
            if start < end {
                let some = samples.slice_axis(Axis(0), Slice::from(start..end));
                let scores = scorer.score(some.view())?;
                batch.add(&some, &scores)?;
            }
        }
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let found = batch.test(PERMUTATIONS)?.information;
        let terms = found.terms.into_iter().filter(|term| term.effect > 0.0).take(TOLD);
        let mut reasons: Vec<Reason> =
            terms.map(|term| Reason { name: term.name, effect: term.effect }).collect();
        let columns = found.columns.into_iter().filter(|c| c.adjusted_p_value <= 0.05).take(TOLD);
        reasons.extend(
            columns.map(|c| Reason { name: format!("column {}", c.name), effect: c.distance }),
        );
        // Columns of a table are told of already.
        let entries = found.entries.filter(|_| detector.margins().is_none());
        let entries = entries.map_or_else(Vec::new, |entries| entries.list);
        reasons.extend(entries.into_iter().take(TOLD).map(|entry| {
            let place: Vec<String> = entry.position.iter().map(ToString::to_string).collect();
            let name = entry.name.unwrap_or_else(|| format!("pixel ({})", place.join(", ")));
            Reason { name, effect: entry.effect }
        }));
        Ok(reasons)
    }
}
