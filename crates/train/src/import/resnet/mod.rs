//! Residual networks under the names of torchvision.

mod layout;

use std::{fmt, str::FromStr};

use ndarray::ArrayD;
use taste_graph::{
    Build, Dim, Id, OpError,
    algebra::{Scatter, Slice, Span},
};
use taste_ops::{functions, layers};

use super::{
    Blueprint, Options, Weights,
    layers::{convolve_normalized, linear},
};
use crate::network::{Scope, size};
use layout::{Block, Layout, Shortcut};

/// How a residual network starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stem {
    /// A convolution of stride 2 and a maximum over squares: for large images.
    ImageNet,
    /// A convolution of stride 1 alone: for small images.
    Cifar,
    /// A convolution of stride 1 and a maximum over squares.
    CifarPool,
}

impl Stem {
    /// The distance of the first convolution's windows.
    fn stride(self) -> usize {
        if self == Self::ImageNet { 2 } else { 1 }
    }
}

impl fmt::Display for Stem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ImageNet => "imagenet",
            Self::Cifar => "cifar",
            Self::CifarPool => "cifar-pool",
        })
    }
}

impl FromStr for Stem {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let all = [Self::ImageNet, Self::Cifar, Self::CifarPool];
        all.into_iter()
            .find(|stem| stem.to_string() == s)
            .ok_or_else(|| format!("no stem {s:?}; there are imagenet, cifar and cifar-pool"))
    }
}

/// A residual network whose layout was read off its tensors.
#[derive(Debug)]
pub(super) struct ResNet {
    layout: Layout,
    stem: Stem,
    size: (usize, usize),
    normal: Option<Normal>,
}

/// What images are brought to first, channel by channel.
#[derive(Debug)]
struct Normal {
    mean: Vec<f64>,
    std: Vec<f64>,
}

/// Weights under torchvision's names, without counters of batches.
pub(super) fn common(mut weights: Weights) -> Weights {
    weights.rename(|name| {
        let name = name.replace(".shortcut.", ".downsample.");
        let name = name.strip_prefix("linear.").map_or(name.clone(), |rest| format!("fc.{rest}"));
        (!name.ends_with("num_batches_tracked")).then_some(name)
    });
    weights
}

/// The network that a file holds the weights of.
pub(super) fn read(weights: &Weights, options: &Options) -> Result<ResNet, String> {
    let layout = Layout::read(weights)?;
    let small = layout.kernel <= 3;
    let stem = options.stem.unwrap_or(if small { Stem::Cifar } else { Stem::ImageNet });
    let side = if small { 32 } else { 224 };
    let size = options.size.unwrap_or((side, side));
    let normal = normalisation(&options.mean, &options.std, layout.inputs)?;
    Ok(ResNet { layout, stem, size, normal })
}

fn normalisation(mean: &[f32], std: &[f32], channels: usize) -> Result<Option<Normal>, String> {
    if mean.is_empty() && std.is_empty() {
        return Ok(None);
    }
    let by_channel = |what: &str, list: &[f32], default: f64| {
        let list: Vec<f64> = list.iter().map(|&v| v.into()).collect();
        match list.len() {
            0 => Ok(vec![default; channels]),
            1 => Ok(vec![list[0]; channels]),
            n if n == channels => Ok(list),
            n => Err(format!("the {what} has {n} entries, and images have {channels} channels")),
        }
    };
    let (mean, std) = (by_channel("mean", mean, 0.0)?, by_channel("deviation", std, 1.0)?);
    if std.iter().any(|s| !s.is_finite() || *s <= 0.0) || mean.iter().any(|m| !m.is_finite()) {
        return Err("means must be finite, and deviations positive".to_owned());
    }
    Ok(Some(Normal { mean, std }))
}

impl Blueprint for ResNet {
    fn describe(&self) -> String {
        format!("{}, {} stem", self.layout.describe(), self.stem)
    }

    fn sample_shape(&self) -> Vec<usize> {
        vec![self.layout.inputs, self.size.0, self.size.1]
    }

