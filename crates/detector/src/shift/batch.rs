//! One batch against the calibration samples.

use std::collections::{BTreeMap, HashSet};

use ndarray::{Array2, ArrayViewD, Axis};
use serde::Serialize;
use taste_stats::{
    evidence::{Evidence, LEAST_FOR_INTERVAL},
    moments::Moments,
    random::{Random, mix},
};

use super::{
    Information, Kind, Note, Quantity, Reason, Size, TestSettings, Verdict, columns,
    entries::{Entries, entries},
    information::tests,
    reasons::reasons,
};
use crate::{Comparison, Detector, Error, Estimate, Remark, Scores, refused};

/// Of a longer batch, this many samples are drawn for the tests; counts and means of maps are of all.
const DRAWN: usize = 20_000;
/// Entries of samples that are kept to look at the columns of a table.
const ENTRIES: usize = 400_000;
/// A share of repeated samples that is worth a word, if the calibration data have fewer than half of it.
const REPEATED: f64 = 0.1;
/// Fewer samples may all have something that is rare.
const FEW: usize = 20;
/// An effect that makes samples which are more ordinary worth a word.
const ORDINARY: f64 = -0.1;

/// A batch that is being gathered.
#[derive(Debug)]
pub struct Batch<'d> {
    detector: &'d Detector,
    /// Drawn samples, by their draw and number.
    rows: BTreeMap<(u64, u64), Row>,
    /// The entries of some of them, for tables.
    inputs: BTreeMap<(u64, u64), Vec<f32>>,
    most: usize,
    map: Option<Moments>,
    score: Moments,
    samples: usize,
    not_finite: usize,
    flagged: usize,
    seed: u64,
    /// The samples beside the training data.
    comparison: Option<Comparison<'d>>,
}

#[derive(Debug)]
struct Row {
    /// The columns of every part, the score, the novelty if there is one.
    values: Vec<f32>,
    /// Of the sample itself: samples that are equal have the same.
    hash: u64,
}

/// What a test of a batch says.
#[derive(Clone, Debug, Serialize)]
pub struct Shift {
    /// Samples in the batch.
    pub samples: usize,
    /// Samples without a score, which count as furthest out.
    pub not_finite: usize,
    /// Samples that are flagged on their own.
    pub flagged: usize,
    /// Of the samples that were drawn for the test, those that equal one before.
    pub repeated: usize,
    /// Whether the batch differs.
    pub verdict: Verdict,
    /// The mean evidence of the score less that of calibration samples, in their standard deviations: positive if the
    /// batch is further out.
    pub effect: f64,
    /// The same in a word.
    pub size: Size,
    /// A 95 % interval for the effect; none for very few samples, of which it would miss too often.
    pub interval: Option<(f64, f64)>,
    /// The nearer end of such an interval, which decides whether the effect is large enough; of few samples as well.
    pub at_least: f64,
    /// How often chance alone makes the mean evidence this large; never zero.
    pub p_value: f64,
    /// The same, adjusted for the number of batches that were tested.
    pub adjusted_p_value: f64,
    /// How often chance alone makes the mean evidence this small.
    pub lower_p_value: f64,
    /// Splits of the pooled samples that the batch was compared with.
    pub permutations: usize,
    /// How wrong the model is on the batch, estimated from the scores, where calibration samples had labels.
    pub estimate: Option<Estimate>,
    /// What is worth knowing beside that.
    pub notes: Vec<Note>,
    /// What a look at each column or channel beside the training data tells, the most samples first.
    pub remarks: Vec<Remark>,
    /// What each term of the score adds to the effect of a shift, the largest first.
    pub reasons: Vec<Reason>,
    /// What decides nothing.
    pub information: Information,
}

impl Shift {
    /// Whether the batch differs.
    pub fn is_shift(&self) -> bool {
        self.verdict == Verdict::Shift
    }

    /// Sets the verdict, and what follows from it.
    pub(super) fn judge(&mut self, verdict: Verdict, ordinary: bool, settings: &TestSettings) {
        self.verdict = verdict;
        if verdict == Verdict::Shift {
            self.reasons = std::mem::take(&mut self.information.terms);
            // What is stuck far out, but not far enough for a flag, is a shift.
            self.notes.retain(|note| *note != Note::FewFlagged);
        } else {
            self.notes.retain(|note| *note != Note::SeenCalibration);
        }
        if ordinary && self.effect <= ORDINARY {
            self.notes.insert(0, Note::MoreOrdinary);
        }
        if verdict != Verdict::Shift && self.is_new(settings) {
            self.notes.push(Note::NewData);
        }
    }

