//! The step of a diffusion as features.

use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::{functions, layers};

use crate::{import::layers::linear, network::Scope};

/// The slowest wave is so many times longer than the fastest.
const RANGE: f64 = 10_000.0;

/// Waves of several lengths, then two layers.
#[derive(Debug)]
pub(super) struct Waves {
    /// How many features the waves give.
    pub(super) count: usize,
    /// How many the layers give.
    pub(super) width: usize,
    /// By how much the number of lengths is reduced when they are spread over their range.
    pub(super) shift: f64,
    /// Whether cosines come before sines.
    pub(super) cosines_first: bool,
}

impl Waves {
    /// Steps (N) as features (N × width).
    pub(super) fn embed(
        &self,
        b: &mut Build<'_>,
        step: Id,
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        let half = self.count / 2;
        let spread = half as f64 - self.shift;
        let frequencies = (0..half).map(|i| (-RANGE.ln() * i as f64 / spread).exp()).collect();
        let frequencies = b.graph_mut().constant(Tensor::floats(&[1, half], frequencies)?);
        let column = [b.fact(step).shape[0], Dim::from(1)];
        let step = b.reshape(step, &column)?;
        let angles = b.mul(step, frequencies)?;
        let (sines, cosines) = (layers::sin(b, angles)?, layers::cos(b, angles)?);
        let waves = if self.cosines_first { [cosines, sines] } else { [sines, cosines] };
        let waves = functions::concat(b, &waves, 1)?;
        scope.inside("time_embedding", |scope| {
            let y = scope.inside("linear_1", |scope| linear(b, waves, self.width, scope))?;
            let y = layers::silu(b, y)?;
            scope.inside("linear_2", |scope| linear(b, y, self.width, scope))
        })
    }
}
