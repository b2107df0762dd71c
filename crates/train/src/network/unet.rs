//! A small U-Net with attention, as diffusion models use.

use taste_graph::{Build, Id, OpError};
use taste_ops::{functions, layers};

use super::{
    Layer, Scope, Start,
    condition::Condition,
    layers::{Convolution, GroupNorm, size},
};

/// Down through `widths`, halving the image between them, and up again, with what was seen on the way down beside it;
/// attention at the bottom. It ends in as many channels as it starts with.
#[derive(Debug)]
pub(super) struct UNet {
    pub(super) widths: Vec<usize>,
}

/// Channels that are normalised together, where that divides their number.
const GROUP: usize = 8;

fn normalize(b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
    let channels = size(b, x, 1)?;
    let groups = if channels.is_multiple_of(GROUP) { channels / GROUP } else { 1 };
    GroupNorm { groups }.build(b, x, scope)
}

/// A convolution with a name, to so many channels, of this size and stride.
pub(crate) fn convolve(
    b: &mut Build<'_>,
    x: Id,
    [channels, size, stride]: [usize; 3],
    name: &str,
    scope: &mut Scope<'_>,
) -> Result<Id, OpError> {
    scope.inside(name, |scope| Convolution { channels, size, stride }.build(b, x, scope))
}

/// x + f(x): two convolutions, each after a normalisation and an activation, conditioned on the noise level in between.
fn block(b: &mut Build<'_>, x: Id, width: usize, scope: &mut Scope<'_>) -> Result<Id, OpError> {
    let y = scope.inside("norm1", |scope| normalize(b, x, scope))?;
    let y = layers::silu(b, y)?;
    let y = convolve(b, y, [width, 3, 1], "conv1", scope)?;
    let y = match scope.condition() {
        Some(_) => scope.inside("condition", |scope| Condition.build(b, y, scope))?,
        None => y,
    };
    let y = scope.inside("norm2", |scope| normalize(b, y, scope))?;
    let y = layers::silu(b, y)?;
    let y = convolve(b, y, [width, 3, 1], "conv2", scope)?;
    let x =
        if size(b, x, 1)? == width { x } else { convolve(b, x, [width, 1, 1], "shortcut", scope)? };
    b.add(x, y)
}

/// The values (N × C × H × W) of all pixels, mixed for every pixel by how its query meets their keys; channels are
/// split among heads.
pub(crate) fn mix(b: &mut Build<'_>, parts: [Id; 3], heads: usize) -> Result<Id, OpError> {
    let shape = b.fact(parts[0]).shape.clone();
    let width = size(b, parts[0], 1)? / heads.max(1);
    let pixels = size(b, parts[0], 2)?.saturating_mul(size(b, parts[0], 3)?);
    let mut flat = vec![shape[0], heads.into(), width.into(), pixels.into()];
    let mut turned = vec![0, 1, 3, 2];
    if heads == 1 {
        (flat, turned) = (vec![shape[0], width.into(), pixels.into()], vec![0, 2, 1]);
    }
    let mut split = |part: Id| b.reshape(part, &flat);
    let [query, key, value] = [split(parts[0])?, split(parts[1])?, split(parts[2])?];
    let query = b.transpose(query, &turned)?;
    let weights = functions::matmul(b, query, key)?;
    let weights = b.scale(weights, 1.0 / (width as f64).sqrt())?;
    let weights = functions::softmax(b, weights, flat.len() - 1)?;
    let weights = b.transpose(weights, &turned)?;
    let mixed = functions::matmul(b, value, weights)?;
    b.reshape(mixed, &shape)
}

/// x + attention of every pixel to all others, with one head.
fn attend(b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
    let channels = size(b, x, 1)?;
    let y = scope.inside("norm", |scope| normalize(b, x, scope))?;
    let mut part = |name: &str| convolve(b, y, [channels, 1, 1], name, scope);
    let parts = [part("query")?, part("key")?, part("value")?];
    let mixed = mix(b, parts, 1)?;
    let mixed = convolve(b, mixed, [channels, 1, 1], "out", scope)?;
    b.add(x, mixed)
}

impl Layer for UNet {
    fn name(&self) -> &'static str {
        "u-net"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        let channels = size(b, x, 1)?;
        let halvings = self.widths.len().saturating_sub(1);
        let divides = |axis| Ok::<_, OpError>(size(b, x, axis)?.is_multiple_of(1 << halvings));
        let (Some(&first), true) =
            (self.widths.first(), halvings < 16 && divides(2)? && divides(3)?)
        else {
            return Err(OpError::invalid(format!(
                "it wants widths, and images that can be halved {halvings} times"
            )));
        };
        let mut y = convolve(b, x, [first, 3, 1], "in", scope)?;
        let mut seen = Vec::new();
        for (level, &width) in self.widths.iter().enumerate() {
            let name = format!("down{level}");
            y = scope.inside(&name, |scope| {
                let y = if level == 0 { y } else { convolve(b, y, [width, 3, 2], "halve", scope)? };
                block(b, y, width, scope)
            })?;
            seen.push(y);
        }
        let bottom = *self.widths.last().unwrap_or(&first);
        y = scope.inside("middle", |scope| {
            let y = scope.inside("attention", |scope| attend(b, y, scope))?;
            block(b, y, bottom, scope)
        })?;
        for (level, &width) in self.widths.iter().enumerate().rev() {
            let name = format!("up{level}");
            y = scope.inside(&name, |scope| {
                let joined = functions::concat(b, &[y, seen[level]], 1)?;
                let y = block(b, joined, width, scope)?;
                if level == 0 {
                    return Ok(y);
                }
                let y = layers::enlarge(b, y, 2)?;
                convolve(b, y, [self.widths[level - 1], 3, 1], "enlarge", scope)
            })?;
        }
        let y = scope.inside("norm", |scope| normalize(b, y, scope))?;
        let y = layers::silu(b, y)?;
        scope.inside("out", |scope| {
            // At the start the network says that there is no noise, which is right on average.
            let weight = scope.weight(b, "weight", &[channels, first, 3, 3], Start::Zeros)?;
            let bias = scope.weight(b, "bias", &[channels], Start::Zeros)?;
            let bias = b.reshape(bias, &[channels.into(), 1.into(), 1.into()])?;
            let y = layers::convolve(b, y, weight, 1, 1)?;
            b.add(y, bias)
        })
    }
}
