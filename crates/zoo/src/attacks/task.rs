//! What an attack is given, and what it tells while it works.

use std::ops::Range;

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use taste_detector::Error;
use taste_stats::random::{GOLDEN, Random, mix};

use super::{
    Ball, Victim,
    victim::{predictions, rivals},
};

/// Samples to be attacked, one a row.
#[derive(Debug)]
pub struct Task<'a> {
    pub(super) victim: &'a Victim,
    pub(super) ball: &'a Ball,
    pub(super) x: Array2<f32>,
    pub(super) labels: Vec<usize>,
    /// Of the samples as they are.
    pub(super) logits: Array2<f32>,
    /// What random numbers of a sample start from: neither its place nor its neighbours matter.
    keys: Vec<u64>,
}

impl<'a> Task<'a> {
    pub(super) fn new(
        victim: &'a Victim,
        ball: &'a Ball,
        seed: u64,
        x: Array2<f32>,
        labels: Option<Vec<usize>>,
    ) -> Result<Self, Error> {
        let logits = victim.logits(&x.view())?;
        let labels = labels.unwrap_or_else(|| predictions(&logits));
        let keys = x.outer_iter().zip(&labels).map(|(row, &label)| {
            let start = mix(seed.wrapping_add(GOLDEN)) ^ label as u64;
            row.iter().fold(start, |key, v| mix(key ^ u64::from(v.to_bits())).wrapping_add(GOLDEN))
        });
        let keys = keys.collect();
        Ok(Self { victim, ball, x, labels, logits, keys })
    }

    /// How many samples.
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Some of the samples.
    pub(super) fn select(&self, positions: &[usize]) -> Self {
        Self {
            victim: self.victim,
            ball: self.ball,
            x: self.x.select(Axis(0), positions),
            labels: positions.iter().map(|&i| self.labels[i]).collect(),
            logits: self.logits.select(Axis(0), positions),
            keys: positions.iter().map(|&i| self.keys[i]).collect(),
        }
    }

    /// A sample as it is.
    pub(super) fn row(&self, sample: usize) -> &[f32] {
        row(&self.x, sample)
    }

    /// The random numbers of a sample for one purpose.
    pub(super) fn random(&self, sample: usize, purpose: u64) -> Random {
        Random::stream(self.keys[sample], purpose)
    }

    /// Whether the model is right about each sample.
    pub(super) fn right(&self) -> Vec<bool> {
        right(&self.logits, &self.labels)
    }

    /// The class with the `rank`-th largest logit of each sample, its label left out, counted from 0.
    pub(super) fn targets(&self, rank: usize) -> Vec<usize> {
        let target = |(logits, &label): (ndarray::ArrayView1<'_, f32>, &usize)| {
            rivals(logits.iter(), label).get(rank).copied().unwrap_or(label)
        };
        self.logits.outer_iter().zip(&self.labels).map(target).collect()
    }
}

/// Whether logits say the label.
pub(super) fn right(logits: &Array2<f32>, labels: &[usize]) -> Vec<bool> {
    predictions(logits).iter().zip(labels).map(|(found, label)| found == label).collect()
}

/// A row of an array whose rows lie one after the other.
pub(super) fn row(rows: &Array2<f32>, sample: usize) -> &[f32] {
    let width = rows.ncols();
    &rows.as_slice().unwrap_or_default()[sample * width..(sample + 1) * width]
}

/// Does something to every row, on several threads.
pub(super) fn each_row(rows: &mut Array2<f32>, change: impl Fn(usize, &mut [f32]) + Send + Sync) {
    let width = rows.ncols().max(1);
    let all = rows.as_slice_mut().unwrap_or_default();
    taste_threads::within(|| {
        all.par_chunks_mut(width).enumerate().for_each(|(sample, row)| change(sample, row));
    });
}

/// Where something holds.
pub(super) fn places(holds: &[bool]) -> Vec<usize> {
    (0..holds.len()).filter(|&i| holds[i]).collect()
}

/// What came of an attack that looks for a point where the model errs.
#[derive(Debug)]
pub(super) struct Found {
    /// Such a point, or the sample as it is.
    pub(super) points: Array2<f32>,
    pub(super) misled: Vec<bool>,
}

impl Found {
    /// Nothing yet, but where the model errs anyway.
    pub(super) fn none(task: &Task<'_>) -> Self {
        Self { points: task.x.clone(), misled: task.right().iter().map(|right| !right).collect() }
    }

    /// The samples that the model is still right about.
    pub(super) fn left(&self) -> Vec<usize> {
        (0..self.misled.len()).filter(|&i| !self.misled[i]).collect()
    }

    /// Takes over what was found for some of the samples.
    pub(super) fn take(&mut self, positions: &[usize], other: &Self) {
        for (k, &i) in positions.iter().enumerate().filter(|(k, _)| other.misled[*k]) {
            self.misled[i] = true;
            self.points.row_mut(i).assign(&other.points.row(k));
        }
    }
}

/// Hears how far an attack is and what it came across.
pub struct Watch<'a> {
    tell: &'a mut dyn FnMut(f64) -> Result<(), Error>,
    /// The part of the whole that is being told of.
    span: Range<f64>,
    seen: &'a mut Seen,
}

/// What an attack came across.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// Samples whose gradient is zero where the attack starts.
    pub(super) flat: usize,
    /// How many samples the model was still right about after each part of an attack.
    pub(super) stages: Vec<(String, usize)>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        tell: &'a mut dyn FnMut(f64) -> Result<(), Error>,
        seen: &'a mut Seen,
    ) -> Self {
        Self { tell, span: 0.0..1.0, seen }
    }

    /// Tells how far the work is, from 0 to 1.
    pub(super) fn reach(&mut self, share: f64) -> Result<(), Error> {
        (self.tell)(self.span.start + share * (self.span.end - self.span.start))
    }

    /// For a part of the work that takes `share` of what is left of it, from 0 to 1.
    pub(super) fn part(&mut self, share: f64) -> Watch<'_> {
        let start = self.span.start;
        self.span.start = start + share * (self.span.end - start);
        Watch { tell: self.tell, span: start..self.span.start, seen: self.seen }
    }

    pub(super) fn flat(&mut self, gradient: &Array2<f32>) {
        let zero = |row: &ndarray::ArrayView1<'_, f32>| row.iter().all(|v| *v == 0.0);
        self.seen.flat += gradient.outer_iter().filter(zero).count();
    }

    pub(super) fn stage(&mut self, name: &str, left: usize) {
        self.seen.stages.push((name.to_owned(), left));
    }
}