    /// Whether the data differ by more than chance explains, be it harmful or not.
    fn is_new(&self, settings: &TestSettings) -> bool {
        let is_clear = |t: &Quantity| {
            t.adjusted_p_value <= settings.alpha && t.effect >= settings.least_effect
        };
        let mut tests = self.information.tests.iter();
        let concerns_most = |r: &Remark| self.samples >= FEW && 2 * r.samples > r.of;
        tests.any(|t| t.kind == Kind::Novelty && is_clear(t))
            || !self.information.stuck.is_empty()
            || self.remarks.iter().any(concerns_most)
    }
}

impl<'d> Batch<'d> {
    /// No samples yet.
    pub fn new(detector: &'d Detector, seed: u64) -> Self {
        Self::with_most(detector, seed, DRAWN)
    }

    /// That keeps at most so many samples for the tests.
    pub(super) fn with_most(detector: &'d Detector, seed: u64, most: usize) -> Self {
        let map = detector.maps().map(|m| Moments::new(m.deviations.len()));
        Self {
            detector,
            rows: BTreeMap::new(),
            inputs: BTreeMap::new(),
            most,
            map,
            score: Moments::new(1),
            samples: 0,
            not_finite: 0,
            flagged: 0,
            seed,
            comparison: detector.compare(),
        }
    }

