//! The arguments of `taste derive`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use taste_engine::Wants;

use super::{ModelArgs, RunArgs};

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
  taste derive model.onnx --input x.npy --laplacian-method hutchinson:64 --laplacian l.npy --stderr e.npy
      an estimate of the Laplacian with its standard error
  taste derive model.onnx --shape 3,32,32 --want gradient,laplacian --emit derivative.onnx
      the derivative as an ONNX file that any runtime can run
  taste derive model.onnx --input image=x.npy --input time=t.npy --wrt image
      a model with several inputs")]
pub(crate) struct DeriveArgs {
    /// The model
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) file: PathBuf,
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
    #[command(flatten)]
    pub(crate) run: RunArgs,
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
