//! Tests of many batches.

use serde::Serialize;
use taste_data::Samples;
use taste_stats::multiple::holm;

use super::{Batch, Shift};
use crate::{Detector, Error, Progress, Scorer, error::unfit, refused};

/// How batches are tested.
#[derive(Clone, Debug, PartialEq)]
pub struct TestSettings {
    /// A batch differs if its p-value, adjusted for the number of batches, is at most this.
    pub alpha: f64,
    /// Shifts that are smaller than this, in standard deviations of calibration samples, pass.
    pub least_effect: f64,
    /// Random splits of batch and calibration samples that the batch is compared with.
    pub permutations: usize,
    /// Cuts each data set into batches of this many samples.
    pub batch_size: Option<usize>,
    /// The seed of the permutations.
    pub seed: u64,
}

impl TestSettings {
    /// The defaults for a detector.
    pub fn of(detector: &Detector) -> Self {
        Self {
            alpha: detector.manifest().decision.alpha.unwrap_or(0.05),
            least_effect: 0.0,
            permutations: taste_stats::permutation::PERMUTATIONS,
            batch_size: None,
            seed: 0,
        }
    }

    /// The smallest p-value that the permutations can give.
    pub fn least_p_value(&self) -> f64 {
        1.0 / (self.permutations as f64 + 1.0)
    }

    /// How many permutations can give an adjusted p-value of at most alpha for so many batches.
    pub fn permutations_for(&self, batches: usize) -> usize {
        let needed = taste_stats::conformal::samples_needed(self.alpha / batches.max(1) as f64);
        usize::try_from(needed).unwrap_or(usize::MAX)
    }

    fn check(&self) -> Result<(), Error> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            let message = format!("alpha lies between 0 and 1, and is {}", self.alpha);
            return Err(unfit("alpha", message));
        }
        if self.least_effect.is_nan() || self.least_effect < 0.0 {
            let message = format!(
                "the least effect is a number of standard deviations from 0 on, and not {}",
                self.least_effect
            );
            return Err(unfit("least-effect", message));
        }
        if self.least_p_value() > self.alpha {
            let message = format!(
                "{} permutations give no p-value below {:.3}: {} or more can reach alpha = {}",
                self.permutations,
                self.least_p_value(),
                self.permutations_for(1),
                self.alpha
            );
            return Err(unfit("permutations", message));
        }
        Ok(())
    }
}

/// A batch that was tested.
#[derive(Clone, Debug, Serialize)]
pub struct Tested {
    /// The data set.
    pub data: String,
    /// The number of the first sample, where a data set is cut into batches.
    pub first: usize,
    /// Whether it differs by more than chance explains.
    pub seen: bool,
    /// Whether it differs by as much as was asked for, too.
    pub shifted: bool,
    /// What the test says.
    #[serde(flatten)]
    pub shift: Shift,
}

/// Batches that are tested together.
#[derive(Debug)]
pub struct Session<'d> {
    detector: &'d Detector,
    settings: TestSettings,
    batches: Vec<Tested>,
}

impl<'d> Session<'d> {
    /// No batches yet.
    pub fn new(detector: &'d Detector, settings: TestSettings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { detector, settings, batches: Vec::new() })
    }

    /// Scores a data set and adds it, whole or in batches.
    pub fn add(
        &mut self,
        scorer: &Scorer,
        data: &dyn Samples,
        chunk: usize,
        progress: &Progress<'_>,
    ) -> Result<(), Error> {
        let size = self.settings.batch_size.unwrap_or(usize::MAX).max(1);
        let mut current = Batch::new(self.detector, self.settings.seed);
        let mut first = 0;
        scorer.each(data, chunk, progress, |chunk, scores| {
            let mut start = 0;
            while start < chunk.len() {
                let end = chunk.len().min(start.saturating_add(size - current.len()));
                current.add(&scores.rows(start, end))?;
                if current.len() >= size {
                    self.test(data.name(), first, &current)?;
                    first += current.len();
                    current = Batch::new(self.detector, self.settings.seed);
                }
                start = end;
            }
            Ok::<(), Error>(())
        })?;
        if !current.is_empty() {
            self.test(data.name(), first, &current)?;
        }
        Ok(())
    }

    /// Tests a batch that was gathered elsewhere.
    pub fn test(&mut self, data: &str, first: usize, batch: &Batch<'_>) -> Result<(), Error> {
        let shift = batch.test(self.settings.permutations).map_err(|e| match e {
            Error::Request(message) => refused(format!("{data}: {message}")),
            other => other,
        })?;
        let data = data.to_owned();
        self.batches.push(Tested { data, first, seen: false, shifted: false, shift });
        Ok(())
    }

    /// The verdicts: p-values are adjusted for the number of batches (Holm 1979).
    pub fn finish(mut self) -> Vec<Tested> {
        let raw: Vec<f64> = self.batches.iter().map(|b| b.shift.p_value).collect();
        for (batch, adjusted) in self.batches.iter_mut().zip(holm(&raw)) {
            batch.shift.adjusted_p_value = adjusted;
            batch.seen = adjusted <= self.settings.alpha;
            let effect = batch.shift.effect().abs();
            batch.shifted = batch.seen && effect >= self.settings.least_effect;
        }
        self.batches
    }
}
