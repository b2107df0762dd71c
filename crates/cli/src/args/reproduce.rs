//! The arguments of `taste reproduce`.

use std::path::PathBuf;

use clap::Args;

use super::EngineArgs;

/// Run an experiment of the paper, or of ours: figures, tables, and a page beside the paper's numbers
///
/// `taste list experiments` says which there are, and what each takes from the folders of data and models. The folder --out
/// gets NAME.md, NAME/ with figures (SVG, PNG) and tables (CSV), and README.md, which sums up all pages that are there.
/// Steps are kept in its folder kept/: a run that was stopped goes on where it was.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste reproduce directional --out results
  taste reproduce cifar10 --data data --models models --out results --quick
  taste reproduce all --data data --models models --out results --quick")]
pub(crate) struct ReproduceArgs {
    /// The experiment; `all` are all of them
    #[arg(value_name = "NAME")]
    pub(crate) experiment: String,
    /// The folder of data sets
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The folder of trained models
    #[arg(long, value_name = "DIR")]
    pub(crate) models: Option<PathBuf>,
    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Minutes instead of hours: fewer samples and shorter trainings
    #[arg(long)]
    pub(crate) quick: bool,
    /// The seed of every draw
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Much less of everything: a test of the machinery, not of the method
    #[arg(long, hide = true, conflicts_with = "quick")]
    pub(crate) fast: bool,
}