    fn ports(&self) -> (&'static str, &'static [&'static str], &'static str) {
        ("input", &[], "logits")
    }

    fn build(
        &self,
        b: &mut Build<'_>,
        inputs: &[Id],
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        let &[mut x] = inputs else { return Err(OpError::invalid("it wants images")) };
        if let Some(Normal { mean, std }) = &self.normal {
            let mut channels = |values: Vec<f64>| {
                let shape = vec![values.len(), 1, 1];
                let values = ArrayD::from_shape_vec(shape, values);
                let values = values.map_err(|e| OpError::invalid(e.to_string()))?;
                Ok::<_, OpError>(b.graph_mut().constant(values.into()))
            };
            let factor = channels(std.iter().map(|s| 1.0 / s).collect())?;
            let mean = channels(mean.clone())?;
            x = b.sub(x, mean)?;
            x = b.mul(x, factor)?;
        }
        let Layout { width, kernel, classes, .. } = self.layout;
        let stem = [width, kernel, self.stem.stride()];
        x = convolve_normalized(b, x, ["conv1", "bn1"], stem, scope)?;
        x = functions::relu(b, x)?;
        if self.stem != Stem::Cifar {
            x = layers::max_pool_between(b, x, [3, 2, 1])?;
        }
        for (stage, blocks) in self.layout.stages.iter().enumerate() {
            for (number, block) in blocks.iter().enumerate() {
                let stride = if stage > 0 && number == 0 { 2 } else { 1 };
                let name = format!("layer{}.{number}", stage + 1);
                x = scope.inside(&name, |scope| build_block(b, x, (block, stride), scope))?;
            }
        }
        x = global_average(b, x)?;
        scope.inside("fc", |scope| linear(b, x, classes, scope))
    }
}

/// ReLU(shortcut(x) + f(x)).
fn build_block(
    b: &mut Build<'_>,
    x: Id,
    (block, stride): (&Block, usize),
    scope: &mut Scope<'_>,
) -> Result<Id, OpError> {
    let mut y = x;
    for (number, &[channels, kernel]) in block.convolutions.iter().enumerate() {
        if number > 0 {
            y = functions::relu(b, y)?;
        }
        let names = [format!("conv{}", number + 1), format!("bn{}", number + 1)];
        let stride = if number == block.strided() { stride } else { 1 };
        let names = [names[0].as_str(), names[1].as_str()];
        y = convolve_normalized(b, y, names, [channels, kernel, stride], scope)?;
    }
    let width = size(b, y, 1)?;
    let x = match block.shortcut {
        Shortcut::Same => x,
        Shortcut::Convolution => {
            let names = ["downsample.0", "downsample.1"];
            convolve_normalized(b, x, names, [width, 1, stride], scope)?
        }
        Shortcut::Padded => thin_out(b, x, width, stride)?,
    };
    let sum = b.add(x, y)?;
    functions::relu(b, sum)
}

/// Every `stride`th pixel, with channels of zeros on either side up to so many.
fn thin_out(b: &mut Build<'_>, x: Id, width: usize, stride: usize) -> Result<Id, OpError> {
    let channels = size(b, x, 1)?;
    let step = isize::try_from(stride).map_err(|e| OpError::invalid(e.to_string()))?;
    let every = |axis: usize| {
        let len = size(b, x, axis)?.div_ceil(stride);
        Ok::<_, OpError>((axis, Span { start: 0, step, len }))
    };
    let spans = vec![every(2)?, every(3)?];
    let x = if stride == 1 { x } else { b.push(Slice { spans }, &[x])? };
    let span = Span { start: width.saturating_sub(channels) / 2, step: 1, len: channels };
    b.push(Scatter { spans: vec![(1, span)], sizes: vec![width] }, &[x])
}

/// The mean over whole images: N × C.
fn global_average(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let pixels = size(b, x, 2)?.saturating_mul(size(b, x, 3)?);
    let shape: Vec<Dim> = b.fact(x).shape[..2].to_vec();
    let sum = b.sum(x, &[2, 3])?;
    let mean = b.scale(sum, 1.0 / pixels as f64)?;
    b.reshape(mean, &shape)
}
