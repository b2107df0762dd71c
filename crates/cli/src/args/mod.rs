//! The command line.

mod astray;
mod attack;
mod bench;
pub(crate) mod choices;
mod completions;
mod corrupt;
mod data;
mod demo;
mod derive;
mod detect;
mod evaluate;
mod fit;
mod import;
mod inputs;
mod inspect;
mod list;
mod monitor;
mod renamed;
mod reproduce;
mod run;
mod serve;
mod train;

use clap::{Args, Parser, Subcommand};
use taste_engine::{LaplacianMethod, Target};

pub(crate) use astray::in_one_line;
pub(crate) use attack::{AttackArgs, Between, after_help as attack_help};
pub(crate) use bench::BenchArgs;
pub(crate) use completions::CompletionsArgs;
pub(crate) use corrupt::CorruptArgs;
pub(crate) use data::DataArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use derive::{DeriveArgs, Quantity};
pub(crate) use detect::{DetectArgs, EditArgs, ExplainArgs, ScoreArgs, TestArgs};
pub(crate) use evaluate::EvaluateArgs;
pub(crate) use fit::{FitArgs, after_help as fit_help};
pub(crate) use import::ImportArgs;
pub(crate) use inspect::InspectArgs;
pub(crate) use list::ListArgs;
pub(crate) use monitor::MonitorArgs;
pub(crate) use renamed::notes as renamed_notes;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use run::{EngineArgs, RunArgs};
pub(crate) use serve::{LogFormat, ServeArgs};
pub(crate) use train::{
    ClassifierArgs, LearnArgs, RegressorArgs, ScoreTrainingArgs, TrainArgs, TrainCommand,
};

/// Does this input differ from the training data in a way that matters to this model?
///
/// Out-of-distribution (OOD) detection and drift tests that know the model: taste takes a trained model (ONNX) and its training data, and makes a detector of them: one ONNX file that says of every sample how far out it is for this model, with a p-value that means what it
/// says.
#[derive(Parser)]
#[command(
    name = "taste",
    version = env!("TASTE_VERSION"),
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Examples:
  taste demo                                            the whole story, on drawn data
  taste fit --model clf.onnx --data train.npy -o detector.onnx
  taste score detector.onnx new.npy -o scores.csv       score, p-value and flag of every sample
  taste test detector.onnx batch.npy                    does this batch differ, and by how much?
  taste serve detector.onnx --state state               over HTTP, with monitors and a dashboard
  taste explain detector.onnx new.npy -o maps           where samples differ, as images or bars
  taste monitor detector.onnx day1.npy --state state    watch a stream, with a proved false-alarm rate
  taste evaluate detector.onnx --id test.npy --ood shifts/   how good is it?
  taste attack clf.onnx test.npy --attack pgd --eps 8/255 -o moved.npy   samples that mislead
  taste bench --config bench.toml --out bench           many methods on many sets
  taste corrupt test.npy --kind fog -o fog.npy          data with something wrong
  taste train score --data train.npy --out score.onnx   a score model, by denoising score matching
  taste import resnet18.pth -o clf.onnx                 published weights as ONNX
  taste inspect model.onnx                              operators, shapes, methods that apply
  taste reproduce directional --out results             an experiment of the paper, as a page
  taste derive model.onnx --input x.npy --grad g.npy    the gradient at every sample, as a file

Exit codes: 0 fine, 1 a shift was found (test) or an alarm stands (monitor), 2 error. Data goes to standard output or to named
files, messages to standard error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(DemoArgs),
    Fit(Box<FitArgs>),
    Score(Box<ScoreArgs>),
    Test(Box<TestArgs>),
    Explain(Box<ExplainArgs>),
    Monitor(Box<MonitorArgs>),
    Evaluate(Box<EvaluateArgs>),
    Bench(Box<BenchArgs>),
    Serve(Box<ServeArgs>),
    Edit(EditArgs),
    Attack(Box<AttackArgs>),
    Corrupt(Box<CorruptArgs>),
    Train(TrainArgs),
    Import(ImportArgs),
    Reproduce(ReproduceArgs),
    Derive(Box<DeriveArgs>),
    Inspect(Box<InspectArgs>),
    List(ListArgs),
    Ops(OpsArgs),
    Completions(CompletionsArgs),
}

/// Which function of a model, and how it is derived.
#[derive(Args)]
pub(crate) struct ModelArgs {
    /// The function that is derived: prob, prob:K, probs, logit, logit:K, logprob, logprob:K, energy, entropy, margin,
    /// output or output:K; of class K, or of the most likely class if none is named. K counts from 0, and output is
    /// output:0 [default: prob, or output:0 if the output is one number]
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<Target>,
    /// The output that it is a function of [default: the first that holds floats]
    #[arg(long, value_name = "NAME")]
    pub(crate) output: Option<String>,
    /// The input to differentiate by [default: the first that holds floats]
    #[arg(long, value_name = "NAME")]
    pub(crate) wrt: Option<String>,
    /// The shape of one sample where the file leaves it open, as 3,32,32 or as NAME=3,32,32 for another input
    #[arg(long, value_name = "[NAME=]SIZES")]
    pub(crate) shape: Vec<String>,
    /// How second derivatives are computed: auto, exact, closed-form, closed-form:K, probe:M, hutchinson:M or hutchpp:M
    #[arg(long, alias = "method", value_name = "METHOD", default_value = "auto")]
    pub(crate) laplacian_method: LaplacianMethod,
    /// How much memory intermediate values may take
    #[arg(long, value_name = "MiB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) memory: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ModelArgs {
    pub(crate) fn memory_bytes(&self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX).saturating_mul(1 << 20)
    }
}

/// List the operators that can be differentiated
#[derive(Args)]
pub(crate) struct OpsArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
