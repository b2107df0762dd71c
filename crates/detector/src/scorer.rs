//! A detector in an engine.

use std::fmt;

use ndarray::{Array2, ArrayD, ArrayViewD, Axis, Slice};
use taste_engine::{Batch, Session, Value};

use crate::{Detector, Engine, Error, refused};

/// What a detector says of some samples.
#[derive(Clone, Debug)]
pub struct Scores {
    /// How far out: larger is further.
    pub score: Vec<f32>,
    /// (1 + #{calibration scores ≥ score}) / (n + 1).
    pub p_value: Vec<f32>,
    /// Whether the score is above the threshold, or no number.
    pub flag: Vec<bool>,
    /// The parts of the score, by name: N × columns.
    pub parts: Vec<(String, Array2<f32>)>,
    /// Where samples differ, if that was asked for.
    pub map: Option<ArrayD<f32>>,
}

impl Scores {
    /// How many samples.
    pub fn len(&self) -> usize {
        self.score.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.score.is_empty()
    }

    /// A part by its name.
    pub fn part(&self, name: &str) -> Option<&Array2<f32>> {
        self.parts.iter().find(|p| p.0 == name).map(|p| &p.1)
    }

    /// A part with one column.
    pub fn column(&self, name: &str) -> Option<Vec<f32>> {
        self.part(name).filter(|p| p.ncols() == 1).map(|p| p.iter().copied().collect())
    }

    /// Those of some samples, from `start` up to `end`.
    #[must_use]
    pub fn rows(&self, start: usize, end: usize) -> Self {
        let span = || Slice::from(start..end);
        let part = |(name, values): &(String, Array2<f32>)| {
            (name.clone(), values.slice_axis(Axis(0), span()).to_owned())
        };
        Self {
            score: self.score[start..end].to_vec(),
            p_value: self.p_value[start..end].to_vec(),
            flag: self.flag[start..end].to_vec(),
            parts: self.parts.iter().map(part).collect(),
            map: self.map.as_ref().map(|m| m.slice_axis(Axis(0), span()).to_owned()),
        }
    }
}

/// A detector in an engine. Several threads may use it at once.
pub struct Scorer {
    runner: Runner,
    parts: Vec<String>,
    with_map: bool,
}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scorer").field("with_map", &self.with_map).finish_non_exhaustive()
    }
}

impl Detector {
    /// Prepares the detector to score samples; maps are computed only if they are asked for.
    pub fn start(&self, engine: &Engine, with_map: bool) -> Result<Scorer, Error> {
        if with_map && !self.has_map() {
            return Err(Error::NoMaps);
        }
        let manifest = self.manifest();
        let parts: Vec<String> = manifest.parts.iter().map(|p| p.name.clone()).collect();
        let mut outputs = vec!["score", "p_value", "flag"];
        outputs.extend(parts.iter().map(String::as_str));
        outputs.extend(with_map.then_some("map"));
        let file = self.onnx().with_outputs(&outputs);
        let model = taste_engine::Model::from_onnx("the detector", file);
        let session = engine.backend.load(&model, &outputs, engine.threads)?;
        let facts = &manifest.model;
        let runner = Runner::new(session, &facts.input, &facts.sample_shape, facts.batch);
        Ok(Scorer { runner, parts, with_map })
    }
}

impl Scorer {
    /// Scores samples along the first axis.
    pub fn score(&self, samples: ArrayViewD<'_, f32>) -> Result<Scores, Error> {
        let mut results = self.runner.run(samples)?.into_iter();
        let mut next =
            || results.next().ok_or_else(|| refused("the detector gave too few results"));
        let numbers = |v: Value| -> Vec<f32> { v.to_f32().into_iter().collect() };
        let score = numbers(next()?);
        let p_value = numbers(next()?);
        let flag = next()?.to_f32().iter().map(|&v| v != 0.0).collect();
        let mut parts = Vec::with_capacity(self.parts.len());
        for name in &self.parts {
            let values: Vec<f32> = next()?.to_f32().into_iter().collect();
            let width = values.len().checked_div(score.len()).unwrap_or(1);
            let values = Array2::from_shape_vec((score.len(), width), values)
                .map_err(|e| refused(format!("the part {name:?} of the detector: {e}")))?;
            parts.push((name.clone(), values));
        }
        let map = if self.with_map { Some(next()?.to_f32()) } else { None };
        Ok(Scores { score, p_value, flag, parts, map })
    }
}

/// A session with the input it is fed through.
pub(crate) struct Runner {
    session: std::sync::Mutex<Box<dyn Session>>,
    input: String,
    sample_shape: Vec<usize>,
    batch: Batch,
}

impl Runner {
    pub(crate) fn new(
        session: Box<dyn Session>,
        input: &str,
        sample_shape: &[usize],
        batch: Option<usize>,
    ) -> Self {
        let batch = batch.map_or(Batch::Open, Batch::Fixed);
        let session = std::sync::Mutex::new(session);
        Self { session, input: input.to_owned(), sample_shape: sample_shape.to_vec(), batch }
    }

    /// The outputs for samples along the first axis.
    pub(crate) fn run(&self, samples: ArrayViewD<'_, f32>) -> Result<Vec<Value>, Error> {
        if samples.shape().get(1..) != Some(&self.sample_shape[..]) {
            return Err(refused(format!(
                "input {:?} wants samples of shape {:?}, got an array of shape {:?}",
                self.input,
                self.sample_shape,
                samples.shape()
            )));
        }
        let rows = samples.shape()[0];
        let size = match self.batch {
            Batch::Fixed(size) if size != rows => size,
            _ => return self.feed(samples.to_owned()),
        };
        // A file for a fixed batch: full batches, the last one filled up with copies of its last sample.
        let mut parts: Vec<Vec<Value>> = Vec::new();
        for start in (0..rows).step_by(size) {
            let end = rows.min(start + size);
            let picks: Vec<usize> = (start..start + size).map(|i| i.min(end - 1)).collect();
            let results = self.feed(samples.select(Axis(0), &picks))?;
            parts.push(results.iter().map(|v| v.rows(0, end - start)).collect());
        }
        let count = parts.first().map_or(0, Vec::len);
        let column = |i: usize| -> Result<Value, Error> {
            let values: Vec<&Value> = parts.iter().map(|p| &p[i]).collect();
            Ok(Value::join(&values)?)
        };
        (0..count).map(column).collect()
    }

    fn feed(&self, samples: ArrayD<f32>) -> Result<Vec<Value>, Error> {
        let samples = Value::from(samples);
        let mut session = self.session.lock().map_err(|_| refused("the engine has failed"))?;
        Ok(session.run(&[(&self.input, &samples)])?)
    }
}
