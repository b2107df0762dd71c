//! The arguments of `taste fit`.

use std::path::PathBuf;

use clap::Args;
use taste_engine::{LaplacianMethod, Target};
use taste_stein::{Aggregate, Operator, Tail, stats::conformal::Rule};

use super::{DataArgs, RunArgs};

/// Make a detector of a model, a score model and data
///
/// The detector is one ONNX file with the outputs residual, score, `p_value` and flag (and residuals, map): it runs in
/// taste and in any ONNX Runtime. The score model is fitted to training data; mean residuals and the calibration scores
/// come from samples that nothing was fitted to.
#[derive(Args)]
#[command(after_help = "\
Operators, for a function f of the model and the score s:
  langevin                      Laplacian of f + s . gradient of f
  no-laplacian                  s . gradient of f
  score-only                    length of s: the data alone, without the model
  first-order:V                 V . gradient of f + f (V . s), along a direction V
  first-order-norm              squared length of (gradient of f + f s)

Aggregates of the residuals of all classes:
  l2, max                       their length, the largest of their sizes
  predicted, class:K            that of the predicted class, of class K
  profile, profile+score        a distance that is learnt from residuals, gradients (and the score)

Score models:
  standard-normal               s(y) = -y
  gaussian, gaussian:diagonal   fitted here, with shrinkage
  gmm, gmm:K                    Gaussian mixture, K by BIC if not given
  kde, kde:H                    kernel density, bandwidth by likelihood if not given
  onnx:FILE                     a network that gives s(x)
  log-density:FILE              a network that gives log p(x); its gradient is taken here
  ddpm:FILE,t=50                a noise predictor of a diffusion model at step t
  train, train:steps=500        a network trained here by denoising score matching
  ddpm:FOLDER,t=50              the same from a folder of diffusers, with the schedule in it

Examples:
  taste fit --model clf.onnx --score gaussian --data train.npy -o detector.onnx
  taste fit --model clf.onnx --score gmm:10 --data train/ --calibration held-out/ --map -o det.onnx
  taste fit --model mnist.onnx --score train --data train-images-idx3-ubyte.gz -o detector.onnx
  taste fit --model mlp.onnx --score kde --data table.csv --label target --alpha 0.01 -o det.onnx
  taste fit --model resnet.onnx --score ddpm:unet.onnx,t=50 --mean 0.4914,0.4822,0.4465 \\
      --std 0.2023,0.1994,0.2010 --data train.bin --aggregate profile -o det.onnx
    Pictures are normalised for the model; the diffusion model gets them in [-1, 1].")]
pub(crate) struct FitArgs {
    /// The classifier or regressor
    #[arg(long, value_name = "CLF.onnx")]
    pub(crate) model: PathBuf,
    /// The score model: see below
    #[arg(long, value_name = "SPEC")]
    pub(crate) score: String,
    /// Training data: .npy, .npz, .csv, .parquet, IDX, CIFAR binary, a folder of pictures; some may be gzipped
    #[arg(long, value_name = "TRAIN")]
    pub(crate) data: PathBuf,
    /// Where to write the detector
    #[arg(short, long, value_name = "DETECTOR.onnx")]
    pub(crate) out: PathBuf,
    /// Samples that neither the model nor the score has seen [default: a part of TRAIN is held out]
    #[arg(long, value_name = "DATA")]
    pub(crate) calibration: Option<PathBuf>,
    /// The function of the model: probs, prob, prob:K, logit, logit:K, logprob, logprob:K, energy, entropy, margin, output
    /// or output:K; of class K, or of the most likely class if none is named. K counts from 0, and output is output:0. A
    /// model with several outputs is taken for a classifier unless output:K is named
    /// [default: probs, the probability of every class; or the only output]
    #[arg(long, value_name = "TARGET", help_heading = "Method")]
    pub(crate) target: Option<Target>,
    /// The output that it is a function of [default: the first that holds floats]
    #[arg(long, value_name = "NAME", help_heading = "Method")]
    pub(crate) output: Option<String>,
    /// What is made of model and score: langevin, no-laplacian, score-only, first-order:V (V as 1,0,1 or ones) or
    /// first-order-norm
    #[arg(long, default_value = "langevin", help_heading = "Method")]
    pub(crate) operator: Operator,
    /// How the residuals of all classes become one score: l2, max, predicted, class:K, profile or profile+score
    /// [default: l2, or predicted above 128 classes]
    #[arg(long, help_heading = "Method")]
    pub(crate) aggregate: Option<Aggregate>,
    /// Which scores are far out: upper or two-sided [default: two-sided for a signed residual, else upper]
    #[arg(long, help_heading = "Method")]
    pub(crate) tail: Option<Tail>,
    /// The share of samples like the calibration data that may be flagged
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, help_heading = "Method")]
    pub(crate) alpha: f64,
    /// How the threshold follows from the calibration scores: conformal or quantile (the paper's, a little optimistic)
    #[arg(long, value_name = "RULE", default_value = "conformal", help_heading = "Method")]
    pub(crate) threshold: Rule,
    /// Compute where a sample differs, too [default: for samples of at most 256 entries]
    #[arg(long, help_heading = "Method")]
    pub(crate) map: bool,
    /// Leave maps out
    #[arg(long, conflicts_with = "map", help_heading = "Method")]
    pub(crate) no_map: bool,
    /// How second derivatives are computed: auto, exact, closed-form, closed-form:K, probe:M, hutchinson:M or hutchpp:M
    #[arg(long, default_value = "auto", help_heading = "Method")]
    pub(crate) method: LaplacianMethod,
    /// The score model sees y = A*x + B: A,B, or `none` for the input as it is
    /// [default: as its file tells; else, for ddpm, what takes --mean and --std back and scales [0, 1] to [-1, 1]]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true, help_heading = "Method")]
    pub(crate) score_input: Option<String>,
    /// The most samples that are held out for baseline and calibration together
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Method")]
    pub(crate) held_out: usize,
    /// The seed of every draw
    #[arg(long, default_value_t = 0, help_heading = "Method")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    /// How much memory intermediate values may take
    #[arg(long, value_name = "MiB", default_value_t = 1024, help_heading = "Running", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) memory: u32,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print the manifest as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
