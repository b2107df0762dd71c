//! The arguments of `taste bench`.

use std::path::PathBuf;

use clap::Args;

use super::{DataArgs, RunArgs};

/// Compare methods on one model: many detectors, many shifted sets, one table
///
/// Every method is fitted once, on training data, calibrated on held-out samples, and has one score with one tail; then all
/// sets are scored. Sets are files, corruptions of the clean samples (`taste list corruptions`; cifar10-c, cifar10-p,
/// geometric and tables are whole suites, with all severities in turns), and attacks on them. With --out, sets, detectors and
/// scores are kept: a run that was stopped goes on where it was, and more methods or sets cost only themselves. The folder
/// gets table.csv, bench.json and bench.html.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste bench --model clf.onnx --train train.npy --id test.npy --ood svhn=svhn.npy --methods msp energy knn --out bench
  taste bench --model clf.onnx --train data_batch_1.bin --id test_batch.bin --id-labels own \\
      --corruptions cifar10-c cifar10-p --attacks paper --samples 1000 --methods all --out bench
  taste bench --config bench.toml --out bench

A file for --config (flags win over it, paths are relative to it):
  model = \"clf.onnx\"
  train = \"train.npy\"
  id = \"test.npy\"
  id-labels = \"own\"
  methods = [\"msp\", \"energy\", \"knn:k=50\"]
  corruptions = [\"cifar10-c\", \"fog:5\"]
  attacks = [\"fgsm:eps=8/255\", \"pgd:eps=0.5,norm=l2\"]
  samples = 1000
  [ood]
  svhn = \"svhn.npy\"
  [reading]
  mean = [0.5]")]
pub(crate) struct BenchArgs {
    /// The classifier or regressor
    #[arg(long, value_name = "CLF.onnx")]
    pub(crate) model: Option<PathBuf>,
    /// Training data
    #[arg(long, value_name = "DATA")]
    pub(crate) train: Option<PathBuf>,
    /// Samples that the model has not seen, for the calibration [default: a part of the training data is held out]
    #[arg(long, value_name = "DATA")]
    pub(crate) calibration: Option<PathBuf>,
    /// Clean samples, which neither the model nor any method has seen
    #[arg(long, value_name = "DATA")]
    pub(crate) id: Option<PathBuf>,
    /// Labels of the clean samples: a file, a column of their table, or `own`; they hold for corruptions and attacks too
    #[arg(long, value_name = "FILE|COLUMN|own")]
    pub(crate) id_labels: Option<String>,
    /// Shifted samples: files or folders, as for taste evaluate
    #[arg(long, value_name = "[NAME=]DATA", num_args = 1..)]
    pub(crate) ood: Vec<String>,
    /// Corruptions of the clean samples: names, NAME:SEVERITY, or suites
    #[arg(long, value_name = "LIST", num_args = 1..)]
    pub(crate) corruptions: Vec<String>,
    /// Attacks on the clean samples, which are led away from their labels or from the model's own answers: NAME:eps=E, with
    /// norm=l2 and what `taste list attacks` has; `paper` are the ten of the TASTE paper
    #[arg(long, value_name = "LIST", num_args = 1..)]
    pub(crate) attacks: Vec<String>,
    /// Methods, with their parameters; `all` are all of `taste list methods`
    #[arg(long, value_name = "LIST", num_args = 1..)]
    pub(crate) methods: Vec<String>,
    /// The most samples of every set, the first ones [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<usize>,
    /// The false-positive rate [default: 0.05]
    #[arg(long, value_name = "RATE")]
    pub(crate) alpha: Option<f64>,
    /// The most samples that are held out [default: 10000]
    #[arg(long, value_name = "N")]
    pub(crate) held_out: Option<usize>,
    /// The tensor that methods on features look at [default: the input of the last linear layer]
    #[arg(long, value_name = "TENSOR")]
    pub(crate) features: Option<String>,
    /// The seed of every draw [default: 0]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// A file in TOML that holds all of this
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// The folder for tables, the page, and all that is kept
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
