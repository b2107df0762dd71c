//! Networks, declared layer by layer.

mod layers;
mod scope;

use std::{fmt, sync::Arc};

use taste_graph::{Build, Dim, Fact, Graph, Id, OpError};

use crate::{Error, Parameters};
use layers::{
    Activation, AveragePool, Convolution, Dense, Enlarge, Flatten, GlobalAverage, GroupNorm,
    LayerNorm, MaxPool, Reshape, Residual,
};
pub use scope::{Scope, Start};

/// The input of every network.
pub(crate) const INPUT: &str = "input";

/// A part of a network: what it computes, and with which weights.
pub trait Layer: fmt::Debug + Send + Sync {
    /// A name for messages and for the names of weights.
    fn name(&self) -> &'static str;

    /// Adds the layer to a graph; its weights come from the scope.
    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError>;
}

/// Layers one after the other, on samples of one shape.
#[derive(Clone, Debug)]
pub struct Network {
    shape: Vec<usize>,
    layers: Vec<Arc<dyn Layer>>,
}

impl Network {
    /// Without layers yet: samples of this shape, as `[2]` or `[channels, height, width]`.
    pub fn new(shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), layers: Vec::new() }
    }

    /// The sizes of one sample.
    pub fn sample_shape(&self) -> &[usize] {
        &self.shape
    }

    /// With one more layer.
    #[must_use]
    pub fn then(mut self, layer: impl Layer + 'static) -> Self {
        self.layers.push(Arc::new(layer));
        self
    }

    /// x·W + b, to `width` entries.
    #[must_use]
    pub fn dense(self, width: usize) -> Self {
        self.then(Dense { width })
    }

    /// A convolution with `channels` kernels of `size` × `size` and as much padding as keeps the size of the
    /// image.
    #[must_use]
    pub fn conv(self, channels: usize, size: usize) -> Self {
        self.then(Convolution { channels, size, stride: 1 })
    }

    /// A convolution that moves by `stride`.
    #[must_use]
    pub fn conv_stride(self, channels: usize, size: usize, stride: usize) -> Self {
        self.then(Convolution { channels, size, stride })
    }

    /// max(x, 0).
    #[must_use]
    pub fn relu(self) -> Self {
        self.then(Activation::Relu)
    }

    /// x·σ(x).
    #[must_use]
    pub fn silu(self) -> Self {
        self.then(Activation::Silu)
    }

    /// x·Φ(x).
    #[must_use]
    pub fn gelu(self) -> Self {
        self.then(Activation::Gelu)
    }

    /// tanh(x).
    #[must_use]
    pub fn tanh(self) -> Self {
        self.then(Activation::Tanh)
    }

    /// log(1 + eˣ).
    #[must_use]
    pub fn softplus(self) -> Self {
        self.then(Activation::Softplus)
    }

    /// The mean over squares of `size` × `size` side by side.
    #[must_use]
    pub fn average_pool(self, size: usize) -> Self {
        self.then(AveragePool { size })
    }

    /// The largest entry of squares of `size` × `size` side by side.
    #[must_use]
    pub fn max_pool(self, size: usize) -> Self {
        self.then(MaxPool { size })
    }

    /// The mean over the whole image: one entry a channel.
    #[must_use]
    pub fn global_average(self) -> Self {
        self.then(GlobalAverage)
    }

    /// Every pixel as a square of `factor` × `factor`.
    #[must_use]
    pub fn enlarge(self, factor: usize) -> Self {
        self.then(Enlarge { factor })
    }

    /// All entries of a sample as one vector.
    #[must_use]
    pub fn flatten(self) -> Self {
        self.then(Flatten)
    }

    /// Groups of channels brought to mean 0 and deviation 1, then scaled and shifted by channel.
    #[must_use]
    pub fn group_norm(self, groups: usize) -> Self {
        self.then(GroupNorm { groups })
    }

    /// The last axis brought to mean 0 and deviation 1, then scaled and shifted by entry.
    #[must_use]
    pub fn layer_norm(self) -> Self {
        self.then(LayerNorm)
    }

    /// The same entries in another shape.
    #[must_use]
    pub fn reshape(self, shape: &[usize]) -> Self {
        self.then(Reshape { shape: shape.to_vec() })
    }

    /// x + f(x) for the layers of f, declared on a network that starts where this one ends; where their shapes
    /// differ, x goes through a convolution of size 1 with the stride that fits.
    #[must_use]
    pub fn residual(self, block: impl FnOnce(Self) -> Self) -> Self {
        let block = block(Self::new(&[]));
        self.then(Residual { block })
    }

    /// Adds the layers to a graph.
    pub(crate) fn build_layers(
        &self,
        b: &mut Build<'_>,
        mut x: Id,
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        for (position, layer) in self.layers.iter().enumerate() {
            let name = layer.name();
            let place = format!("{position}.{name}");
            x = scope.inside(&place, |scope| layer.build(b, x, scope)).map_err(|cause| {
                let before = b.fact(x);
                OpError::invalid(format!("{name} at position {position}, on {before}: {cause}"))
            })?;
        }
        Ok(x)
    }

    /// A graph with the network's input alone.
    pub(crate) fn start(&self) -> (Graph, Id) {
        let mut graph = Graph::new();
        let shape = std::iter::once(Dim::BATCH).chain(self.shape.iter().map(|&d| d.into()));
        let input = graph.input(INPUT, Fact::float(shape.collect()));
        (graph, input)
    }

    /// The weights before training.
    pub fn parameters(&self, seed: u64) -> Result<Parameters, Error> {
        let (mut graph, x) = self.start();
        let mut scope = Scope::declaring();
        self.build_layers(&mut Build::new(&mut graph), x, &mut scope)?;
        Ok(Parameters::draw(scope.declared(), seed))
    }

    /// The shape of one result.
    pub fn result_shape(&self) -> Result<Vec<usize>, Error> {
        let (mut graph, x) = self.start();
        let y = self.build_layers(&mut Build::new(&mut graph), x, &mut Scope::declaring())?;
        Ok(graph.fact(y).shape[1..].iter().map(|d| d.at(0)).collect())
    }

    /// Adds the network with fixed weights to a graph.
    pub fn build(&self, b: &mut Build<'_>, x: Id, parameters: &Parameters) -> Result<Id, OpError> {
        self.build_layers(b, x, &mut Scope::fixed(parameters))
    }
}
