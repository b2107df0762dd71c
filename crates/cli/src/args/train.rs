//! The arguments of `taste train`.

use std::{path::PathBuf, str::FromStr};

use clap::{Args, Subcommand};
use taste_train::{Augment, Diffusion, ScoreNetwork, TaskNetwork};

use super::{DataArgs, EngineArgs};

/// Train a score model, a classifier or a regressor
///
/// What comes out is an ONNX file that takes samples as they are read. A run that was interrupted goes on where it was when
/// the same command is given again, and ends as it would have. The same seed gives the same weights.
#[derive(Args)]
pub(crate) struct TrainArgs {
    #[command(subcommand)]
    pub(crate) what: TrainCommand,
}

#[derive(Subcommand)]
pub(crate) enum TrainCommand {
    Score(Box<ScoreTrainingArgs>),
    Classifier(Box<ClassifierArgs>),
    Regressor(Box<RegressorArgs>),
}

/// Train a score model by denoising score matching
///
/// The network learns the noise in noisy samples, and so the score of the samples with that noise. Afterwards it is held
/// against the best Gaussian, and against the Stein identity, on samples that it did not learn from.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste train score --data train.npy --out score.onnx
  taste fit --model clf.onnx --score-model onnx:score.onnx --data train.npy -o detector.onnx
  taste train score --data mnist/train-images-idx3-ubyte.gz --out score.onnx --steps 2000 \\
      --augment shift=1 --report score.html
  taste train score --data train/ --sigma-range 0.05..2 --out score.onnx
  taste train score --data train.bin --diffusion cosine --augment flip --out unet.onnx
  taste fit --model clf.onnx --score-model ddpm:unet.onnx,t=50 --data train.bin -o detector.onnx
    The file of a diffusion model tells its schedule and how samples are scaled.")]
pub(crate) struct ScoreTrainingArgs {
    /// The deviation of the noise, in deviations of the samples [default: 0.2]
    #[arg(long, value_name = "S", allow_hyphen_values = true, conflicts_with_all = ["sigma_range", "diffusion"], help_heading = "Noise")]
    pub(crate) sigma: Option<f64>,
    /// Noise of all deviations in a range; the file holds the score of the least
    #[arg(
        long,
        value_name = "LOW..HIGH",
        allow_hyphen_values = true,
        conflicts_with = "diffusion",
        help_heading = "Noise"
    )]
    pub(crate) sigma_range: Option<Range>,
    /// The noise of a diffusion with a schedule, linear or cosine; the file holds the network that predicts the noise
    #[arg(long, value_name = "SCHEDULE", value_parser = diffusion, help_heading = "Noise")]
    pub(crate) diffusion: Option<Diffusion>,
    /// How many steps the diffusion has
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        requires = "diffusion",
        help_heading = "Noise"
    )]
    pub(crate) t_steps: usize,
    /// The network: auto, conv (the paper's), mlp or unet
    #[arg(long, default_value = "auto", help_heading = "Training")]
    pub(crate) network: ScoreNetwork,
    #[command(flatten)]
    pub(crate) learn: LearnArgs,
}

/// Train a classifier on samples with labels
///
/// Labels are whole numbers from 0 on: of IDX and CIFAR files, of folders of images by class, in an npz archive, or in the
/// column of a table.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste train classifier --data mnist/train-images-idx3-ubyte.gz \\
      --test mnist/t10k-images-idx3-ubyte.gz --out classifier.onnx
  taste train classifier --data table.csv --labels species --out classifier.onnx
  taste train classifier --start resnet18.onnx --data photos/ --out tuned.onnx")]
pub(crate) struct ClassifierArgs {
    /// The network: auto, mlp, cnn, paper-mnist or resnet20
    #[arg(long, default_value = "auto", help_heading = "Training")]
    pub(crate) network: TaskNetwork,
    /// Go on from a trained classifier: its weights are tuned, samples are read as it takes them, and if it tells another
    /// number of classes apart, its last linear layer gives way to a new one
    #[arg(long, value_name = "MODEL.onnx", conflicts_with = "network", help_heading = "Training")]
    pub(crate) start: Option<PathBuf>,
    /// How many classes [default: as many as there are labels, from 0 to the largest]
    #[arg(long, value_name = "K", help_heading = "Training")]
    pub(crate) classes: Option<usize>,
    /// Other samples with labels, to test the classifier on
    #[arg(long, value_name = "DATA")]
    pub(crate) test: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) learn: LearnArgs,
}

