//! The arguments of `taste attack`.

use std::{path::PathBuf, str::FromStr};

use clap::Args;
use taste_zoo::attacks::{Eps, Norm};

use super::{DataArgs, RunArgs, choices};

/// Move samples a little, so that a classifier errs
///
/// Every sample stays within a distance eps of where it was (--norm) and within the box that entries lie in. Samples are
/// led away from their labels, or from the model's own answers where there are none. Pictures are moved before --mean and
/// --std, so that eps and the box are those of pixels, rows of tables after them. The output has one row for every sample,
/// in order, as float32; uint8 data are scaled by 1/255. Chunks that are done stay in OUT.npy.parts until all are,
/// and a run that was stopped takes them up again if model, samples and settings are the same.
#[derive(Args)]
pub(crate) struct AttackArgs {
    /// The classifier
    #[arg(value_name = "MODEL.onnx")]
    pub(crate) model: PathBuf,
    /// Samples
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// The attack; see below, and `taste list attacks`
    #[arg(long, value_name = "NAME[:KEY=VALUE,…]")]
    pub(crate) attack: String,
    /// How far a sample may be moved, as 0.03 or 8/255
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub(crate) eps: Eps,
    /// How that is measured: linf (the largest change of an entry) or l2 (the root of the sum of squares)
    #[arg(long, default_value_t = Norm::Linf)]
    pub(crate) norm: Norm,
    /// What entries lie between: LOW,HIGH, or data for the smallest and largest value, for a table those of each column
    /// [default: 0,1; a table has none]
    #[arg(long, value_name = "LOW,HIGH|data", allow_hyphen_values = true)]
    pub(crate) r#box: Option<Between>,
    /// Lead samples away from the model's own answers, even where there are labels
    #[arg(long)]
    pub(crate) own_answers: bool,
    /// The seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The file to write
    #[arg(short, long, value_name = "OUT.npy")]
    pub(crate) out: PathBuf,
    /// The output that holds classes [default: the first that holds floats]
    #[arg(long, value_name = "NAME")]
    pub(crate) output: Option<String>,
    /// How much memory intermediate values may take
    #[arg(long, value_name = "MiB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Running")]
    pub(crate) memory: u32,
    #[command(flatten)]
    pub(crate) reading: DataArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What entries lie between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Between {
    Given(f32, f32),
    Data,
}

impl FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "data" {
            return Ok(Self::Data);
        }
        let number = |text: &str| text.trim().parse::<f32>().ok().filter(|v| v.is_finite());
        let pair = text.split_once(',').and_then(|(low, high)| number(low).zip(number(high)));
        pair.filter(|(low, high)| low < high).map(|(low, high)| Self::Given(low, high)).ok_or_else(
            || format!("wants two numbers such as 0,1, the smaller first, or data, got {text:?}"),
        )
    }
}

/// What stands below the arguments: the table, and examples.
pub(crate) fn after_help() -> String {
    format!("{}\n{EXAMPLES}", choices::table("attacks"))
}

const EXAMPLES: &str = "\
Examples:
  taste attack clf.onnx test.npy --labels y.npy --attack pgd --eps 8/255 -o pgd.npy
  taste attack clf.onnx cifar-10-batches-bin/ --attack autoattack --eps 8/255 -o aa.npy
  taste attack clf.onnx test.npy --attack apgd-ce:steps=20 --norm l2 --eps 0.5 -o l2.npy
  taste attack clf.onnx table.csv --labels class --attack pgd --eps 0.1 --box data -o moved.npy";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_read() {
        assert_eq!("-1,2".parse(), Ok(Between::Given(-1.0, 2.0)));
        assert_eq!("data".parse(), Ok(Between::Data));
        for bad in ["1,0", "1", "0,inf", "a,b"] {
            assert!(bad.parse::<Between>().is_err(), "{bad}");
        }
    }
}
