//! The layers.

use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::{functions, layers};

use super::{Layer, Network, Scope, Start};

/// The added variance that keeps a normalisation finite.
const EPSILON: f64 = 1e-5;

/// The size of an axis that does not depend on the batch.
pub(crate) fn size(b: &Build<'_>, x: Id, axis: usize) -> Result<usize, OpError> {
    let fixed = b.fact(x).shape.get(axis).and_then(|d| d.as_fixed());
    fixed
        .and_then(|d| usize::try_from(d).ok())
        .ok_or_else(|| OpError::shape("an axis of known size, number", axis, b.fact(x)))
}

fn expect_rank(b: &Build<'_>, x: Id, rank: usize, what: &str) -> Result<(), OpError> {
    if b.fact(x).rank() == rank {
        Ok(())
    } else {
        Err(OpError::invalid(format!("it wants {what}")))
    }
}

const VECTORS: &str = "samples that are vectors; flatten comes before it";
const IMAGES: &str = "samples that are channels × height × width";

#[derive(Debug)]
pub(super) struct Dense {
    pub(super) width: usize,
}

impl Layer for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        expect_rank(b, x, 2, VECTORS)?;
        let inputs = size(b, x, 1)?;
        let weight = scope.weight(b, "weight", &[inputs, self.width], Start::He { inputs })?;
        let bias = scope.weight(b, "bias", &[self.width], Start::Zeros)?;
        let y = functions::matmul(b, x, weight)?;
        b.add(y, bias)
    }
}

#[derive(Debug)]
pub(super) struct Convolution {
    pub(super) channels: usize,
    pub(super) size: usize,
    pub(super) stride: usize,
}

impl Layer for Convolution {
    fn name(&self) -> &'static str {
        "conv"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        expect_rank(b, x, 4, IMAGES)?;
        if self.size.is_multiple_of(2) {
            return Err(OpError::invalid(format!("its kernel has the even size {}", self.size)));
        }
        let channels = size(b, x, 1)?;
        let shape = [self.channels, channels, self.size, self.size];
        let inputs = channels.saturating_mul(self.size * self.size);
        let weight = scope.weight(b, "weight", &shape, Start::He { inputs })?;
        let bias = scope.weight(b, "bias", &[self.channels], Start::Zeros)?;
        let y = layers::convolve(b, x, weight, self.stride, self.size / 2)?;
        let bias = b.reshape(bias, &[self.channels.into(), 1.into(), 1.into()])?;
        b.add(y, bias)
    }
}

#[derive(Debug)]
pub(super) enum Activation {
    Relu,
    Silu,
    Gelu,
    Tanh,
    Softplus,
}

impl Layer for Activation {
    fn name(&self) -> &'static str {
        match self {
            Self::Relu => "relu",
            Self::Silu => "silu",
            Self::Gelu => "gelu",
            Self::Tanh => "tanh",
            Self::Softplus => "softplus",
        }
    }

    fn build(&self, b: &mut Build<'_>, x: Id, _scope: &mut Scope<'_>) -> Result<Id, OpError> {
        match self {
            Self::Relu => functions::relu(b, x),
            Self::Silu => layers::silu(b, x),
            Self::Gelu => layers::gelu(b, x),
            Self::Tanh => functions::tanh(b, x),
            Self::Softplus => layers::softplus(b, x),
        }
    }
}

/// A layer without weights: its type, name and what it computes.
macro_rules! plain {
    ($layer:ident { $($field:ident),* }, $name:literal, $rank:literal, |$b:ident, $x:ident| $body:expr) => {
        #[derive(Debug)]
        pub(super) struct $layer { $(pub(super) $field: usize),* }

        impl Layer for $layer {
            fn name(&self) -> &'static str {
                $name
            }

            fn build(&self, $b: &mut Build<'_>, $x: Id, _: &mut Scope<'_>) -> Result<Id, OpError> {
                expect_rank($b, $x, $rank, IMAGES)?;
                $(let $field = self.$field;)*
                $body
            }
        }
    };
}

