//! Tests of many batches.

use std::collections::BTreeMap;

use serde::Serialize;
use taste_data::{Chunk, Samples};
use taste_stats::{evidence::Evidence, multiple::holm};

use super::{Batch, By, Shift, Verdict, batch::usual_scores, by::in_order};
use crate::{Detector, Error, Progress, Scorer, error::unfit, refused};

/// The most segments of one data set, and the most samples that are drawn from each.
const MOST_SEGMENTS: usize = 1000;
const DRAWN_OF_SEGMENT: usize = 5000;
/// A segment with fewer samples is not tested.
const LEAST_IN_SEGMENT: usize = 2;
/// Batches whose p-value is at most so many times the least that the permutations can give are looked at again, with more of
/// them, where there are many batches; and the most permutations of such a look.
const AT_THE_END: f64 = 5.0;
const MOST_PERMUTATIONS: usize = 400_000;

/// How batches are tested.
#[derive(Clone, Debug, PartialEq)]
pub struct TestSettings {
    /// A batch may differ if its p-value, adjusted for the number of batches, is at most this.
    pub alpha: f64,
    /// An effect, in standard deviations of calibration samples, that the nearer end of its interval must reach to be a
    /// shift. With 0, the p-value alone decides.
    pub least_effect: f64,
    /// Random splits of batch and calibration samples that the batch is compared with. One that is further out than nearly
    /// all of them is compared with more where there are many batches.
    pub permutations: usize,
    /// Cuts each data set into batches of this many samples.
    pub batch_size: Option<usize>,
    /// Divides each data set by the values of a column, which the data must have been opened to keep.
    pub by: Option<By>,
    /// The seed of the permutations.
    pub seed: u64,
}

impl TestSettings {
    /// The least effect if nothing is said: smaller ones are called negligible (Cohen 1988).
    pub const LEAST_EFFECT: f64 = 0.2;

    /// The defaults for a detector.
    pub fn of(detector: &Detector) -> Self {
        Self {
            alpha: detector.manifest().decision.alpha.unwrap_or(0.05),
            least_effect: Self::LEAST_EFFECT,
            permutations: taste_stats::permutation::PERMUTATIONS,
            batch_size: None,
            by: None,
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
    /// The value that the samples share, where a data set is divided by a column.
    pub segment: Option<String>,
    /// What the test says.
    #[serde(flatten)]
    pub shift: Shift,
}

/// A segment with too few samples to test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TooSmall {
    /// The data set.
    pub data: String,
    /// The value that the samples share.
    pub segment: String,
    /// Samples in the segment.
    pub samples: usize,
}

/// What tests of many batches say.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tests {
    /// The batches, in their order.
    pub batches: Vec<Tested>,
    /// Segments that were not tested.
    pub too_small: Vec<TooSmall>,
}

/// Batches that are tested together.
#[derive(Debug)]
pub struct Session<'d> {
    detector: &'d Detector,
    settings: TestSettings,
    tests: Tests,
    /// Batches that more permutations may tell apart from chance, by their numbers, with their scores.
    far: Vec<(usize, Vec<f64>)>,
}

impl<'d> Session<'d> {
    /// No batches yet.
    pub fn new(detector: &'d Detector, settings: TestSettings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { detector, settings, tests: Tests::default(), far: Vec::new() })
    }

    /// Scores a data set and adds it: whole, in batches, or divided by a column.
    pub fn add(
        &mut self,
        scorer: &Scorer,
        data: &dyn Samples,
        chunk: usize,
        progress: &Progress<'_>,
    ) -> Result<(), Error> {
        match self.settings.by.clone() {
            Some(by) => self.add_segments(&by, scorer, data, chunk, progress),
            None => self.add_batches(scorer, data, chunk, progress),
        }
    }

