//! The last samples, so that it can be told what those behind an alarm differ in.

use std::collections::VecDeque;

use ndarray::{ArrayD, Axis, Slice};
use taste_detector::{Detector, Scores, shift::Batch};

use crate::{Alarm, Reason};

/// Permutations of a test whose p-value is not looked at.
const PERMUTATIONS: usize = 19;
/// Reasons of each sort.
const TOLD: usize = 3;

/// The last samples with what the detector said of them, within some bytes of memory. What is not kept is not told of; the
/// evidence does not depend on it.
#[derive(Debug)]
pub struct Kept {
    most: usize,
    bytes: usize,
    chunks: VecDeque<Chunk>,
}

#[derive(Debug)]
struct Chunk {
    /// The number of the first sample in the stream.
    first: u64,
    samples: ArrayD<f32>,
    scores: Scores,
}

impl Chunk {
    fn bytes(&self) -> usize {
        let map = self.scores.map.as_ref().map_or(0, ArrayD::len);
        let parts: usize = self.scores.parts.iter().map(|(_, values)| values.len()).sum();
        4 * (self.samples.len() + map + parts + 4 * self.scores.len())
    }
}

impl Kept {
    /// At most so many bytes.
    pub fn new(most: usize) -> Self {
        Self { most, bytes: 0, chunks: VecDeque::new() }
    }

    /// Keeps samples, along the first axis, that were counted from a number on: [`Outcome::first`](crate::Outcome::first).
    pub fn push(&mut self, first: u64, samples: ArrayD<f32>, scores: Scores) {
        let chunk = Chunk { first, samples, scores };
        self.bytes += chunk.bytes();
        self.chunks.push_back(chunk);
        while self.bytes > self.most && self.chunks.len() > 1 {
            if let Some(old) = self.chunks.pop_front() {
                self.bytes -= old.bytes();
            }
        }
    }

    /// What the samples from the likely beginning of a change up to its alarm differ in: terms of the score, columns of a
    /// table, entries of the map. Empty where none of them is kept.
    pub fn reasons(
        &self,
        detector: &Detector,
        alarm: &Alarm,
    ) -> Result<Vec<Reason>, taste_detector::Error> {
        let from = alarm.began.map_or(alarm.raised.sample, |b| b.likely.sample);
        let mut batch = Batch::new(detector, 0);
        for chunk in &self.chunks {
            let place = |sample: u64| {
                let place = sample.saturating_sub(chunk.first).min(chunk.scores.len() as u64);
                usize::try_from(place).unwrap_or(usize::MAX)
            };
            let (start, end) = (place(from), place(alarm.raised.sample + 1));
            if start < end {
                let samples = chunk.samples.slice_axis(Axis(0), Slice::from(start..end));
                batch.add(&samples, &chunk.scores.rows(start, end))?;
            }
        }
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let found = batch.test(PERMUTATIONS)?.information;
        let mut reasons: Vec<Reason> = found
            .terms
            .into_iter()
            .filter(|term| term.effect > 0.0)
            .take(TOLD)
            .map(|term| Reason { name: term.name, effect: term.effect })
            .collect();
        let columns = found.columns.into_iter().filter(|c| c.adjusted_p_value <= 0.05);
        reasons.extend(
            columns
                .take(TOLD)
                .map(|c| Reason { name: format!("column {}", c.name), effect: c.distance }),
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