plain!(AveragePool { size }, "average pool", 4, |b, x| layers::average_pool(b, x, size));
plain!(MaxPool { size }, "max pool", 4, |b, x| layers::max_pool(b, x, size));
plain!(Enlarge { factor }, "enlarge", 4, |b, x| layers::enlarge(b, x, factor));

#[derive(Debug)]
pub(super) struct GlobalAverage;

impl Layer for GlobalAverage {
    fn name(&self) -> &'static str {
        "global average"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, _scope: &mut Scope<'_>) -> Result<Id, OpError> {
        expect_rank(b, x, 4, IMAGES)?;
        let pixels = size(b, x, 2)?.saturating_mul(size(b, x, 3)?);
        let shape = b.fact(x).shape[..2].to_vec();
        let sum = b.sum(x, &[2, 3])?;
        let mean = b.scale(sum, 1.0 / pixels as f64)?;
        b.reshape(mean, &shape)
    }
}

#[derive(Debug)]
pub(super) struct Flatten;

impl Layer for Flatten {
    fn name(&self) -> &'static str {
        "flatten"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, _scope: &mut Scope<'_>) -> Result<Id, OpError> {
        let rank = b.fact(x).rank();
        let entries = (1..rank).try_fold(1usize, |n, axis| {
            let count = n.checked_mul(size(b, x, axis)?);
            count.ok_or_else(|| OpError::invalid("a sample beyond memory"))
        })?;
        let batch = b.fact(x).shape[0];
        b.reshape(x, &[batch, Dim::from(entries)])
    }
}

#[derive(Debug)]
pub(super) struct Reshape {
    pub(super) shape: Vec<usize>,
}

impl Layer for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, _scope: &mut Scope<'_>) -> Result<Id, OpError> {
        let batch = std::iter::once(b.fact(x).shape[0]);
        let shape: Vec<Dim> = batch.chain(self.shape.iter().map(|&d| Dim::from(d))).collect();
        b.reshape(x, &shape)
    }
}

#[derive(Debug)]
pub(super) struct GroupNorm {
    pub(super) groups: usize,
}

impl Layer for GroupNorm {
    fn name(&self) -> &'static str {
        "group norm"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        let channels = size(b, x, 1)?;
        let scale = scope.weight(b, "scale", &[channels], Start::Ones)?;
        let shift = scope.weight(b, "shift", &[channels], Start::Zeros)?;
        layers::normalize_groups(b, x, self.groups, [scale, shift], EPSILON)
    }
}

#[derive(Debug)]
pub(super) struct LayerNorm;

impl Layer for LayerNorm {
    fn name(&self) -> &'static str {
        "layer norm"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        let entries = size(b, x, b.fact(x).rank() - 1)?;
        let scale = scope.weight(b, "scale", &[entries], Start::Ones)?;
        let shift = scope.weight(b, "shift", &[entries], Start::Zeros)?;
        layers::normalize_last(b, x, [scale, shift], EPSILON)
    }
}

#[derive(Debug)]
pub(super) struct Residual {
    pub(super) block: Network,
}

impl Residual {
    /// x in the shape of y.
    fn shortcut(b: &mut Build<'_>, x: Id, y: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        if b.fact(x) == b.fact(y) {
            return Ok(x);
        }
        if b.fact(x).rank() != 4 || b.fact(y).rank() != 4 {
            let misfit = format!("its layers end in {}", b.fact(y));
            return Err(OpError::invalid(misfit));
        }
        let stride = size(b, x, 2)?.div_ceil(size(b, y, 2)?.max(1));
        let layer = Convolution { channels: size(b, y, 1)?, size: 1, stride };
        let shortcut = scope.inside("shortcut", |scope| layer.build(b, x, scope))?;
        if b.fact(shortcut) == b.fact(y) {
            Ok(shortcut)
        } else {
            Err(OpError::invalid(format!("its layers end in {}", b.fact(y))))
        }
    }
}

impl Layer for Residual {
    fn name(&self) -> &'static str {
        "residual"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        let y = self.block.build_layers(b, x, scope)?;
        let x = Self::shortcut(b, x, y, scope)?;
        b.add(x, y)
    }
}
