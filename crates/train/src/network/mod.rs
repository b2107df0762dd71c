//! Networks, declared layer by layer.

mod condition;
mod layers;
mod scope;
mod unet;

use std::{fmt, sync::Arc};

use taste_graph::{Build, Dim, Fact, Graph, Id, OpError};

use crate::{Error, Parameters};
use condition::Condition;
pub(crate) use layers::size;
use layers::{
    Activation, AveragePool, Convolution, Dense, Enlarge, Flatten, GlobalAverage, GroupNorm,
    LayerNorm, MaxPool, Reshape, Residual,
};
pub(crate) use scope::Fetch;
pub use scope::{Scope, Start};
use unet::UNet;
pub(crate) use unet::{convolve, mix};

/// The input of every network.
pub(crate) const INPUT: &str = "input";
/// The noise level, one number a sample, of networks that are conditioned on it.
pub(crate) const LEVEL: &str = "level";
/// How many features a noise level becomes.
const FEATURES: usize = 64;

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
    /// What a noise level is multiplied by, where the network is conditioned on one.
    level_scale: Option<f64>,
}

impl Network {
    /// Without layers yet: samples of this shape, as `[2]` or `[channels, height, width]`.
    pub fn new(shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), layers: Vec::new(), level_scale: None }
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

    /// A network that is conditioned on a noise level: `scale` brings levels to the size of 1. Its layers `condition`
    /// and `u_net` make use of it.
    #[must_use]
    pub fn with_level(mut self, scale: f64) -> Self {
        self.level_scale = Some(scale);
        self
    }

    /// Whether the network is conditioned on a noise level.
    pub fn has_level(&self) -> bool {
        self.level_scale.is_some()
    }

    /// x plus a function of the noise level, for each channel or entry.
    #[must_use]
    pub fn condition(self) -> Self {
        self.then(Condition)
    }

    /// A U-Net: down through these widths, halving the image between them, and up again, with attention at the bottom.
    #[must_use]
    pub fn u_net(self, widths: &[usize]) -> Self {
        self.then(UNet { widths: widths.to_vec() })
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

    /// Reshapes samples; their entries stay in order.
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

    /// Adds the network to a graph; `level` is N × 1, or 1 × 1 for all samples.
    pub(crate) fn build_on(
        &self,
        b: &mut Build<'_>,
        x: Id,
        level: Option<Id>,
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        if let Some(scale) = self.level_scale {
            let level = level.ok_or_else(|| OpError::invalid("the noise level is missing"))?;
            let features =
                scope.inside(LEVEL, |scope| condition::embed(b, level, scale, FEATURES, scope))?;
            scope.set_condition(features);
        }
        self.build_layers(b, x, scope)
    }

    /// A graph with the network's inputs alone: the samples and the noise level.
    pub(crate) fn start(&self) -> (Graph, Id, Option<Id>) {
        let mut graph = Graph::new();
        let shape = std::iter::once(Dim::BATCH).chain(self.shape.iter().map(|&d| d.into()));
        let input = graph.input(INPUT, Fact::float(shape.collect()));
        let level =
            self.has_level().then(|| graph.input(LEVEL, Fact::float(vec![Dim::BATCH, 1.into()])));
        (graph, input, level)
    }

    /// The weights before training.
    pub fn parameters(&self, seed: u64) -> Result<Parameters, Error> {
        let (mut graph, x, level) = self.start();
        let mut scope = Scope::declaring();
        self.build_on(&mut Build::new(&mut graph), x, level, &mut scope)?;
        Ok(Parameters::draw(scope.declared(), seed))
    }

    /// The shape of one result.
    pub fn result_shape(&self) -> Result<Vec<usize>, Error> {
        let (mut graph, x, level) = self.start();
        let mut scope = Scope::declaring();
        let y = self.build_on(&mut Build::new(&mut graph), x, level, &mut scope)?;
        Ok(graph.fact(y).shape[1..].iter().map(|d| d.at(0)).collect())
    }

    /// Adds the network with fixed weights to a graph. The noise level, where the network is conditioned on one, is N
    /// × 1, or 1 × 1 for all samples.
    pub fn build(
        &self,
        b: &mut Build<'_>,
        x: Id,
        level: Option<Id>,
        parameters: &Parameters,
    ) -> Result<Id, OpError> {
        self.build_on(b, x, level, &mut Scope::fixed(parameters))
    }
}
