//! Layers under the names that `PyTorch` gives their weights.

use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::{functions, layers};

use crate::network::{Scope, Start, size};

/// What `BatchNorm2d` adds to a variance.
const EPSILON: f64 = 1e-5;
/// Moments that a batch normalisation has seen.
const MOMENTS: [&str; 2] = ["running_mean", "running_var"];

/// Whether a tensor holds moments, which are counted rather than learnt.
pub(super) fn is_moment(name: &str) -> bool {
    MOMENTS.iter().any(|moment| name.ends_with(moment))
}

fn weight(
    b: &mut Build<'_>,
    name: &str,
    shape: &[usize],
    scope: &mut Scope<'_>,
) -> Result<Id, OpError> {
    scope.weight(b, name, shape, Start::Zeros)
}

/// x·Wᵀ + b to so many entries: of vectors, or of images at every pixel.
pub(super) fn linear(
    b: &mut Build<'_>,
    x: Id,
    outputs: usize,
    scope: &mut Scope<'_>,
) -> Result<Id, OpError> {
    let inputs = size(b, x, 1)?;
    let weights = weight(b, "weight", &[outputs, inputs], scope)?;
    let bias = weight(b, "bias", &[outputs], scope)?;
    if b.fact(x).shape.len() == 4 {
        let kernel = over_pixels(b, weights)?;
        let y = layers::convolve(b, x, kernel, 1, 0)?;
        let bias = over_pixels(b, bias)?;
        return b.add(y, bias);
    }
    let weights = b.transpose(weights, &[1, 0])?;
    let y = functions::matmul(b, x, weights)?;
    b.add(y, bias)
}

/// A 3 × 3 convolution that halves images, with so many zeros before and after them.
pub(super) fn halve(
    b: &mut Build<'_>,
    x: Id,
    pads: [usize; 2],
    scope: &mut Scope<'_>,
) -> Result<Id, OpError> {
    let channels = size(b, x, 1)?;
    let weights = weight(b, "weight", &[channels, channels, 3, 3], scope)?;
    let bias = weight(b, "bias", &[channels], scope)?;
    let y = layers::convolve_between(b, x, weights, 2, pads)?;
    let bias = over_pixels(b, bias)?;
    b.add(y, bias)
}

/// Groups of channels brought to mean 0 and deviation 1, then scaled and shifted by channel.
pub(super) fn normalize(
    b: &mut Build<'_>,
    x: Id,
    (groups, epsilon): (usize, f64),
    scope: &mut Scope<'_>,
) -> Result<Id, OpError> {
    let channels = size(b, x, 1)?;
    let scale = weight(b, "weight", &[channels], scope)?;
    let shift = weight(b, "bias", &[channels], scope)?;
    layers::normalize_groups(b, x, groups, [scale, shift], epsilon)
}

/// A convolution and the batch normalisation after it, with the moments that it has seen: together one convolution.
pub(super) fn convolve_normalized(
    b: &mut Build<'_>,
    x: Id,
    names: [&str; 2],
    [channels, kernel, stride]: [usize; 3],
    scope: &mut Scope<'_>,
) -> Result<Id, OpError> {
    let inputs = size(b, x, 1)?;
    let shape = [channels, inputs, kernel, kernel];
    let weights = scope.inside(names[0], |scope| weight(b, "weight", &shape, scope))?;
    let (factor, shift) = scope.inside(names[1], |scope| {
        let mut part = |name: &str| weight(b, name, &[channels], scope);
        let (scale, shift) = (part("weight")?, part("bias")?);
        let (mean, variance) = (part(MOMENTS[0])?, part(MOMENTS[1])?);
        let spread = b.offset(variance, EPSILON)?;
        let spread = functions::sqrt(b, spread)?;
        let inverse = functions::reciprocal(b, spread)?;
        let factor = b.mul(scale, inverse)?;
        let centre = b.mul(mean, factor)?;
        Ok::<_, OpError>((factor, b.sub(shift, centre)?))
    })?;
    let by_output = b.reshape(factor, &[channels.into(), 1.into(), 1.into(), 1.into()])?;
    let weights = b.mul(weights, by_output)?;
    let y = layers::convolve(b, x, weights, stride, kernel / 2)?;
    let shift = over_pixels(b, shift)?;
    b.add(y, shift)
}

/// Vectors or matrices as something that is the same at all pixels of images: with two more axes.
pub(super) fn over_pixels(b: &mut Build<'_>, values: Id) -> Result<Id, OpError> {
    let mut shape = b.fact(values).shape.clone();
    shape.extend([Dim::from(1), Dim::from(1)]);
    b.reshape(values, &shape)
}
