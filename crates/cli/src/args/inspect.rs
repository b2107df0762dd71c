//! The arguments of `taste inspect`.

use std::path::PathBuf;

use clap::Args;

use super::{DataArgs, ModelArgs, RunArgs};

/// Show what a model, a detector or a score model is made of
///
/// Of a model: operators, shapes, and what can be derived of it. Of a detector: every choice, its threshold and its health.
/// Of a score model on data: whether the mean score vanishes and the Stein identity holds.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste inspect model.onnx
  taste inspect model.onnx --target logit:3
  taste inspect model.onnx --shape 3,224,224 --json | jq .derivative.method
  taste inspect detector.onnx
  taste inspect --score-model gmm:5 --data train.npy
  taste inspect --score-model onnx:score.onnx --data train.npy

The derivative column says how an operator differentiates in this model: constant (nothing flows),
linear, bilinear (linear in each of two arguments), piecewise linear (kinks, no curvature),
pointwise (a curved function of each element) or composite (made of several of these).")]
pub(crate) struct InspectArgs {
    /// The model or detector
    #[arg(
        value_name = "FILE.onnx",
        required_unless_present = "score_model",
        conflicts_with = "score_model"
    )]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// A score model to hold against data, as in `taste fit`
    #[arg(
        long,
        alias = "score",
        value_name = "SPEC",
        requires = "data",
        help_heading = "Score models"
    )]
    pub(crate) score_model: Option<String>,
    /// The data
    #[arg(long, value_name = "DATA", requires = "score_model", help_heading = "Score models")]
    pub(crate) data: Option<PathBuf>,
    /// The score model sees y = A*x + B, for samples x as they are read
    #[arg(
        long,
        value_name = "A,B",
        requires = "score_model",
        allow_hyphen_values = true,
        help_heading = "Score models"
    )]
    pub(crate) score_input: Option<String>,
    /// The seed of draws
    #[arg(long, default_value_t = 0, help_heading = "Score models")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
