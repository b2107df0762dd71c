//! The graphs that training runs: loss and gradients, and the loss alone.

use ndarray::ArrayD;
use taste_engine::{Backend, Session, Value};
use taste_graph::{
    Build, Fact, Graph, Id,
    diff::{Derivatives, vjp},
};

use crate::{
    Error, Network,
    loss::Loss,
    network::{INPUT, LEVEL, Scope},
};

const TARGET: &str = "target";

/// Samples with what the network should make of them.
pub(crate) struct Batch {
    pub(crate) input: Value,
    pub(crate) target: Value,
    /// The noise level of every sample, for networks that are conditioned on it.
    pub(crate) level: Option<Value>,
}

impl Batch {
    pub(crate) fn len(&self) -> usize {
        self.input.shape()[0]
    }
}

/// The network's loss on a batch as a graph, with weights as inputs.
struct LossGraph {
    graph: Graph,
    result: Id,
    loss: Id,
    weights: Vec<Id>,
}

impl LossGraph {
    fn new(network: &Network, loss: Loss) -> Result<Self, Error> {
        let (mut graph, x, level) = network.start();
        let mut scope = Scope::declaring();
        let mut b = Build::new(&mut graph);
        let result = network.build_on(&mut b, x, level, &mut scope)?;
        let shape = b.fact(result).shape.clone();
        let target = b.graph_mut().input(TARGET, Fact::float(shape));
        let loss = loss.build(&mut b, result, target)?;
        let weights = scope.ids().to_vec();
        Ok(Self { graph, result, loss, weights })
    }
}

/// Loss and gradients of a batch.
pub(crate) struct Step {
    session: Session,
}

impl Step {
    pub(crate) fn compile(
        network: &Network,
        loss: Loss,
        backend: &Backend,
        threads: usize,
    ) -> Result<Self, Error> {
        let LossGraph { mut graph, loss, weights, .. } = LossGraph::new(network, loss)?;
        let mut b = Build::new(&mut graph);
        let one = b.scalar(1.0);
        let seed = b.expand(one, &[1.into()])?;
        let gradients = vjp(&mut b, &Derivatives::from([(loss, seed)]), &weights)?;
        let mut outputs = vec![("loss".to_owned(), loss)];
        for (number, (gradient, weight)) in gradients.into_iter().zip(&weights).enumerate() {
            let gradient = match gradient {
                Some(gradient) => gradient,
                None => b.zeros_like(*weight)?,
            };
            outputs.push((format!("gradient {number}"), gradient));
        }
        Ok(Self { session: backend.compile_sums(&graph, &outputs, threads)? })
    }

    /// The loss summed over the batch, and its gradient in every weight.
    pub(crate) fn run(
        &mut self,
        batch: &Batch,
        weights: &[(String, Value)],
    ) -> Result<(f64, Vec<ArrayD<f32>>), Error> {
        let results = self.session.run(&feeds(batch, weights))?;
        let mut results = results.into_iter();
        let loss = results.next().map_or(f64::NAN, |l| l.to_f64().sum());
        let gradients = results.map(|value| match value {
            Value::F32(a) => a,
            other => other.to_f32(),
        });
        Ok((loss, gradients.collect()))
    }
}

/// The loss of a batch and the network's results.
pub(crate) struct Check {
    session: Session,
}

impl Check {
    pub(crate) fn compile(
        network: &Network,
        loss: Loss,
        backend: &Backend,
        threads: usize,
    ) -> Result<Self, Error> {
        let LossGraph { graph, result, loss, .. } = LossGraph::new(network, loss)?;
        let outputs = [("loss".to_owned(), loss), ("result".to_owned(), result)];
        Ok(Self { session: backend.compile_sums(&graph, &outputs, threads)? })
    }

    /// The loss summed over the batch, and the results.
    pub(crate) fn run(
        &mut self,
        batch: &Batch,
        weights: &[(String, Value)],
    ) -> Result<(f64, ArrayD<f32>), Error> {
        let results = self.session.run(&feeds(batch, weights))?;
        let loss = results.first().map_or(f64::NAN, |l| l.to_f64().sum());
        let result = results.get(1).map_or_else(|| ArrayD::zeros(vec![0]), Value::to_f32);
        Ok((loss, result))
    }
}

fn feeds<'a>(batch: &'a Batch, weights: &'a [(String, Value)]) -> Vec<(&'a str, &'a Value)> {
    let samples = [(INPUT, &batch.input), (TARGET, &batch.target)];
    let level = batch.level.iter().map(|level| (LEVEL, level));
    samples
        .into_iter()
        .chain(level)
        .chain(weights.iter().map(|(name, v)| (name.as_str(), v)))
        .collect()
}

#[cfg(test)]
mod tests;
