//! The arguments of `taste evaluate`.

use std::path::PathBuf;

use clap::Args;

use super::RunArgs;
use crate::pages::PageArgs;

/// Say how good detectors are, on data with a known shift
///
/// For every detector and every shifted set: AUROC, FPR95 (ID positive: the share of shifted samples that is accepted where
/// 95 % of clean ones are), and the share flagged at alpha, that of clean samples first. Means over sets, and over groups of
/// them by name: `A_fgsm` and `A/fgsm` are of group A. With labels: the model's accuracy on each set, and whether the
/// score finds the samples that the model is wrong about. `taste list metrics` says what every number is.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste evaluate detector.onnx --id test.npy --ood noise=noisy.npy blur=blurred.npy
  taste evaluate taste.onnx knn.onnx --id test.npy --ood shifts/ -o table.csv
  taste evaluate detector.onnx --id test.npy --id-labels test-labels.npy --ood shifts/*.npy \\
      --labels A=labels.npy C=labels.npy
    Labels for the sets of groups A and C; others, as sets of unknown classes, have none.
  taste evaluate detector.onnx --id test.csv --id-labels price --ood late.csv --labels price --json")]
pub(crate) struct EvaluateArgs {
    /// Detectors; several are set side by side
    #[arg(value_name = "DETECTOR.onnx", required = true)]
    pub(crate) detectors: Vec<PathBuf>,
    /// Clean samples, which neither the model nor the detector has seen
    #[arg(long, value_name = "DATA")]
    pub(crate) id: PathBuf,
    /// Shifted samples: files, or folders. Every array or table in a folder is a set, a folder of images is one. Without a
    /// name a set is called as its file
    #[arg(long, value_name = "[NAME=]DATA", num_args = 1.., required = true)]
    pub(crate) ood: Vec<String>,
    /// Labels of the clean samples: a file with one number a sample, a column of their table, or `own` for those that the
    /// data set holds itself (folders of classes, CIFAR, IDX, x-labels.npy); for a regressor the true values
    #[arg(long, value_name = "FILE|COLUMN|own")]
    pub(crate) id_labels: Option<String>,
    /// Labels of the set or group NAME; without a name, of all sets, as far as they have as many samples as the file has
    /// labels
    #[arg(long, alias = "label", value_name = "[NAME=]FILE|COLUMN|own", num_args = 1..)]
    pub(crate) labels: Vec<String>,
    /// Where to write a table with every metric and its interval: .csv, .jsonl or .parquet
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) out: Option<PathBuf>,
    /// Leave out images and lines that can't be read, and say how many
    #[arg(long)]
    pub(crate) skip_bad: bool,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
