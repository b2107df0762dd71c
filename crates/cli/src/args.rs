//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use taste_engine::{Backend, Method, Target, Wants};

/// Does this input differ from the training data in a way that matters to this model?
///
/// taste takes derivatives of trained models: it reads an ONNX file, builds the graph of a value, its gradient, its
/// Laplacian or the diagonal of its Hessian, and runs that graph or writes it as another ONNX file.
#[derive(Parser)]
#[command(
    name = "taste",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Examples:
  taste inspect model.onnx                              operators, shapes, methods that apply
  taste derive model.onnx --input x.npy                 a summary of value, gradient and Laplacian
  taste derive model.onnx --input x.npy --grad g.npy    the gradient at every sample, as a file
  taste ops                                             the operators that can be differentiated

Exit codes: 0 fine, 2 error. Data goes to standard output or to named files, messages to standard
error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Derive(Box<DeriveArgs>),
    Inspect(InspectArgs),
    Ops(OpsArgs),
}

/// What model, and which function of it.
#[derive(Args)]
pub(crate) struct ModelArgs {
    /// The model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// The function that is derived: prob, prob:K, probs, logit:K, logprob, energy, entropy, margin or output:K
    /// [default: the probability of the most likely class, or the output itself if it is one number]
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
    #[arg(long, default_value = "auto")]
    pub(crate) method: Method,
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

/// Compute a value, its gradient, its Laplacian and its second derivatives
///
/// Without a file to write to, a summary is printed. Samples are read, computed and written a part at a time: memory
/// does not grow with their number. Written arrays are float32, or float64 with the reference backend.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste derive model.onnx --input x.npy
      value, gradient and Laplacian of the likeliest class's probability, in a few numbers
  taste derive model.onnx --input x.npy --target prob:3 --grad g.npy --laplacian l.npy
      gradient and Laplacian of the probability of class 3 at every sample
  taste derive model.onnx --input x.npy --method hutchinson:64 --laplacian l.npy --stderr e.npy
      an estimate of the Laplacian with its standard error
  taste derive model.onnx --shape 3,32,32 --want gradient,laplacian --emit derivative.onnx
      the derivative as an ONNX file that any runtime can run
  taste derive model.onnx --input image=x.npy --input time=t.npy --wrt image
      a model with several inputs")]
pub(crate) struct DeriveArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Samples along the first axis of an array; NAME=FILE for a model with several inputs
    #[arg(short, long, value_name = "[NAME=]X.npy")]
    pub(crate) input: Vec<String>,
    /// Keep uint8 values as they are instead of scaling them by 1/255
    #[arg(long)]
    pub(crate) raw: bool,
    /// Write the value of the target
    #[arg(long, value_name = "F.npy", help_heading = "Results")]
    pub(crate) value: Option<PathBuf>,
    /// Write its gradient
    #[arg(long, value_name = "F.npy", help_heading = "Results")]
    pub(crate) grad: Option<PathBuf>,
    /// Write its Laplacian
    #[arg(long, value_name = "F.npy", help_heading = "Results")]
    pub(crate) laplacian: Option<PathBuf>,
    /// Write the standard error of an estimated Laplacian
    #[arg(long, value_name = "F.npy", help_heading = "Results")]
    pub(crate) stderr: Option<PathBuf>,
    /// Write its second derivatives by every entry of the input
    #[arg(long, value_name = "F.npy", help_heading = "Results")]
    pub(crate) diagonal: Option<PathBuf>,
    /// What to compute when no file says so, in the summary and in the emitted file [default: gradient,laplacian]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Results")]
    pub(crate) want: Vec<Quantity>,
    /// Write the derivative as an ONNX file; nothing is run unless a result is to be written as well
    #[arg(long, value_name = "FILE.onnx", help_heading = "Results")]
    pub(crate) emit: Option<PathBuf>,
    /// The seed of random directions
    #[arg(long, default_value_t = 0, help_heading = "Running")]
    pub(crate) seed: u64,
    /// The engine: rten (built in), ort (ONNX Runtime, from a library of yours) or reference (slow, double precision)
    /// [default: rten]
    #[arg(long, help_heading = "Running")]
    pub(crate) backend: Option<Backend>,
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Running",
        help = "The library of ONNX Runtime [default: $ORT_DYLIB_PATH, or where the system looks]"
    )]
    pub(crate) ort_library: Option<PathBuf>,
    /// Threads [default: one for every core]
    #[arg(long, value_name = "N", help_heading = "Running", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Samples at once [default: as many as memory allows, at most 256]
    #[arg(long, value_name = "N", help_heading = "Running", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: Option<u32>,
    /// Print nothing but errors and what is asked for
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Show what a model is made of and what can be derived of it
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste inspect model.onnx
  taste inspect model.onnx --target logit:3
  taste inspect model.onnx --shape 3,224,224 --json | jq .derivative.method

The derivative column says how an operator differentiates in this model: constant (nothing flows),
linear, bilinear (linear in each of two arguments), piecewise linear (kinks, no curvature),
pointwise (a curved function of each element) or composite (made of several of these).")]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// List the operators that can be differentiated
#[derive(Args)]
pub(crate) struct OpsArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Quantity {
    Value,
    Gradient,
    Laplacian,
    Stderr,
    Diagonal,
}

impl Quantity {
    pub(crate) const ALL: [Self; 5] =
        [Self::Value, Self::Gradient, Self::Laplacian, Self::Stderr, Self::Diagonal];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Gradient => "gradient",
            Self::Laplacian => "laplacian",
            Self::Stderr => "stderr",
            Self::Diagonal => "diagonal",
        }
    }

    pub(crate) fn is_wanted(self, wants: Wants) -> bool {
        match self {
            Self::Value => true,
            Self::Gradient => wants.gradient,
            Self::Laplacian => wants.laplacian,
            Self::Stderr => wants.stderr,
            Self::Diagonal => wants.diagonal,
        }
    }
}

/// What is wrong with the arguments, without usage and pointers.
pub(crate) fn in_one_line(problem: &clap::Error) -> String {
    let text = problem.to_string();
    let parts: Vec<String> = text
        .split("\n\n")
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| {
            !part.is_empty() && !part.starts_with("Usage:") && !part.starts_with("For more")
        })
        .collect();
    parts.join("; ").trim_start_matches("error: ").to_owned()
}
