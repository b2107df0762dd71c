//! One batch against the calibration samples.

use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView2, Axis};
use serde::Serialize;

use taste_stats::{
    interval,
    moments::{Moments, Summary},
    permutation,
    random::Random,
};

use crate::{Detector, Error, PartFacts, Scores, refused};

/// Of a longer batch, this many rows are drawn for the permutations; means are of all.
const DRAWN: usize = 20_000;
/// A batch that is being gathered.
#[derive(Debug)]
pub struct Batch<'d> {
    detector: &'d Detector,
    rows: BTreeMap<(u64, u64), Vec<f64>>,
    moments: Moments,
    map: Option<Moments>,
    samples: usize,
    not_finite: usize,
    flagged: usize,
    seed: u64,
}

/// What a test of a batch says.
#[derive(Clone, Debug, Serialize)]
pub struct Shift {
    /// Samples in the batch.
    pub samples: usize,
    /// Samples without a score, which are left out of the means.
    pub not_finite: usize,
    /// Samples that are flagged on their own.
    pub flagged: usize,
    /// The p-value of all quantities together; never zero.
    pub p_value: f64,
    /// The same, adjusted for the number of batches that were tested.
    pub adjusted_p_value: f64,
    /// Splits of the pooled samples that the batch was compared with.
    pub permutations: usize,
    /// The quantity with the smallest p-value; of several, a summary, and of those the one that moved most.
    pub clearest: usize,
    /// How many quantities are summaries: parts with one column, the score and its rank. They come first.
    pub summaries: usize,
    /// What was compared: summaries, then the columns of other parts.
    pub quantities: Vec<Quantity>,
    /// Entries of a sample in order of how much of the shift they carry, if the detector has maps.
    pub entries: Vec<Entry>,
}

/// The mean of a quantity in the batch less that in the calibration data.
#[derive(Clone, Debug, Serialize)]
pub struct Quantity {
    /// What it is.
    pub name: String,
    /// The difference of means.
    pub difference: f64,
    /// The same in standard deviations of calibration samples.
    pub effect: f64,
    /// A studentised 95 % interval for the difference; absent for a batch of one.
    pub interval: Option<(f64, f64)>,
    /// The p-value, adjusted for all quantities of this batch.
    pub p_value: f64,
}

/// An entry of a sample.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Its place, counted from 0 along the flattened sample.
    pub index: usize,
    /// Its place by axis.
    pub position: Vec<usize>,
    /// The name of its column, for tables.
    pub name: Option<String>,
    /// The mean of its part of the map.
    pub mean: f64,
    /// The same in standard deviations of calibration samples.
    pub effect: f64,
    /// The same in standard errors.
    pub statistic: f64,
}

impl Shift {
    /// The effect of the clearest quantity, in standard deviations of calibration samples.
    pub fn effect(&self) -> f64 {
        self.quantities.get(self.clearest).map_or(0.0, |q| q.effect)
    }
}

