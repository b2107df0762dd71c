//! The arguments of `taste import`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use taste_train::import::{Options, Stem};

use super::data::size;

/// Make an ONNX model of published weights
///
/// A folder of diffusers (`UNet2DModel`, alone or in a pipeline) becomes a noise predictor from sample and timestep to
/// noise; the state dict of a `ResNet` (torchvision's names, and the usual ones for CIFAR) a classifier from input to logits.
/// Weights are safetensors or what torch.save writes; no code in them is run.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste import ddpm-cifar10-32/ -o unet.onnx
  taste import resnet50.safetensors -o clf.onnx
  taste import resnet18_cifar.pth --mean 0.4914,0.4822,0.4465 --std 0.2023,0.1994,0.2010 -o clf.onnx
      a classifier that takes images in [0, 1] and normalises them itself
  taste fit --model clf.onnx --score-model ddpm:ddpm-cifar10-32/,t=50 --data train.bin -o detector.onnx
      a folder of diffusers may stand for its noise predictor")]
pub(crate) struct ImportArgs {
    /// A folder with config.json and weights, or a file with a state dict: .safetensors, .pt, .pth, .bin
    #[arg(value_name = "FOLDER|FILE")]
    pub(crate) source: PathBuf,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL.onnx")]
    pub(crate) out: PathBuf,
    /// Height and width of images [default: what config.json says; 224x224 for a classifier whose first kernel is
    /// larger than 3x3, else 32x32]
    #[arg(long, value_name = "HxW")]
    size: Option<String>,
    /// How a classifier starts: imagenet (stride 2, then a maximum), cifar (stride 1) or cifar-pool (stride 1, then a
    /// maximum) [default: cifar if its first kernel is 3x3, else imagenet]
    #[arg(long)]
    stem: Option<Stem>,
    /// Let a classifier subtract this from images: one number, or one for each channel
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    mean: Vec<f32>,
    /// Let it divide by this after that
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    std: Vec<f32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ImportArgs {
    pub(crate) fn options(&self) -> Result<Options> {
        Ok(Options {
            size: self.size.as_deref().map(|text| size("--size", text)).transpose()?,
            stem: self.stem,
            mean: self.mean.clone(),
            std: self.std.clone(),
        })
    }
}
