//! A classifier that was exported, as the start of a training.

use std::{fmt, sync::Arc};

use ndarray::ArrayD;
use taste_engine::{Model, Request};
use taste_graph::{Build, Calculus, DType, Dim, Graph, Id, OpError};

use crate::{
    Error, Network, Parameters,
    error::request,
    network::{Layer, Scope, Start},
};

/// The network of a file and its weights, for [`Training::start`](crate::Training::start).
///
/// Kernels, matrices, and the scales and shifts behind the first of them become weights. Means and variances that
/// normalise batches stay as the file has them.
#[derive(Clone, Debug)]
pub struct Pretrained {
    /// From samples as the file takes them to logits.
    pub network: Network,
    /// The weights of the file.
    pub parameters: Parameters,
    /// Whether a new layer stands in place of the file's last linear one, as there are other classes.
    pub has_new_head: bool,
}

impl Pretrained {
    /// The network for samples of a shape. Where it tells another number of classes apart, its last linear layer gives
    /// way to a new one.
    pub fn new(model: &Model, sample_shape: &[usize], classes: usize) -> Result<Self, Error> {
        let sample_shapes = model.sample_shapes(sample_shape);
        let mut draft = model.draft(&Request { sample_shapes, ..Request::default() })?;
        if draft.rows() != Dim::BATCH || !draft.is_fed() || draft.shape() != sample_shape {
            return Err(request(format!(
                "{} takes samples of {:?}, and a network to start from takes any number of samples of {sample_shape:?}",
                model.name(),
                draft.sample_shape(),
            )));
        }
        let has_new_head = draft.width() != classes;
        let end = if has_new_head { draft.features(None)?.id } else { draft.logits() };
        let body = Body { graph: Arc::new(draft.graph().clone()), x: draft.input(), end };
        let weights = body.weights();
        if weights.is_empty() {
            let name = model.name();
            return Err(request(format!("{name} has no kernel and no matrix to train")));
        }
        let network = Network::new(sample_shape).then(body);
        let network = if has_new_head { network.dense(classes) } else { network };
        // Weights are asked for in the order in which they are used, those of the body first.
        let names = network.parameters(0)?;
        let entries = names.iter().zip(weights).map(|((name, _), w)| (name.to_owned(), w));
        let parameters = Parameters::from_entries(entries.collect());
        Ok(Self { network, parameters, has_new_head })
    }
}

/// The graph of a file from its samples to its logits or features.
#[derive(Clone)]
struct Body {
    graph: Arc<Graph>,
    x: Id,
    end: Id,
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes", self.graph.nodes().len())
    }
}

impl Body {
    /// The arguments that hold a weight: node and position, in the order of the graph. The same constant in two places
    /// is two weights: zeros of one shape are one constant, whatever they stand for.
    fn uses(&self) -> Vec<(usize, usize)> {
        let graph = &self.graph;
        let nodes = graph.ancestors(&[self.end], &[self.x]);
        let varies = graph.active(&nodes, &[self.x]);
        // Values behind a product with a weight. What comes before is how samples are prepared.
        let mut behind = vec![false; varies.len()];
        let mut uses = Vec::new();
        for n in nodes {
            let node = &graph.nodes()[n];
            if !node.outs.iter().any(|o| varies[o.index()]) {
                continue;
            }
            let is_product =
                matches!(node.op.calculus(), Calculus::Bilinear(_)) && !node.op.is_elementwise();
            let learns = is_product || node.args.iter().any(|a| behind[a.index()]);
            let takes = |position: usize| match node.op.calculus() {
                Calculus::Bilinear(_) => true,
                Calculus::Linear(linear) => linear.active(position),
                _ => false,
            };
            let held = (0..node.args.len())
                .filter(|&at| learns && takes(at) && self.constant(node.args[at]).is_some());
            uses.extend(held.map(|at| (n, at)));
            for out in &node.outs {
                behind[out.index()] = learns;
            }
        }
        uses
    }

    /// The constant of more than one number that a value is, or is laid out from.
    fn constant(&self, mut id: Id) -> Option<Id> {
        loop {
            if let Some(tensor) = self.graph.as_constant(id) {
                let is_weight = self.graph.fact(id).dtype == DType::Float && tensor.len() > 1;
                return is_weight.then_some(id);
            }
            let node = self.graph.node_of(id);
            match (node.op.calculus(), &node.args[..]) {
                (Calculus::Linear(_), &[arg]) => id = arg,
                _ => return None,
            }
        }
    }

    /// The weights of the file, by use.
    fn weights(&self) -> Vec<ArrayD<f32>> {
        let uses = self.uses();
        let constants =
            uses.iter().filter_map(|&(n, at)| self.constant(self.graph.nodes()[n].args[at]));
        let tensors = constants.filter_map(|id| self.graph.as_constant(id)?.as_float().ok());
        #[expect(clippy::cast_possible_truncation, reason = "weights are single precision")]
        tensors.map(|t| t.mapv(|v| v as f32)).collect()
    }

    /// A value that holds a weight, with the weight in place of its constant.
    fn rebuild(&self, host: &mut Graph, id: Id, weight: Id) -> Result<Id, OpError> {
        if self.graph.as_constant(id).is_some() {
            return Ok(weight);
        }
        let node = self.graph.node_of(id);
        let arg = self.rebuild(host, node.args[0], weight)?;
        Ok(host.push(node.op.clone(), &[arg])?[0])
    }
}

impl Layer for Body {
    fn name(&self) -> &'static str {
        "pretrained"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        let uses = self.uses();
        let mut instead = |host: &mut Graph, n: usize, at: usize| {
            let Some(number) = uses.iter().position(|u| *u == (n, at)) else { return Ok(None) };
            let arg = self.graph.nodes()[n].args[at];
            let Some(constant) = self.constant(arg) else { return Ok(None) };
            let shape: Vec<usize> = self.graph.fact(constant).at(0).shape;
            let name = number.to_string();
            let weight = scope.weight(&mut Build::new(host), &name, &shape, Start::Zeros)?;
            self.rebuild(host, arg, weight).map(Some)
        };
        let bind = [(self.x, x)];
        let found = b.graph_mut().absorb_with(&self.graph, &bind, &[self.end], &mut instead)?;
        Ok(found[0])
    }
}
