//! What the levels of a U-Net are made of.

use taste_graph::{Build, Id, OpError};
use taste_ops::layers;

use crate::{
    import::layers::{linear, normalize, over_pixels},
    network::{Scope, convolve, mix, size},
};

/// What all blocks of a network have in common.
#[derive(Debug)]
pub(super) struct Block {
    /// Channels are normalised in so many groups.
    pub(super) groups: usize,
    /// What is added to a variance.
    pub(super) epsilon: f64,
    /// Channels of a head of attention; nothing for one head with all of them.
    pub(super) head: Option<usize>,
}

impl Block {
    pub(super) fn norm(&self) -> (usize, f64) {
        (self.groups, self.epsilon)
    }

    /// (x + f(x)) / scale: two convolutions, each after a normalisation and an activation, conditioned on the step in
    /// between.
    pub(super) fn residual(
        &self,
        b: &mut Build<'_>,
        x: Id,
        time: Id,
        (number, width): (usize, usize),
        scale: f64,
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        scope.inside(&format!("resnets.{number}"), |scope| {
            let y = scope.inside("norm1", |scope| normalize(b, x, self.norm(), scope))?;
            let y = layers::silu(b, y)?;
            let y = convolve(b, y, [width, 3, 1], "conv1", scope)?;
            let time = layers::silu(b, time)?;
            let time = scope.inside("time_emb_proj", |scope| linear(b, time, width, scope))?;
            let time = over_pixels(b, time)?;
            let y = b.add(y, time)?;
            let y = scope.inside("norm2", |scope| normalize(b, y, self.norm(), scope))?;
            let y = layers::silu(b, y)?;
            let y = convolve(b, y, [width, 3, 1], "conv2", scope)?;
            let x = if size(b, x, 1)? == width {
                x
            } else {
                convolve(b, x, [width, 1, 1], "conv_shortcut", scope)?
            };
            let sum = b.add(x, y)?;
            b.scale(sum, 1.0 / scale)
        })
    }

    /// (x + attention of every pixel to all others) / scale.
    pub(super) fn attention(
        &self,
        b: &mut Build<'_>,
        x: Id,
        number: usize,
        groups: usize,
        scale: f64,
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        let channels = size(b, x, 1)?;
        let head = self.head.unwrap_or(channels);
        if head == 0 || !channels.is_multiple_of(head) {
            return Err(OpError::invalid(format!(
                "{channels} channels can't be split among heads of {head} (attention_head_dim)"
            )));
        }
        scope.inside(&format!("attentions.{number}"), |scope| {
            let normal = (groups, self.epsilon);
            let y = scope.inside("group_norm", |scope| normalize(b, x, normal, scope))?;
            let mut part = |b: &mut Build<'_>, y: Id, name: &str| {
                scope.inside(name, |scope| linear(b, y, channels, scope))
            };
            let parts = [part(b, y, "to_q")?, part(b, y, "to_k")?, part(b, y, "to_v")?];
            let mixed = mix(b, parts, channels / head)?;
            let mixed = part(b, mixed, "to_out.0")?;
            let sum = b.add(mixed, x)?;
            b.scale(sum, 1.0 / scale)
        })
    }
}
