//! What comes out of a run.

use std::time::Duration;

use ndarray::ArrayD;
use serde::{Deserialize, Serialize};
use taste_engine::Model;
use taste_graph::{Build, Dim, Fact, Graph, Id, OpError, Tensor};

use crate::{
    ClassAccuracy, Error, Network, Parameters, Point,
    error::request,
    network::INPUT,
    noise::{Mix, Noise},
};

/// A trained network.
#[derive(Clone, Debug)]
pub struct Trained {
    pub(crate) network: Network,
    pub(crate) parameters: Parameters,
    /// The name of the result.
    pub(crate) output: &'static str,
    /// What samples got, where the network tells it.
    pub(crate) noise: Option<Noise>,
    pub(crate) curve: Vec<Point>,
    pub(crate) held_out: Option<HeldOut>,
    /// Some held-out samples, as they were before noise.
    pub(crate) kept: ArrayD<f32>,
    pub(crate) skipped: usize,
    pub(crate) pace: Pace,
    pub(crate) stopped_early: bool,
    pub(crate) unsaved: Option<String>,
}

/// How fast a run was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Steps that an earlier run had made.
    pub resumed: usize,
    /// Steps in all; fewer than asked for if the run stopped early.
    pub steps: usize,
    /// Samples that a step saw.
    pub batch: usize,
    /// The time of this run.
    pub elapsed: Duration,
}

impl Pace {
    /// Samples a second.
    pub fn samples_per_second(&self) -> f64 {
        ((self.steps - self.resumed) * self.batch) as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// How the network does on samples that it did not learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// The mean loss.
    pub loss: f64,
    /// Its standard error, for scores.
    pub error: Option<f64>,
    /// The share of right classes, for classifiers.
    pub accuracy: Option<f64>,
    /// The accuracy of every class, for classifiers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<ClassAccuracy>,
    /// The Stein identity, for scores.
    pub stein: Option<Stein>,
    /// How many samples.
    pub samples: usize,
}

/// Whether a score s satisfies the Stein identity E[s(x)·x] = −D over held-out samples with noise: the ratio of its
/// two sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stein {
    /// 1 if the identity holds.
    pub ratio: f64,
    /// The standard error of the ratio.
    pub error: f64,
}

impl Trained {
    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The weights.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The loss while training.
    pub fn curve(&self) -> &[Point] {
        &self.curve
    }

    /// How the network does on held-out samples, if there were any.
    pub fn held_out(&self) -> Option<&HeldOut> {
        self.held_out.as_ref()
    }

    /// How many samples were passed over because of entries that are not finite.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// How fast the run was.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Whether the run stopped because the held-out loss no longer fell.
    pub fn stopped_early(&self) -> bool {
        self.stopped_early
    }

    /// Why the checkpoint could not be written the last time that it could not, in a sentence.
    pub fn unsaved(&self) -> Option<&str> {
        self.unsaved.as_deref()
    }

    /// Adds the trained network to a graph. A score is that of the least noise that it learned from.
    pub fn build(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        match self.noise {
            None => self.network.build(b, x, None, &self.parameters),
            Some(noise) => self.build_score(b, x, noise, noise.lowest()),
        }
    }

    /// a·s(a·x) with s = −ε / spread, where a is the signal in noisy samples: the score of the samples with noise of
    /// deviation spread / signal added.
    pub(crate) fn build_score(
        &self,
        b: &mut Build<'_>,
        x: Id,
        noise: Noise,
        level: f64,
    ) -> Result<Id, OpError> {
        let Mix { signal, spread } = noise.at(level);
        let level = noise
            .has_levels()
            .then(|| b.graph_mut().constant(Tensor::from(ArrayD::from_elem(vec![1, 1], level))));
        let scaled = b.scale(x, signal)?;
        let found = self.network.build(b, scaled, level, &self.parameters)?;
        b.scale(found, -signal / spread)
    }

    /// The model as ONNX: from `input` to the `logits` of a classifier, the `output` of a regressor, the `score` of
    /// the least noise that it learned from, or, for a diffusion model, from `input` and the step `level` (N × 1) to
    /// the `noise`.
    pub fn model(&self) -> Result<Model, Error> {
        let (mut graph, x, level) = self.network.start();
        let mut b = Build::new(&mut graph);
        let y = match self.noise {
            Some(Noise::Steps(..)) => self.network.build(&mut b, x, level, &self.parameters)?,
            _ => self.build(&mut b, x)?,
        };
        let onnx = graph.to_onnx(&[(self.output.to_owned(), y)])?;
        Ok(Model::from_onnx("the trained network", taste_onnx::Model::new(onnx)))
    }

    /// A score network's score at one noise level: a deviation of the noise from the range that it learned from, or
    /// the step of a diffusion.
    pub fn score_model(&self, level: f64) -> Result<Model, Error> {
        let (noise, level) = match self.noise {
            Some(noise @ Noise::One(sigma)) if (level - sigma).abs() < 1e-9 * sigma => (noise, 0.0),
            Some(noise @ Noise::Range(low, high)) if (low..=high).contains(&level) => {
                (noise, level.ln())
            }
            Some(noise @ Noise::Steps(_, steps)) if level >= 0.0 && level < steps as f64 => {
                (noise, level.floor())
            }
            Some(noise) => {
                return Err(request(format!(
                    "the network learned {noise:?}, not the level {level}"
                )));
            }
            None => return Err(request("the network was not trained to find a score")),
        };
        let mut graph = Graph::new();
        let shape = self.network.sample_shape().iter().map(|&d| Dim::from(d));
        let fact = Fact::float(std::iter::once(Dim::BATCH).chain(shape).collect());
        let x = graph.input(INPUT, fact);
        let y = self.build_score(&mut Build::new(&mut graph), x, noise, level)?;
        let onnx = graph.to_onnx(&[("score".to_owned(), y)])?;
        Ok(Model::from_onnx("the trained score", taste_onnx::Model::new(onnx)))
    }
}
