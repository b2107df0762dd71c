//! An attack on a model, for samples a chunk at a time.

use std::sync::Arc;

use ndarray::{Array2, ArrayD, ArrayViewD, Axis, IxDyn, Slice};
use taste_detector::{Error, Progress, Stage, refused};

use super::{
    Attack, Ball, Outcome, Task, Victim, Watch,
    task::{Seen, places, right, row},
};

/// An attack on a model, and how far it may move samples.
#[derive(Debug)]
pub struct Attacker<'a> {
    pub(super) victim: &'a Victim,
    pub(super) attack: Arc<dyn Attack>,
    pub(super) ball: Ball,
    pub(super) seed: u64,
    notes: Vec<String>,
    chunk: usize,
}

/// Samples that were moved.
#[derive(Clone, Debug)]
pub struct Adversarial {
    /// In the order and shape of the samples that were given.
    pub samples: ArrayD<f32>,
    /// What came of it.
    pub outcome: Outcome,
}

/// Samples at once: more gain no speed, and a run that is stopped loses at most so many.
const CHUNK: usize = 250;
/// Copies of samples that attacks keep at once.
const COPIES: usize = 16;
/// Bytes that these copies may take.
const MEMORY: usize = 1 << 30;

impl<'a> Attacker<'a> {
    /// Makes the graphs that the attack needs. An error if the attack can't be used on the model.
    pub fn new(
        victim: &'a Victim,
        attack: Arc<dyn Attack>,
        ball: Ball,
        seed: u64,
    ) -> Result<Self, Error> {
        let classes = victim.classes();
        let notes = attack.notes(classes)?;
        let mut chunk = victim.chunk(None)?.min(CHUNK);
        for loss in attack.losses(classes) {
            victim.session(loss)?;
            chunk = chunk.min(victim.chunk(Some(loss))?);
        }
        let entries: usize = victim.sample_shape().iter().product();
        let fits = MEMORY / (COPIES * size_of::<f32>() * entries.max(1));
        let chunk = chunk.min(fits.max(1));
        Ok(Self { victim, attack, ball, seed, notes, chunk })
    }

    /// Takes so many samples at once, in place of what memory allows.
    #[must_use]
    pub fn with_chunk(mut self, chunk: Option<usize>) -> Self {
        self.chunk = chunk.unwrap_or(self.chunk).max(1);
        self
    }

    /// What is to be said of the attack on this model, in sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The attack.
    pub fn attack(&self) -> &dyn Attack {
        &*self.attack
    }

    /// How many samples are attacked at once.
    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Attacks samples in memory. Without labels, the model is led away from its own answers.
    pub fn run(
        &self,
        samples: &ArrayViewD<'_, f32>,
        labels: Option<&[i64]>,
        progress: &Progress<'_>,
    ) -> Result<Adversarial, Error> {
        let count = samples.shape().first().copied().unwrap_or(0);
        if let Some(labels) = labels.filter(|labels| labels.len() != count) {
            return Err(refused(format!("{} labels for {count} samples", labels.len())));
        }
        let mut outcome = Outcome::default();
        let mut moved = ArrayD::zeros(samples.raw_dim());
        for start in (0..count).step_by(self.chunk) {
            let span = start..count.min(start + self.chunk);
            let part = samples.slice_axis(Axis(0), Slice::from(span.clone()));
            let labels = labels.map(|labels| &labels[span.clone()]);
            let mut tell = teller(start, span.len(), Some(count), progress);
            let task = self.task(&part, labels, start)?;
            let (points, found) = self.attack_task(&task, &mut tell)?;
            let mut place = moved.slice_axis_mut(Axis(0), Slice::from(span));
            place.assign(&shaped(points, samples.shape())?);
            outcome.add(found);
        }
        Ok(Adversarial { samples: moved, outcome })
    }