/// Train a regressor on a table
#[derive(Args)]
#[command(after_help = "\
Example:
  taste train regressor --data table.csv --target price --out regressor.onnx")]
pub(crate) struct RegressorArgs {
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: String,
    /// The network: auto or mlp
    #[arg(long, default_value = "auto", help_heading = "Training")]
    pub(crate) network: TaskNetwork,
    #[command(flatten)]
    pub(crate) learn: LearnArgs,
}

/// What all training has in common.
#[derive(Args)]
pub(crate) struct LearnArgs {
    /// Training data: .npy, .npz, .csv, .parquet, IDX, CIFAR binary, a folder of images; some may be gzipped
    #[arg(long, value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL.onnx")]
    pub(crate) out: PathBuf,
    /// Write a page with curves and images, too
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// How many steps [default: by the kind of samples]
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) steps: Option<u32>,
    /// How many samples a step sees [default: by the kind of samples]
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) batch: Option<u32>,
    /// The rate of Adam, which falls along a cosine [default: 0.002, or 0.0002 for a trained network]
    #[arg(long, allow_hyphen_values = true, help_heading = "Training")]
    pub(crate) rate: Option<f64>,
    /// Steps in which the rate rises [default: a fiftieth of all]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) warm_up: Option<usize>,
    /// Keep a moving average of the weights that keeps this share of itself at a step; 0 for none
    /// [default: 0.995 for scores, else 0]
    #[arg(long, value_name = "SHARE", help_heading = "Training")]
    pub(crate) average: Option<f64>,
    /// Decoupled weight decay
    #[arg(long, default_value_t = 0.0, help_heading = "Training")]
    pub(crate) weight_decay: f64,
    /// Scale gradients down to this norm
    #[arg(long, value_name = "NORM", default_value_t = 1.0, help_heading = "Training")]
    pub(crate) clip: f64,
    /// Mirror images, move them by up to so many pixels: flip, shift=2 or both
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true,
        value_parser = augment,
        help_heading = "Training"
    )]
    pub(crate) augment: Augment,
    /// The share of samples that the network does not learn from, but is judged by
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, help_heading = "Training")]
    pub(crate) held_out: f64,
    /// Stop when the held-out loss, which is computed a hundred times, did not fall for so many times
    #[arg(long, value_name = "TIMES", help_heading = "Training")]
    pub(crate) patience: Option<usize>,
    /// The seed of everything random
    #[arg(long, default_value_t = 0, help_heading = "Training")]
    pub(crate) seed: u64,
    /// Where the run is kept while it goes on [default: MODEL.onnx.checkpoint]
    #[arg(long, value_name = "FILE", help_heading = "Training")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// How often
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60.0,
        allow_hyphen_values = true,
        help_heading = "Training"
    )]
    pub(crate) checkpoint_every: f64,
    /// The shape of a sample, as 3,32,32 [default: as the file has it]
    #[arg(long, value_name = "SIZES", help_heading = "Data")]
    pub(crate) shape: Option<String>,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// Two deviations of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a range like 0.05..2");
        let (low, high) = text.split_once("..").ok_or_else(wrong)?;
        let read = |t: &str| t.trim().parse().map_err(|_| wrong());
        Ok(Self { low: read(low)?, high: read(high)? })
    }
}

fn diffusion(text: &str) -> Result<Diffusion, String> {
    [Diffusion::Linear, Diffusion::Cosine]
        .into_iter()
        .find(|d| d.name() == text)
        .ok_or_else(|| format!("no schedule {text:?}; there are linear and cosine"))
}

fn augment(text: &str) -> Result<Augment, String> {
    let mut found = Augment::default();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        match part.split_once('=') {
            None if part == "flip" => found.flip = true,
            Some(("shift", pixels)) => {
                let pixels = pixels.parse().ok().filter(|p| (1..=1024).contains(p));
                found.shift = pixels.ok_or_else(|| format!("{part:?} is no number of pixels"))?;
            }
            _ => return Err(format!("{part:?} is neither flip nor shift=PIXELS")),
        }
    }
    Ok(found)
}
