//! Networks conditioned on a noise level.

use ndarray::ArrayD;
use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::{functions, layers};

use super::{Layer, Scope, layers::Dense};

/// Pairs of waves that a level becomes.
const WAVES: usize = 16;

/// A level (N × 1) as features (N × `width`): waves of several lengths, then two layers. Levels are brought to about
/// 0 to 1 by `scale` first.
pub(super) fn embed(
    b: &mut Build<'_>,
    level: Id,
    scale: f64,
    width: usize,
    scope: &mut Scope<'_>,
) -> Result<Id, OpError> {
    let frequencies: Vec<f64> =
        (0..WAVES).map(|i| scale * 100f64.powf(i as f64 / (WAVES - 1) as f64)).collect();
    let frequencies = ArrayD::from_shape_vec(vec![1, WAVES], frequencies)
        .map_err(|e| OpError::invalid(e.to_string()))?;
    let frequencies = b.graph_mut().constant(frequencies.into());
    let angles = functions::matmul(b, level, frequencies)?;
    let waves = [layers::sin(b, angles)?, layers::cos(b, angles)?];
    let features = functions::concat(b, &waves, 1)?;
    let hidden = scope.inside("0", |scope| Dense { width }.build(b, features, scope))?;
    let hidden = layers::silu(b, hidden)?;
    scope.inside("1", |scope| Dense { width }.build(b, hidden, scope))
}

/// x plus an affine function of the noise level's features, for each channel or entry.
#[derive(Debug)]
pub(super) struct Condition;

impl Layer for Condition {
    fn name(&self) -> &'static str {
        "condition"
    }

    fn build(&self, b: &mut Build<'_>, x: Id, scope: &mut Scope<'_>) -> Result<Id, OpError> {
        let missing = || OpError::invalid("the network is not conditioned on a noise level");
        let features = scope.condition().ok_or_else(missing)?;
        let features = layers::silu(b, features)?;
        let shape = b.fact(x).shape.clone();
        let width = shape.get(1).and_then(|d| d.as_fixed()).and_then(|d| usize::try_from(d).ok());
        let width = width.ok_or_else(|| OpError::invalid("it wants channels or entries"))?;
        let offset = Dense { width }.build(b, features, scope)?;
        let mut offset_shape = b.fact(offset).shape.clone();
        offset_shape.resize(shape.len(), Dim::from(1));
        let offset = b.reshape(offset, &offset_shape)?;
        b.add(x, offset)
    }
}