impl<'d> Batch<'d> {
    /// No samples yet.
    pub fn new(detector: &'d Detector, seed: u64) -> Self {
        let width = width(detector);
        let map = detector.maps().map(|m| Moments::new(m.deviations.len()));
        Self {
            detector,
            rows: BTreeMap::new(),
            moments: Moments::new(width),
            map,
            samples: 0,
            not_finite: 0,
            flagged: 0,
            seed,
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

    /// Adds samples that the detector has scored.
    pub fn add(&mut self, scores: &Scores) -> Result<(), Error> {
        for i in 0..scores.score.len() {
            let number = self.samples as u64;
            self.samples += 1;
            self.flagged += usize::from(scores.flag[i]);
            let parts = scores.parts.iter().flat_map(|(_, values)| values.row(i).to_vec());
            let row: Vec<f64> = parts.chain([scores.score[i]]).map(f64::from).collect();
            if !row.iter().all(|v| v.is_finite()) {
                self.not_finite += 1;
                continue;
            }
            self.moments.push(&row)?;
            if let (Some(moments), Some(map)) = (&mut self.map, &scores.map) {
                let entries: Vec<f32> = map.index_axis(Axis(0), i).iter().copied().collect();
                moments.push(&entries)?;
            }
            // The rows with the smallest draws: a uniform choice.
            let draw = Random::stream(self.seed, number).bits();
            self.rows.insert((draw, number), row);
            if self.rows.len() > DRAWN {
                self.rows.pop_last();
            }
        }
        Ok(())
    }

    /// Compares the batch with the calibration samples that the detector keeps.
    pub fn test(&self, permutations: usize) -> Result<Shift, Error> {
        if self.rows.is_empty() {
            return Err(refused(if self.samples == 0 {
                "there are no samples to test".to_owned()
            } else {
                format!(
                    "none of the {} samples has a finite score, so there is nothing to test",
                    self.samples
                )
            }));
        }
        let kept = &self.detector.reference().rows;
        if kept.nrows() < 2 {
            return Err(refused("the detector keeps too few calibration samples to compare with"));
        }
        let width = width(self.detector);
        let reference = kept.slice(ndarray::s![.., ..width]).mapv(f64::from);
        let drawn: Vec<f64> = self.rows.values().flatten().copied().collect();
        let batch = Array2::from_shape_vec((self.rows.len(), width), drawn)
            .map_err(|e| refused(e.to_string()))?;
        let (reference, batch) = with_rank(&reference.view(), &batch.view());
        let outcome =
            permutation::two_sample(&reference.view(), &batch.view(), permutations, self.seed)?;
        let parts = &self.detector.manifest().parts;
        let (order, summaries) = order(parts);
        let names = names(parts);
        let quantities: Vec<Quantity> = order
            .into_iter()
            .map(|column| {
                let (own, other) =
                    (batch.column(column).to_vec(), reference.column(column).to_vec());
                let against = Summary::of(&other);
                let mean = match self.moments.mean() {
                    Some(means) if column < width => means[column],
                    _ => own.iter().sum::<f64>() / own.len() as f64,
                };
                let (centre, deviation) =
                    against.map_or((0.0, 0.0), |s| (s.mean, s.variance.sqrt()));
                let difference = mean - centre;
                let interval =
                    interval::difference(&own, &other, 0.95, interval::RESAMPLES, self.seed).ok();
                Quantity {
                    name: names[column].clone(),
                    difference,
                    effect: if deviation > 0.0 { difference / deviation } else { 0.0 },
                    interval: interval.map(|i| (i.low, i.high)),
                    p_value: outcome.components[column].p_value,
                }
            })
            .collect();
        let clearest = clearest(&quantities, summaries);
        Ok(Shift {
            samples: self.samples,
            not_finite: self.not_finite,
            flagged: self.flagged,
            p_value: outcome.p_value,
            adjusted_p_value: outcome.p_value,
            permutations: outcome.permutations,
            clearest,
            summaries,
            quantities,
            entries: self.entries(),
        })
    }

    /// The entries that carry the shift, the largest part first.
    fn entries(&self) -> Vec<Entry> {
        let (Some(moments), Some(maps)) = (&self.map, self.detector.maps()) else {
            return Vec::new();
        };
        let manifest = self.detector.manifest();
        let Some(means) = moments.mean() else { return Vec::new() };
        let errors = moments.standard_error().unwrap_or_else(|| vec![f64::INFINITY; means.len()]);
        let held_out = (manifest.data.tails as f64).sqrt();
        let columns = manifest.data.columns.as_ref();
        let mut entries: Vec<Entry> = means
            .iter()
            .zip(&maps.deviations)
            .enumerate()
            .map(|(index, (&mean, &deviation))| {
                let deviation = f64::from(deviation);
                let error = errors[index].hypot(deviation / held_out);
                Entry {
                    index,
                    position: position(index, &manifest.model.sample_shape),
                    name: columns.and_then(|c| c.get(index).cloned()),
                    mean,
                    effect: if deviation > 0.0 { mean / deviation } else { 0.0 },
                    statistic: if error > 0.0 { mean / error } else { 0.0 },
                }
            })
            .collect();
        // By the part of the mean that is beyond doubt, two standard errors off.
        let sure = |e: &Entry| {
            let size = e.mean.abs();
            let certain = (1.0 - 2.0 / e.statistic.abs()).max(0.0);
            (if certain.is_finite() { size * certain } else { 0.0 }, size)
        };
        entries.sort_by(|a, b| {
            let (a, b) = (sure(a), sure(b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        entries
    }
}

/// The columns of the parts and the score.
fn width(detector: &Detector) -> usize {
    1 + detector.manifest().parts.iter().map(|p| p.columns.len()).sum::<usize>()
}

/// Names of the columns of a row, and of the rank that is put beside them.
fn names(parts: &[PartFacts]) -> Vec<String> {
    let columns = parts.iter().flat_map(|p| p.columns.iter().cloned());
    columns.chain(["score", "rank of score"].map(str::to_owned)).collect()
}

/// The columns in the order that people read them, summaries first, and how many of these there are.
fn order(parts: &[PartFacts]) -> (Vec<usize>, usize) {
    let (mut summaries, mut others, mut at) = (Vec::new(), Vec::new(), 0);
    for part in parts {
        let columns = at..at + part.columns.len();
        at = columns.end;
        if columns.len() == 1 { summaries.extend(columns) } else { others.extend(columns) }
    }
    summaries.extend([at, at + 1]);
    let count = summaries.len();
    (summaries.into_iter().chain(others).collect(), count)
}

/// The least doubtful quantity; of several, a summary, as single classes that calibration samples never show have tiny
/// deviations; of those the one that moved most.
fn clearest(quantities: &[Quantity], summaries: usize) -> usize {
    let by_size = |a: &Quantity, b: &Quantity| a.effect.abs().total_cmp(&b.effect.abs());
    let summary = |a: usize, b: usize| (a < summaries).cmp(&(b < summaries));
    (0..quantities.len())
        .max_by(|&a, &b| {
            let (of_a, of_b) = (&quantities[a], &quantities[b]);
            of_b.p_value.total_cmp(&of_a.p_value).then(summary(a, b)).then(by_size(of_a, of_b))
        })
        .unwrap_or(0)
}

/// A place along the flattened sample, by axis.
fn position(index: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = index;
    let mut place: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let at = rest % size.max(1);
            rest /= size.max(1);
            at
        })
        .collect();
    place.reverse();
    place
}

/// Both with one column more: the rank of the score among all scores, between 0 and 1. It sees changes of a
/// heavy-tailed score that its mean does not.
fn with_rank(
    reference: &ArrayView2<'_, f64>,
    batch: &ArrayView2<'_, f64>,
) -> (Array2<f64>, Array2<f64>) {
    let last = reference.ncols() - 1;
    let mut all: Vec<f64> =
        reference.column(last).iter().chain(batch.column(last).iter()).copied().collect();
    all.sort_by(f64::total_cmp);
    let rank = |s: f64| {
        let (low, high) = (all.partition_point(|v| *v < s), all.partition_point(|v| *v <= s));
        (low + high) as f64 / (2.0 * all.len() as f64)
    };
    let extend = |of: &ArrayView2<'_, f64>| {
        let mut wide = Array2::zeros((of.nrows(), of.ncols() + 1));
        for (mut to, from) in wide.outer_iter_mut().zip(of.outer_iter()) {
            for (t, f) in to.iter_mut().zip(&from) {
                *t = *f;
            }
            to[last + 1] = rank(from[last]);
        }
        wide
    };
    (extend(reference), extend(batch))
}
