//! The arguments of commands that use a detector.

use std::path::PathBuf;

use clap::Args;
use taste_detector::{
    Goal,
    shift::{By, TestSettings},
};
use taste_stats::conformal::Rule;

use super::{EngineArgs, RunArgs};
use crate::pages::PageArgs;

/// The detector and how data are read for it.
#[derive(Args)]
pub(crate) struct DetectArgs {
    /// The detector
    #[arg(value_name = "DETECTOR.onnx")]
    pub(crate) detector: PathBuf,
    /// Leave out images and lines that can't be read, and say how many
    #[arg(long)]
    pub(crate) skip_bad: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print JSON (score: an object a line, or a summary if -o names a file)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Score samples: score, p-value, flag and the parts of the score of each
///
/// Data are read as they were when the detector was fitted. Samples with NaN or infinite entries are flagged and counted.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste score detector.onnx new.npy                  a table on standard output
  taste score detector.onnx new.npy -o scores.csv    also .jsonl, .parquet and .npy
  taste score detector.onnx day*.csv --keep id,date -o scores.parquet
  duckdb -csv -c 'from orders' | taste score detector.onnx - --keep id
  taste score detector.onnx images/ --json | jq 'select(.flag)'")]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) with: DetectArgs,
    /// Samples to score: files and folders, as one set; - for CSV or JSON lines from standard input
    #[arg(value_name = "DATA", required = true)]
    pub(crate) data: Vec<PathBuf>,
    /// Columns of a table that come along into the table of scores, whether the model takes them or not
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) keep: Vec<String>,
    /// Where to write the table: .csv, .jsonl, .parquet or .npy [default: standard output]
    #[arg(short, long, value_name = "SCORES")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// Test whether batches differ from the calibration data, effect size first
///
/// One number decides, whatever the method: the mean evidence of the score. The evidence of a sample is -log of the share
/// of calibration and batch samples whose score is at least its own; the effect is the mean of the batch less that of the
/// calibration samples, in their standard deviations (SD). A batch is a shift if chance does not explain that it is
/// further out (a permutation test) and the nearer end of the effect's 95 % interval reaches --least-effect. All else that
/// is printed is for information. Samples without a score count as furthest out.
///
/// Each data set is one batch, or is cut with --batch-size or --by. With several batches, p-values are adjusted for
/// their number (Holm). Exit code 1 if any batch is a shift.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste test detector.onnx today.npy
  taste test detector.onnx monday.npy tuesday.npy wednesday.npy
  taste test detector.onnx table.csv --by site             a test for every value of a column
  taste test detector.onnx table.csv --by date:month       a test for every month
  taste test detector.onnx stream.csv --batch-size 500 --json")]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(crate) with: DetectArgs,
    /// Batches to test
    #[arg(value_name = "DATA", required = true)]
    pub(crate) data: Vec<PathBuf>,
    /// Cut each data set into batches of this many samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) batch_size: Option<u32>,
    /// Divide a table by the values of a column, which the model need not take; of dates such as 2024-05-17 by year, month
    /// or day
    #[arg(long, value_name = "COLUMN[:year|:month|:day]", conflicts_with = "batch_size")]
    pub(crate) by: Option<By>,
    /// A batch is a shift only if its adjusted p-value is at most this [default: that of the detector, or 0.05]
    #[arg(long, value_name = "SHARE")]
    pub(crate) alpha: Option<f64>,
    /// A batch is a shift only if the nearer end of its effect's interval is at least this, in SD; of a batch too small
    /// for an interval the effect itself. With 0, the p-value alone decides
    #[arg(long, value_name = "SD", default_value_t = TestSettings::LEAST_EFFECT, allow_negative_numbers = true)]
    pub(crate) least_effect: f64,
    /// Random splits of batch and calibration samples that the batch is compared with
    #[arg(long, value_name = "N", default_value_t = 1999, value_parser = clap::value_parser!(u32).range(19..=1_000_000))]
    pub(crate) permutations: u32,
    /// Reasons, columns and pixels to list, those first that moved most
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) top: usize,
    /// The seed of the permutations
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// Show where samples differ: maps for images, ranked columns for tables
///
/// Colours have one scale for the whole calibration data, never one for each image, and the conformal threshold for the
/// largest entry of a map is drawn as an outline. For tables, columns are ranked by how much of the score goes up or down
/// with them (method stein: by their part of the residual, in standard deviations of calibration samples), and the
/// threshold is a mark on each bar.
///
/// The folder gets `maps.npy` (a row for every row of the data), `overview.png`, an image for every sample drawn, and the
/// report as `explain.json`. Files that an earlier run wrote there, by its explain.json, are replaced or removed; other
/// files stay as they are, and if one is in the way nothing is written.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste explain detector.onnx new/ -o maps                the 16 samples with the largest scores
  taste explain detector.onnx new.npy --samples 0,5 -o maps
  taste explain detector.onnx table.csv -o columns        ranked columns, as text and as bars")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) with: DetectArgs,
    /// Samples to explain
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// The folder to write to; what an earlier run wrote there is replaced
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The samples to draw, by number from 0 on [default: those with the largest scores]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) samples: Vec<usize>,
    /// How many samples to draw, if --samples does not name them
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) most: u32,
}

/// Change the threshold of a detector, without fitting it again
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste edit detector.onnx --alpha 0.01
  taste edit detector.onnx --alpha 0.01 -o strict.onnx
  taste edit detector.onnx --set-threshold 3.5
  taste edit detector.onnx --goal both
  taste edit detector.onnx --recalibrate fresh.npy -o fresh.onnx
  taste edit detector.onnx                              prints the threshold")]
pub(crate) struct EditArgs {
    /// The detector
    #[arg(value_name = "DETECTOR.onnx")]
    pub(crate) detector: PathBuf,
    /// Choose the threshold so that this share of samples like the calibration data may be flagged
    #[arg(long, value_name = "SHARE")]
    pub(crate) alpha: Option<f64>,
    /// How it follows from the calibration scores: conformal or quantile [default: conformal]
    #[arg(long, value_name = "RULE", requires = "alpha")]
    pub(crate) threshold: Option<Rule>,
    /// Set the threshold itself
    #[arg(long, value_name = "SCORE", conflicts_with = "alpha", allow_hyphen_values = true)]
    pub(crate) set_threshold: Option<f64>,
    /// Choose what samples are flagged for: harm, novelty or both
    #[arg(long, value_name = "GOAL", conflicts_with = "set_threshold")]
    pub(crate) goal: Option<Goal>,
    /// Calibrate again on these samples, which neither the model nor the detector may have seen; nothing is fitted again
    #[arg(long, value_name = "DATA", conflicts_with = "set_threshold")]
    pub(crate) recalibrate: Option<PathBuf>,
    /// Where to write [default: the same file]
    #[arg(short, long, value_name = "FILE.onnx")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Print the decision as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