    /// Samples with labels that fit the model; `first` is the number of the first of them, for messages.
    pub(super) fn task(
        &self,
        samples: &ArrayViewD<'_, f32>,
        labels: Option<&[i64]>,
        first: usize,
    ) -> Result<Task<'_>, Error> {
        let (wanted, got) = (self.victim.sample_shape(), samples.shape().get(1..));
        if got != Some(&wanted[..]) {
            return Err(refused(format!(
                "{} wants samples of shape {wanted:?}, got {:?}",
                self.victim.name(),
                got.unwrap_or_default()
            )));
        }
        let (count, entries) = (samples.shape()[0], wanted.iter().product::<usize>());
        let flat = samples.as_standard_layout().into_owned();
        let x = flat.into_shape_with_order((count, entries)).map_err(|e| refused(e.to_string()))?;
        for i in 0..count {
            if let Some((entry, value)) = self.ball.outside(row(&x, i)) {
                let bounds = self.ball.bounds();
                return Err(refused(format!(
                    "sample {}: entry {entry} is {value}, outside of the box {bounds}",
                    first + i
                )));
            }
        }
        let class = |(i, &label): (usize, &i64)| {
            let class = usize::try_from(label).ok().filter(|k| *k < self.victim.classes());
            class.ok_or_else(|| {
                refused(format!(
                    "sample {}: the label is {label}, and the model has {} classes, from 0 on",
                    first + i,
                    self.victim.classes()
                ))
            })
        };
        let labels = labels
            .map(|labels| labels.iter().enumerate().map(class).collect::<Result<Vec<_>, _>>());
        Task::new(self.victim, &self.ball, self.seed, x, labels.transpose()?)
    }

    /// Attacks one chunk, and looks at what came of it.
    pub(super) fn attack_task(
        &self,
        task: &Task<'_>,
        tell: &mut dyn FnMut(f64) -> Result<(), Error>,
    ) -> Result<(Array2<f32>, Outcome), Error> {
        let mut seen = Seen::default();
        let points = self.attack.run(task, &mut Watch::new(tell, &mut seen))?;
        let before = task.right();
        let after = right(&self.victim.logits(&points.view())?, &task.labels);
        let length = |i: usize| self.ball.norm().distance(task.row(i), row(&points, i));
        let misled = (0..task.len()).filter(|&i| before[i] && !after[i]);
        let mut outcome = Outcome {
            samples: task.len(),
            right_before: places(&before).len(),
            right_after: places(&after).len(),
            misled: misled.map(|i| super::ball::narrow(length(i))).collect(),
            farthest: (0..task.len()).map(length).fold(0.0, f64::max),
            looks_like_probabilities: !self.victim.sees_probabilities()
                && are_probabilities(&task.logits),
            ..Outcome::default()
        };
        outcome.note(seen);
        Ok((points, outcome))
    }
}

/// Tells how far a chunk is, in samples of all.
pub(super) fn teller<'p>(
    before: usize,
    count: usize,
    total: Option<usize>,
    progress: &'p Progress<'p>,
) -> impl FnMut(f64) -> Result<(), Error> + 'p {
    move |share| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a count"
        )]
        let part = (share.clamp(0.0, 1.0) * count as f64) as usize;
        let stage = Stage { purpose: "samples", done: before + part, total };
        if progress(stage).is_break() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// Rows as samples like those of a shape.
pub(super) fn shaped(points: Array2<f32>, like: &[usize]) -> Result<ArrayD<f32>, Error> {
    let shape: Vec<usize> =
        std::iter::once(points.nrows()).chain(like.iter().skip(1).copied()).collect();
    points.into_shape_with_order(IxDyn(&shape)).map_err(|e| refused(e.to_string()))
}

/// Whether every row is not negative and adds up to one.
fn are_probabilities(outputs: &Array2<f32>) -> bool {
    const NEAR: f32 = 1e-5;
    outputs.outer_iter().all(|row| {
        row.iter().all(|v| (-NEAR..=1.0 + NEAR).contains(v)) && (row.sum() - 1.0).abs() < NEAR
    })
}
