//! The layout of a residual network, read off the names and shapes of its tensors.

use crate::import::{names::shown, weights::Weights};

/// What the blocks are.
#[derive(Debug)]
pub(super) struct Layout {
    /// Channels of an image.
    pub(super) inputs: usize,
    /// Channels behind the first convolution, and its kernel's size.
    pub(super) width: usize,
    pub(super) kernel: usize,
    /// Blocks of every stage.
    pub(super) stages: Vec<Vec<Block>>,
    pub(super) classes: usize,
}

#[derive(Debug)]
pub(super) struct Block {
    /// Channels and kernel size of the convolutions, one after the other.
    pub(super) convolutions: Vec<[usize; 2]>,
    pub(super) shortcut: Shortcut,
}

impl Block {
    /// Which convolution halves images: the only one of a bottleneck that is larger than a pixel.
    pub(super) fn strided(&self) -> usize {
        usize::from(self.convolutions.len() == 3)
    }
}

/// How x gets past a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shortcut {
    /// As it is.
    Same,
    /// By a convolution of size 1.
    Convolution,
    /// With channels of zeros: no weights are needed.
    Padded,
}

/// What tells a residual network from others.
const MARKS: [&str; 4] = ["conv1.weight", "bn1.weight", "layer1.0.conv1.weight", "fc.weight"];

impl Layout {
    pub(super) fn read(weights: &Weights) -> Result<Self, String> {
        if let Some(mark) = MARKS.iter().find(|mark| weights.shape(mark).is_none()) {
            let first: Vec<String> = weights.names().take(5).map(shown).collect();
            return Err(format!(
                "its tensors ({}, …) are not those of a ResNet, which has {mark}; a diffusion model is imported from \
                 the folder with its config.json",
                first.join(", ")
            ));
        }
        let [width, inputs, kernel] = convolution(weights, "conv1.weight")?;
        let mut channels = width;
        let mut stages = Vec::new();
        for stage in 1.. {
            let mut blocks = Vec::new();
            while let Some(block) = block(weights, (stage, blocks.len()), channels)? {
                channels = block.convolutions.last().map_or(channels, |c| c[0]);
                blocks.push(block);
            }
            if blocks.is_empty() {
                break;
            }
            stages.push(blocks);
        }
        let classes = weights.shape("fc.weight").and_then(|s| s.first().copied()).unwrap_or(0);
        Ok(Self { inputs, width, kernel, stages, classes })
    }

    pub(super) fn describe(&self) -> String {
        let blocks: Vec<String> = self.stages.iter().map(|s| s.len().to_string()).collect();
        let convolutions: usize = self.stages.iter().flatten().map(|b| b.convolutions.len()).sum();
        let is_bottleneck = self.stages.iter().flatten().any(|b| b.convolutions.len() == 3);
        let kind = if is_bottleneck { "bottleneck" } else { "basic" };
        format!(
            "ResNet-{} with {} {kind} blocks, {} channels at first, {} classes",
            convolutions + 2,
            blocks.join(" + "),
            self.width,
            self.classes
        )
    }
}

/// A block, if there is one at this place.
fn block(
    weights: &Weights,
    (stage, number): (usize, usize),
    inputs: usize,
) -> Result<Option<Block>, String> {
    let name = |part: &str| format!("layer{stage}.{number}.{part}.weight");
    if weights.shape(&name("conv1")).is_none() {
        return Ok(None);
    }
    let count = if weights.shape(&name("conv3")).is_some() { 3 } else { 2 };
    let mut convolutions = Vec::new();
    let mut channels = inputs;
    for part in (1..=count).map(|i| name(&format!("conv{i}"))) {
        // What is missing is reported with everything else that is.
        if weights.shape(&part).is_none() {
            convolutions.push([channels, 3]);
            continue;
        }
        let [outputs, sees, kernel] = convolution(weights, &part)?;
        if sees < channels && channels.is_multiple_of(sees) {
            return Err(format!(
                "{part} is a convolution in {} groups, as in a ResNeXt, which is not supported",
                channels / sees
            ));
        }
        convolutions.push([outputs, kernel]);
        channels = outputs;
    }
    let of_block = format!("layer{stage}.{number}.downsample.");
    let shortcut = if weights.names().any(|name| name.starts_with(&of_block)) {
        Shortcut::Convolution
    } else if channels == inputs {
        Shortcut::Same
    } else if weights.names().any(|name| name.contains(".downsample.")) {
        // Other blocks have one: it is missing, and reported with everything else that is.
        Shortcut::Convolution
    } else {
        Shortcut::Padded
    };
    Ok(Some(Block { convolutions, shortcut }))
}

/// Outputs, inputs and kernel size of a convolution.
fn convolution(weights: &Weights, name: &str) -> Result<[usize; 3], String> {
    match weights.shape(name) {
        Some(&[outputs, inputs, height, width])
            if height == width && height % 2 == 1 && outputs > 0 && inputs > 0 =>
        {
            Ok([outputs, inputs, height])
        }
        Some(other) => Err(format!(
            "{name} has the shape {other:?}, which is no convolution with a square kernel of odd size"
        )),
        None => Err(format!("{name} is missing")),
    }
}