    /// How many samples it has.
    pub fn len(&self) -> usize {
        self.samples
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Adds samples, along the first axis, that the detector has scored.
    pub fn add(&mut self, samples: &ArrayViewD<'_, f32>, scores: &Scores) -> Result<(), Error> {
        if samples.shape().first() != Some(&scores.len()) {
            return Err(refused(format!(
                "there are {} scores for samples of shape {:?}",
                scores.len(),
                samples.shape()
            )));
        }
        if let Some(comparison) = &mut self.comparison {
            comparison.add(samples);
        }
        for (i, sample) in samples.outer_iter().enumerate() {
            let number = self.samples as u64;
            self.samples += 1;
            self.flagged += usize::from(scores.flag[i]);
            self.not_finite += usize::from(!scores.score[i].is_finite());
            self.score.push(&[scores.score[i]])?;
            if let (Some(moments), Some(map)) = (&mut self.map, &scores.map) {
                let entries: Vec<f32> = map.index_axis(Axis(0), i).iter().copied().collect();
                moments.push(&entries)?;
            }
            // The rows with the smallest draws: a uniform choice.
            let key = (Random::stream(self.seed, number).bits(), number);
            if self.rows.len() >= self.most && self.rows.keys().next_back() < Some(&key) {
                continue;
            }
            let parts = scores.parts.iter().flat_map(|(_, values)| values.row(i).to_vec());
            let novelty = scores.novelty.as_ref().map(|n| n.score[i]);
            let values: Vec<f32> = parts.chain([scores.score[i]]).chain(novelty).collect();
            self.rows.insert(key, Row { values, hash: hash(sample.iter()) });
            if self.rows.len() > self.most {
                self.rows.pop_last();
            }
            if self.detector.margins().is_some() {
                self.inputs.insert(key, sample.iter().copied().collect());
                if self.inputs.len() > (ENTRIES / sample.len().max(1)).min(self.most) {
                    self.inputs.pop_last();
                }
            }
        }
        Ok(())
    }

    /// Compares the batch with the calibration samples that the detector keeps; the verdict is that of a
    /// [`Session`](super::Session).
    pub fn test(&self, permutations: usize) -> Result<Shift, Error> {
        if self.samples == 0 {
            return Err(refused("there are no samples to test"));
        }
        let manifest = self.detector.manifest();
        let reference = self.detector.reference().rows.view();
        if reference.nrows() < 2 {
            return Err(refused("the detector keeps too few calibration samples to compare with"));
        }
        let width = reference.ncols();
        let drawn: Vec<f32> = self.rows.values().flat_map(|r| r.values.iter().copied()).collect();
        let batch = Array2::from_shape_vec((self.rows.len(), width), drawn)
            .map_err(|e| refused(format!("the scores do not fit the detector: {e}")))?;
        let batch = batch.view();
        let (usual, own) = (usual_scores(self.detector), self.scores());
        let evidence = Evidence::of(&usual, &own, manifest.decision.tolerance)?;
        let found = evidence.test(permutations, self.seed)?;
        let effect = evidence.effect();
        let interval = evidence.interval(0.95)?;
        let is_told = usual.len().min(own.len()) >= LEAST_FOR_INTERVAL;
        let (columns, stuck) = match self.detector.margins() {
            Some(margins) => {
                let rows: Vec<&[f32]> = self.inputs.values().map(Vec::as_slice).collect();
                columns::compare(self.detector, margins, &rows)
            }
            None => (Vec::new(), Vec::new()),
        };
        let repeated = self.repeated();
        Ok(Shift {
            samples: self.samples,
            not_finite: self.not_finite,
            flagged: self.flagged,
            repeated,
            verdict: Verdict::None,
            effect,
            size: Size::of(effect),
            interval: is_told.then_some((interval.low, interval.high)),
            at_least: interval.low,
            p_value: found.upper,
            adjusted_p_value: found.upper,
            lower_p_value: found.lower,
            permutations: found.permutations,
            estimate: manifest.errors.as_ref().and_then(|e| e.estimate(own.iter().copied())),
            notes: self.notes(repeated),
            remarks: self.comparison.as_ref().map_or_else(Vec::new, Comparison::remarks),
            reasons: Vec::new(),
            information: Information {
                tests: tests(self.detector, &reference, &batch, (permutations, self.seed))?,
                terms: reasons(&manifest.parts, &evidence, &reference, &batch),
                columns,
                stuck,
                entries: self.entries(effect, &usual),
            },
        })
    }

    /// The scores of the samples that were drawn for the test.
    pub(super) fn scores(&self) -> Vec<f64> {
        let at = score_column(self.detector);
        self.rows.values().map(|row| f64::from(row.values[at])).collect()
    }

    /// Of the drawn samples, those that equal one before.
    fn repeated(&self) -> usize {
        let distinct: HashSet<u64> = self.rows.values().map(|row| row.hash).collect();
        self.rows.len() - distinct.len()
    }

    fn notes(&self, repeated: usize) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.detector.flags_too_few(self.flagged, self.samples) {
            notes.push(Note::FewFlagged);
        }
        let kept = &self.detector.reference().rows;
        let share = repeated as f64 / self.rows.len() as f64;
        if repeated > 1 && share > REPEATED {
            let distinct: HashSet<u64> = kept.rows().into_iter().map(|r| hash(r.iter())).collect();
            let usual = 1.0 - distinct.len() as f64 / kept.nrows() as f64;
            notes.extend((share > 2.0 * usual).then_some(Note::Repeated));
        }
        notes.extend((self.not_finite > 0).then_some(Note::NoScore));
        let seen = self.detector.manifest().data.calibration.is_none();
        notes.extend(seen.then_some(Note::SeenCalibration));
        notes
    }

    /// Where the parts of the map moved.
    fn entries(&self, effect: f64, usual: &[f64]) -> Option<Entries> {
        let finite: Vec<f64> = usual.iter().copied().filter(|s| s.is_finite()).collect();
        let mean = finite.iter().sum::<f64>() / finite.len() as f64;
        let difference = self.score.mean().map(|own| own[0] - mean);
        let added = difference.filter(|d| *d > 0.0 && effect > 0.0).map(|d| (effect / d, effect));
        entries(self.detector, self.map.as_ref()?, added)
    }
}

/// Where the score stands in a row: behind the columns of all parts, and before the novelty.
fn score_column(detector: &Detector) -> usize {
    detector.reference().rows.ncols() - 1 - usize::from(detector.manifest().has_novelty)
}

/// The scores of the calibration samples that the detector keeps.
pub(super) fn usual_scores(detector: &Detector) -> Vec<f64> {
    let scores = detector.reference().rows.column(score_column(detector));
    scores.iter().map(|&v| f64::from(v)).collect()
}

/// Of the bits of numbers.
fn hash<'a>(values: impl Iterator<Item = &'a f32>) -> u64 {
    values.fold(0, |sum, v| mix(sum ^ u64::from(v.to_bits()).wrapping_add(1)))
}
