//! The `UNet2DModel` of diffusers.

mod blocks;
mod config;
mod time;

use std::collections::BTreeSet;

use taste_graph::{Build, Id, OpError};
use taste_ops::{functions, layers};

use super::{Blueprint, Weights, layers::halve, layers::normalize};
use crate::network::{Scope, convolve};
use blocks::Block;
pub(super) use config::Config;
use time::Waves;

/// A U-Net whose configuration has been checked.
#[derive(Debug)]
pub(super) struct UNet {
    inputs: usize,
    outputs: usize,
    size: (usize, usize),
    /// Whether images in [0, 1] are brought to [−1, 1] first.
    is_centred: bool,
    waves: Waves,
    /// The channels of every level, and whether there is attention on the way down and on the way up.
    levels: Vec<Level>,
    /// Residual blocks on a level on the way down; there is one more on the way up.
    depth: usize,
    block: Block,
    /// Zeros before and after images that are halved.
    pads: [usize; 2],
    middle: Option<Middle>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    width: usize,
    attends_down: bool,
    attends_up: bool,
}

#[derive(Debug)]
struct Middle {
    attends: bool,
    attention_groups: usize,
    /// What sums are divided by.
    scale: f64,
}

/// Weights under the names of today.
pub(super) fn modern(mut weights: Weights) -> Weights {
    const ATTENTION: [(&str, &str); 4] = [
        (".query.", ".to_q."),
        (".key.", ".to_k."),
        (".value.", ".to_v."),
        (".proj_attn.", ".to_out.0."),
    ];
    let known: BTreeSet<String> = weights.names().map(str::to_owned).collect();
    weights.rename(|old| {
        let mut name = old.replace("samplers.0.Conv2d_0.", "samplers.0.conv.");
        // Old files hold the convolutions between levels twice.
        if name != old && known.contains(&name) {
            return None;
        }
        if name.contains(".attentions.") {
            for (old, new) in ATTENTION {
                name = name.replace(old, new);
            }
        }
        Some(name)
    });
    weights
}

impl Blueprint for UNet {
    fn describe(&self) -> String {
        let widths: Vec<String> = self.levels.iter().map(|l| l.width.to_string()).collect();
        format!("UNet2DModel with {} channels", widths.join(", "))
    }

    fn sample_shape(&self) -> Vec<usize> {
        vec![self.inputs, self.size.0, self.size.1]
    }

    fn ports(&self) -> (&'static str, &'static [&'static str], &'static str) {
        ("sample", &["timestep"], "noise")
    }

    fn build(
        &self,
        b: &mut Build<'_>,
        inputs: &[Id],
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        let &[mut x, step] = inputs else {
            return Err(OpError::invalid("it wants a sample and a step"));
        };
        if self.is_centred {
            x = b.scale(x, 2.0)?;
            x = b.offset(x, -1.0)?;
        }
        let time = self.waves.embed(b, step, scope)?;
        let first = self.levels.first().map_or(1, |l| l.width);
        x = convolve(b, x, [first, 3, 1], "conv_in", scope)?;
        let mut seen = vec![x];
        for (number, level) in self.levels.iter().enumerate() {
            let found = scope.inside(&format!("down_blocks.{number}"), |scope| {
                self.down(b, x, time, (number, *level), scope)
            })?;
            seen.extend(found);
            x = seen[seen.len() - 1];
        }
        if let Some(middle) = &self.middle {
            x = scope.inside("mid_block", |scope| self.middle(b, x, time, middle, scope))?;
        }
        for (number, level) in self.levels.iter().rev().enumerate() {
            let beside = seen.split_off(seen.len().saturating_sub(self.depth + 1));
            x = scope.inside(&format!("up_blocks.{number}"), |scope| {
                self.up(b, [x, time], &beside, (number, *level), scope)
            })?;
        }
        let normal = self.block.norm();
        x = scope.inside("conv_norm_out", |scope| normalize(b, x, normal, scope))?;
        x = layers::silu(b, x)?;
        convolve(b, x, [self.outputs, 3, 1], "conv_out", scope)
    }
}

impl UNet {
    fn is_last(&self, number: usize) -> bool {
        number + 1 == self.levels.len()
    }

    /// The results of all layers of a level: the way up looks at each.
    fn down(
        &self,
        b: &mut Build<'_>,
        mut x: Id,
        time: Id,
        (number, level): (usize, Level),
        scope: &mut Scope<'_>,
    ) -> Result<Vec<Id>, OpError> {
        let mut found = Vec::new();
        for step in 0..self.depth {
            x = self.block.residual(b, x, time, (step, level.width), 1.0, scope)?;
            if level.attends_down {
                x = self.block.attention(b, x, step, self.block.groups, 1.0, scope)?;
            }
            found.push(x);
        }
        if !self.is_last(number) {
            x = scope.inside("downsamplers.0.conv", |scope| halve(b, x, self.pads, scope))?;
            found.push(x);
        }
        Ok(found)
    }

    fn middle(
        &self,
        b: &mut Build<'_>,
        x: Id,
        time: Id,
        middle: &Middle,
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        let Middle { attends, attention_groups, scale } = *middle;
        let width = self.levels.last().map_or(1, |l| l.width);
        let mut x = self.block.residual(b, x, time, (0, width), scale, scope)?;
        if attends {
            x = self.block.attention(b, x, 0, attention_groups, scale, scope)?;
        }
        self.block.residual(b, x, time, (1, width), scale, scope)
    }

    /// With what was found on the way down, the last of it first.
    fn up(
        &self,
        b: &mut Build<'_>,
        [mut x, time]: [Id; 2],
        beside: &[Id],
        (number, level): (usize, Level),
        scope: &mut Scope<'_>,
    ) -> Result<Id, OpError> {
        for (step, &found) in beside.iter().rev().enumerate() {
            x = functions::concat(b, &[x, found], 1)?;
            x = self.block.residual(b, x, time, (step, level.width), 1.0, scope)?;
            if level.attends_up {
                x = self.block.attention(b, x, step, self.block.groups, 1.0, scope)?;
            }
        }
        if self.is_last(number) {
            return Ok(x);
        }
        x = layers::enlarge(b, x, 2)?;
        convolve(b, x, [level.width, 3, 1], "upsamplers.0.conv", scope)
    }
}
