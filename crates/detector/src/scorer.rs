//! A detector in an engine.

use std::fmt;

use ndarray::{Array2, ArrayD, ArrayViewD, Axis};
use taste_engine::{Batch, InputInfo, Session, Value};
use taste_graph::DType;

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
    /// How far from the training data, if the detector tells.
    pub novelty: Option<Novelty>,
    /// The parts of the score, by name: N × columns.
    pub parts: Vec<(String, Array2<f32>)>,
    /// Where samples differ, if that was asked for.
    pub map: Option<ArrayD<f32>>,
    /// The model's own output, if that was asked for: N × entries.
    pub prediction: Option<Array2<f32>>,
}

/// How far samples are from the training data, whether that matters to the model or not.
#[derive(Clone, Debug)]
pub struct Novelty {
    /// Larger is further.
    pub score: Vec<f32>,
    /// (1 + #{calibration ≥ novelty}) / (n + 1).
    pub p_value: Vec<f32>,
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
        self.select(&(start..end).collect::<Vec<_>>())
    }

    /// Those of the samples at some positions.
    #[must_use]
    pub fn select(&self, positions: &[usize]) -> Self {
        let chosen = |values: &[f32]| positions.iter().map(|&i| values[i]).collect::<Vec<_>>();
        let part = |(name, values): &(String, Array2<f32>)| {
            (name.clone(), values.select(Axis(0), positions))
        };
        Self {
            score: chosen(&self.score),
            p_value: chosen(&self.p_value),
            flag: positions.iter().map(|&i| self.flag[i]).collect(),
            novelty: self
                .novelty
                .as_ref()
                .map(|n| Novelty { score: chosen(&n.score), p_value: chosen(&n.p_value) }),
            parts: self.parts.iter().map(part).collect(),
            map: self.map.as_ref().map(|m| m.select(Axis(0), positions)),
            prediction: self.prediction.as_ref().map(|p| p.select(Axis(0), positions)),
        }
    }
}

/// An input of a detector that samples are spread over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Its name.
    pub name: String,
    /// The sizes of what one sample gives to it.
    pub shape: Vec<usize>,
    /// Whether it takes whole numbers.
    pub whole: bool,
}

/// A detector in an engine. Several threads may use it at once.
pub struct Scorer {
    session: Session,
    inputs: Vec<String>,
    parts: Vec<String>,
    with_novelty: bool,
    with_map: bool,
    with_prediction: bool,
}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scorer").field("with_map", &self.with_map).finish_non_exhaustive()
    }
}

impl Detector {
    /// Prepares the detector to score samples; maps are computed only if they are asked for.
    pub fn start(&self, engine: &Engine, with_map: bool) -> Result<Scorer, Error> {
        self.start_with(engine, with_map, false)
    }

    /// The same with the model's own output beside the scores.
    pub fn start_with_prediction(&self, engine: &Engine, with_map: bool) -> Result<Scorer, Error> {
        self.start_with(engine, with_map, true)
    }

    /// The same with the model's own output beside the scores, and without maps.
    pub fn start_predicting(&self, engine: &Engine) -> Result<Scorer, Error> {
        self.start_with(engine, false, true)
    }

    fn start_with(
        &self,
        engine: &Engine,
        with_map: bool,
        with_prediction: bool,
    ) -> Result<Scorer, Error> {
        if with_map && !self.has_map() {
            return Err(Error::NoMaps);
        }
        let manifest = self.manifest();
        let parts: Vec<String> = manifest.parts.iter().map(|p| p.name.clone()).collect();
        let mut outputs = vec!["score", "p_value", "flag"];
        let with_novelty = manifest.has_novelty;
        outputs
            .extend(with_novelty.then_some(["novelty", "novelty_p_value"]).into_iter().flatten());
        outputs.extend(parts.iter().map(String::as_str));
        outputs.extend(with_map.then_some("map"));
        outputs.extend(with_prediction.then_some(&*manifest.model.prediction));
        let file = self.onnx().with_outputs(&outputs);
        let model = taste_engine::Model::from_onnx("the detector", file);
        let session = engine.backend.load(&model, &outputs, engine.threads)?;
        let facts = &manifest.model;
        let session = session.with_batch(facts.batch.map_or(Batch::Open, Batch::Fixed));
        let inputs = facts.fed();
        Ok(Scorer { session, inputs, parts, with_novelty, with_map, with_prediction })
    }
}

impl Scorer {
    /// The inputs that samples are spread over, in order. If there are several, a sample is a row of numbers, and each takes
    /// the next ones of them.
    pub fn fed(&self) -> Vec<Fed> {
        let info = |name: &String| self.session.inputs().find(|input| input.name == *name);
        let fed = |info: &InputInfo| Fed {
            name: info.name.clone(),
            shape: info.fact.at(1).shape.into_iter().skip(1).collect(),
            whole: info.fact.dtype != DType::Float,
        };
        self.inputs.iter().filter_map(info).map(fed).collect()
    }

    /// Scores samples along the first axis.
    pub fn score(&self, samples: ArrayViewD<'_, f32>) -> Result<Scores, Error> {
        let mut results = self.session.run_samples(&self.inputs, samples)?.into_iter();
        let mut next =
            || results.next().ok_or_else(|| refused("the detector gave too few results"));
        let numbers = |v: Value| -> Vec<f32> { v.to_f32().into_iter().collect() };
        let score = numbers(next()?);
        let p_value = numbers(next()?);
        let flag = next()?.to_f32().iter().map(|&v| v != 0.0).collect();
        let novelty = if self.with_novelty {
            Some(Novelty { score: numbers(next()?), p_value: numbers(next()?) })
        } else {
            None
        };
        let mut parts = Vec::with_capacity(self.parts.len());
        let rows = |name: &str, values: Value| {
            let values = numbers(values);
            let width = values.len().checked_div(score.len()).unwrap_or(1);
            Array2::from_shape_vec((score.len(), width), values)
                .map_err(|e| refused(format!("the output {name:?} of the detector: {e}")))
        };
        for name in &self.parts {
            parts.push((name.clone(), rows(name, next()?)?));
        }
        let map = if self.with_map { Some(next()?.to_f32()) } else { None };
        let prediction =
            if self.with_prediction { Some(rows("prediction", next()?)?) } else { None };
        Ok(Scores { score, p_value, flag, novelty, parts, map, prediction })
    }
}
