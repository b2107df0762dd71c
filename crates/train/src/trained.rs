//! What comes out of a run.

use serde::{Deserialize, Serialize};
use taste_engine::Model;
use taste_graph::{Build, Id, OpError};

use crate::{Error, Network, Parameters, Point};

/// A trained network.
#[derive(Clone, Debug)]
pub struct Trained {
    pub(crate) network: Network,
    pub(crate) parameters: Parameters,
    /// The name of the result.
    pub(crate) output: &'static str,
    /// What the network's result is multiplied by.
    pub(crate) factor: f64,
    pub(crate) curve: Vec<Point>,
    pub(crate) held_out: Option<HeldOut>,
    pub(crate) skipped: usize,
}

/// How the network does on samples that it did not learn from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// The mean loss.
    pub loss: f64,
    /// The share of right classes, for classifiers.
    pub accuracy: Option<f64>,
    /// The Stein identity, for scores.
    pub stein: Option<Stein>,
    /// How many samples.
    pub samples: usize,
}

/// Whether a score s satisfies the Stein identity E[s(x)·x] = −D over held-out samples with noise: the ratio of its two sides.
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
    pub fn held_out(&self) -> Option<HeldOut> {
        self.held_out
    }

    /// How many samples were passed over because of entries that are not finite.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Adds the trained network to a graph.
    pub fn build(&self, b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
        let y = self.network.build(b, x, &self.parameters)?;
        b.scale(y, self.factor)
    }

    /// The model as ONNX: from `input` to `logits` of a classifier, the `output` of a regressor or the `score`.
    pub fn model(&self) -> Result<Model, Error> {
        let (mut graph, x) = self.network.start();
        let y = self.build(&mut Build::new(&mut graph), x)?;
        let onnx = graph.to_onnx(&[(self.output.to_owned(), y)])?;
        Ok(Model::from_onnx("the trained network", taste_onnx::Model::new(onnx)))
    }
}