    fn add_batches(
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
                let samples = chunk.values.slice_axis(ndarray::Axis(0), (start..end).into());
                current.add(&samples, &scores.rows(start, end))?;
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

    fn add_segments(
        &mut self,
        by: &By,
        scorer: &Scorer,
        data: &dyn Samples,
        chunk: usize,
        progress: &Progress<'_>,
    ) -> Result<(), Error> {
        let (detector, seed) = (self.detector, self.settings.seed);
        let mut segments: BTreeMap<String, Batch<'d>> = BTreeMap::new();
        scorer.each(data, chunk, progress, |chunk, scores| {
            for (name, rows) in divided(by, chunk)? {
                if segments.len() >= MOST_SEGMENTS && !segments.contains_key(name) {
                    let message = format!(
                        "{}: column {:?} has more than {MOST_SEGMENTS} different values: divide by a column with few, or \
                         by a part of dates",
                        data.name(),
                        by.column
                    );
                    return Err(unfit("by", message));
                }
                let batch = segments
                    .entry(name.to_owned())
                    .or_insert_with(|| Batch::with_most(detector, seed, DRAWN_OF_SEGMENT));
                let samples = chunk.values.select(ndarray::Axis(0), &rows);
                batch.add(&samples.view(), &scores.select(&rows))?;
            }
            Ok(())
        })?;
        let mut names: Vec<String> = segments.keys().cloned().collect();
        in_order(&mut names);
        for name in names {
            let batch = &segments[&name];
            if batch.len() < LEAST_IN_SEGMENT {
                let data = data.name().to_owned();
                self.tests.too_small.push(TooSmall { data, segment: name, samples: batch.len() });
                continue;
            }
            self.test_segment(data.name(), 0, Some(name), batch)?;
        }
        Ok(())
    }

    /// Tests a batch that was gathered elsewhere.
    pub fn test(&mut self, data: &str, first: usize, batch: &Batch<'_>) -> Result<(), Error> {
        self.test_segment(data, first, None, batch)
    }

    fn test_segment(
        &mut self,
        data: &str,
        first: usize,
        segment: Option<String>,
        batch: &Batch<'_>,
    ) -> Result<(), Error> {
        let shift = batch.test(self.settings.permutations).map_err(|e| match e {
            Error::Request(message) => refused(format!("{data}: {message}")),
            other => other,
        })?;
        if shift.p_value <= AT_THE_END * self.settings.least_p_value() {
            self.far.push((self.tests.batches.len(), batch.scores()));
        }
        self.tests.batches.push(Tested { data: data.to_owned(), first, segment, shift });
        Ok(())
    }

    /// Looks again at batches that are furthest out, where so many batches were tested that no p-value could be small enough.
    /// A p-value is that of the second look if the first was small, so that it is at most α with a chance of at most α.
    fn look_again(&mut self) -> Result<(), Error> {
        let batches = self.tests.batches.len();
        if self.settings.least_p_value() * batches as f64 <= self.settings.alpha {
            return Ok(());
        }
        // Twice what is needed, as chance alone may be as far out once.
        let permutations = (2 * self.settings.permutations_for(batches)).min(MOST_PERMUTATIONS);
        let usual = usual_scores(self.detector);
        let tolerance = self.detector.manifest().decision.tolerance;
        for (number, scores) in &self.far {
            let evidence = Evidence::of(&usual, scores, tolerance)?;
            let found = evidence.test(permutations, self.settings.seed.wrapping_add(1))?;
            let shift = &mut self.tests.batches[*number].shift;
            (shift.p_value, shift.permutations) = (found.upper, found.permutations);
        }
        Ok(())
    }

    /// The verdicts: p-values are adjusted for the number of batches (Holm 1979).
    pub fn finish(mut self) -> Result<Tests, Error> {
        self.look_again()?;
        let settings = &self.settings;
        let of = |p: fn(&Shift) -> f64| {
            holm(&self.tests.batches.iter().map(|b| p(&b.shift)).collect::<Vec<_>>())
        };
        let (upper, lower) = (of(|s| s.p_value), of(|s| s.lower_p_value));
        for ((batch, upper), lower) in self.tests.batches.iter_mut().zip(upper).zip(lower) {
            let shift = &mut batch.shift;
            shift.adjusted_p_value = upper;
            let verdict = Verdict::of(shift, settings.alpha, settings.least_effect);
            shift.judge(verdict, lower <= settings.alpha, settings);
        }
        Ok(self.tests)
    }
}

/// The positions of a chunk's samples by segment.
fn divided<'c>(by: &By, chunk: &'c Chunk) -> Result<BTreeMap<&'c str, Vec<usize>>, Error> {
    let Some(values) = chunk.kept.first() else {
        return Err(unfit("by", "the data have no columns to divide them by".to_owned()));
    };
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, value) in values.iter().enumerate() {
        rows.entry(by.segment(value)?).or_default().push(i);
    }
    Ok(rows)
}
