//! The arguments of `taste fit`.

use std::path::PathBuf;

use clap::Args;
use taste_detector::Goal;
use taste_engine::Answer;
use taste_stats::conformal::Rule;

use super::{DataArgs, RunArgs, choices};
use crate::pages::PageArgs;

/// Make a detector of a model and its training data
///
/// The detector is one ONNX file with the outputs score, `p_value` and flag, the parts of the score (residual and residuals for
/// the method stein), the map if there is one, and the model's own output: it runs in taste and in any ONNX Runtime. What a
/// method learns comes from training data; what calibrates its score comes from samples that nothing was learnt from.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct FitArgs {
    /// The classifier or regressor
    #[arg(long, value_name = "CLF.onnx")]
    pub(crate) model: PathBuf,
    /// Training data: files and folders, see `taste list formats`; - for CSV or JSON lines from standard input
    #[arg(long, value_name = "TRAIN", num_args = 1.., required = true)]
    pub(crate) data: Vec<PathBuf>,
    /// Where to write the detector
    #[arg(short, long, value_name = "DETECTOR.onnx")]
    pub(crate) out: PathBuf,
    /// Samples that the model has not seen [default: a part of TRAIN is held out]
    #[arg(long, value_name = "DATA", num_args = 1..)]
    pub(crate) calibration: Vec<PathBuf>,
    /// Labels of the calibration samples: a file, or a column of their table. With them, `taste test` and `taste evaluate`
    /// estimate the accuracy of batches without labels [default: the column of --labels, or labels beside the samples]
    #[arg(long, value_name = "FILE|COLUMN", requires = "calibration")]
    pub(crate) calibration_labels: Option<String>,
    /// Repeat every setting of this detector, for a model that was trained again
    #[arg(long, value_name = "DETECTOR.onnx", conflicts_with_all = [
        "method", "goal", "score_model", "target", "output", "task", "features", "operator", "aggregate", "tail", "baseline",
        "precondition", "laplacian_method", "score_input", "at", "alpha", "threshold", "map", "no_map", "no_rows", "held_out",
        "seed", "memory", "layout", "raw", "mean", "std", "resize", "crop", "filter", "pad", "columns", "exclude", "length",
    ])]
    pub(crate) like: Option<PathBuf>,
    /// What the detector computes, see `taste list methods` [default: taste; stein where one of its options is given]
    #[arg(long, value_name = "NAME[:KEY=VALUE,…]", help_heading = "Method")]
    pub(crate) method: Option<String>,
    /// What samples are flagged for: harm (they matter to the model), novelty (they differ from the training data) or both
    #[arg(long, value_name = "GOAL", default_value = "harm", help_heading = "Method")]
    pub(crate) goal: Goal,
    /// The score model, see `taste list score-models` [default: gaussian]
    #[arg(long, alias = "score", value_name = "SPEC", help_heading = "Method stein alone")]
    pub(crate) score_model: Option<String>,
    /// The function of the model, see `taste list targets`; K counts from 0. A model with several outputs is taken for a
    /// classifier unless output:K is named [default: probs, the probability of every class; or the only output]
    #[arg(long, value_name = "TARGET", help_heading = "Method stein alone")]
    pub(crate) target: Option<String>,
    /// The output that the method looks at [default: a softmax or sigmoid if there is one, else the first that holds floats]
    #[arg(long, value_name = "NAME", help_heading = "Method")]
    pub(crate) output: Option<String>,
    /// What the output holds: classes (logits or probabilities of several), binary (one number for two classes), labels
    /// (several yes-or-no answers) or numbers (a regressor) [default: what its operators and its values on data tell]
    #[arg(long, value_name = "TASK", value_parser = task, help_heading = "Method")]
    pub(crate) task: Option<Answer>,
    /// The tensor that methods on features look at [default: the input of the last linear layer]
    #[arg(long, value_name = "TENSOR", help_heading = "Method")]
    pub(crate) features: Option<String>,
    /// What residuals are functions of: input, features (the input of the last linear layer) or a
    /// tensor of the model; what comes before it needs no derivative [default: input]
    #[arg(long, value_name = "TENSOR|features|input", help_heading = "Method stein alone")]
    pub(crate) at: Option<String>,
    /// What is made of model and score, see `taste list stein-operators` [default: langevin]
    #[arg(long, value_name = "OPERATOR", help_heading = "Method stein alone")]
    pub(crate) operator: Option<String>,
    /// How the residuals of all classes become one score, see `taste list aggregates`
    /// [default: l2, or predicted above 128 classes]
    #[arg(long, value_name = "AGGREGATE", help_heading = "Method stein alone")]
    pub(crate) aggregate: Option<String>,
    /// The metric of the operator, so that units decide nothing: diagonal, full or none (the paper's) [default: diagonal for
    /// tables, none for images]
    #[arg(long, value_name = "METRIC", help_heading = "Method stein alone")]
    pub(crate) precondition: Option<String>,
    /// What is taken off residuals: their mean on held-out samples, their median, or none [default: mean]
    #[arg(long, value_name = "BASELINE", help_heading = "Method stein alone")]
    pub(crate) baseline: Option<String>,
    /// Which values are far out: upper, lower or two-sided [default: two-sided for tables and for a signed residual, else
    /// upper]
    #[arg(long, value_name = "TAIL", help_heading = "Method stein alone")]
    pub(crate) tail: Option<String>,
    /// How second derivatives are computed, see `taste list laplacian-methods` [default: auto]
    #[arg(long, value_name = "METHOD", help_heading = "Method stein alone")]
    pub(crate) laplacian_method: Option<String>,
    /// The score model takes y = A*x + B: A,B, or none if it takes samples as they are [default: what its file says; for
    /// ddpm without such a file, images scaled to [-1, 1], before --mean and --std]
    #[arg(
        long,
        value_name = "A,B",
        allow_hyphen_values = true,
        help_heading = "Method stein alone"
    )]
    pub(crate) score_input: Option<String>,
    /// The false-positive rate: the share of samples like the calibration set that may be flagged
    #[arg(long, value_name = "RATE", default_value_t = 0.05, help_heading = "Method")]
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
    /// Refuse methods that keep training rows in the detector file
    #[arg(long, help_heading = "Method")]
    pub(crate) no_rows: bool,
    /// The most samples that are held out, a third of them for the spread of values, the rest for the calibration
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
    #[command(flatten)]
    pub(crate) page: PageArgs,
    /// Print the manifest as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn task(name: &str) -> Result<Answer, String> {
    Answer::named(name).ok_or_else(|| "there are classes, binary, labels and numbers".to_owned())
}

/// What stands below the arguments: the tables, and examples.
pub(crate) fn after_help() -> String {
    let tables =
        ["methods", "score-models", "targets", "stein-operators", "aggregates"].map(choices::table);
    format!("{}\n{EXAMPLES}", tables.join("\n"))
}

const EXAMPLES: &str = "\
Examples:
  taste fit --model clf.onnx --data train.npy -o detector.onnx
  taste fit --model clf.onnx --score-model gmm:10 --data train/ --calibration held-out/ --map -o det.onnx
  taste fit --model clf.onnx --method knn:k=10 --data train.npy -o detector.onnx
  taste fit --model mnist.onnx --score-model train --data train-images-idx3-ubyte.gz -o detector.onnx
  taste fit --model mlp.onnx --score-model kde --data table.csv --labels target --alpha 0.01 -o det.onnx
  taste fit --model resnet.onnx --score-model ddpm:unet.onnx,t=50 --mean 0.4914,0.4822,0.4465 \\
      --std 0.2023,0.1994,0.2010 --data train.bin --aggregate profile -o det.onnx
    Images are normalised for the model; the diffusion model gets them in [-1, 1].";
