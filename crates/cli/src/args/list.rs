//! The arguments of `taste list`.

use clap::Args;

/// List what there is to choose: methods, score models, targets, operators, formats, …
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste list                     all tables
  taste list methods             one of them
  taste list score-models --json")]
pub(crate) struct ListArgs {
    /// methods, score-models, targets, stein-operators, aggregates, tails, laplacian-methods, backends, formats, metrics,
    /// attacks, corruptions, experiments or onnx-operators [default: all but the last]
    #[arg(value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
