//! The arguments of `taste corrupt`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use taste_data::{Layout, Options};

use super::data::{Place, size};

/// Corrupt data, to see what a model and a detector make of it
///
/// Noise, blur, weather, compression and movement of pictures as in CIFAR-10-C and CIFAR-10-P, and what goes wrong with the
/// columns of tables: `taste list corruptions`. Pictures are uint8, or floats from 0 to 1, grey or of three channels, from
/// 8 × 8 pixels on; they are written as an array in the type and layout of their file. Constants are in pixels, made for
/// 32 × 32. What is drawn depends on the seed, the corruption and the place of a sample alone.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taste corrupt test.npy --kind fog --severity 4 -o fog.npy
  taste corrupt test_batch.bin.gz --kind p-rotate -o turned.npy
  taste corrupt t10k-images-idx3-ubyte.gz --pad 64x64 --kind rotate:degrees=-54 -o turned.npy
  taste corrupt test.csv --labels price --kind unit-change:2,column=height -o inches.csv
  taste list corruptions                                all kinds")]
pub(crate) struct CorruptArgs {
    /// A file or folder with pictures, or a table
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    /// The corruption, as NAME or NAME:SEVERITY
    #[arg(long, value_name = "NAME")]
    pub(crate) kind: String,
    /// From 1 to 5, or mixed for all in turns [default: 3]
    #[arg(long, value_name = "1..5|mixed")]
    pub(crate) severity: Option<String>,
    /// What random numbers start from
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Where to write: .npy, and for tables .csv, .jsonl or .parquet as well. Labels of pictures go to OUT-labels.npy
    #[arg(short, long, value_name = "OUT.npy")]
    pub(crate) out: PathBuf,
    /// Take the first N samples alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) first: Option<u64>,
    /// Where arrays keep their channels [default: as their sizes tell]
    #[arg(long, value_enum, help_heading = "Data")]
    layout: Option<Place>,
    /// Bring images to this height and width first
    #[arg(long, value_name = "HxW", help_heading = "Data")]
    resize: Option<String>,
    /// Put a margin of zeros around images up to this height and width first
    #[arg(long, value_name = "HxW", help_heading = "Data")]
    pad: Option<String>,
    /// The column of a table that holds labels: it comes along as it is
    #[arg(long, alias = "label", value_name = "COLUMN", help_heading = "Data")]
    labels: Option<String>,
    /// Columns of a table that come along as they are
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Data")]
    exclude: Vec<String>,
    /// Leave out images and lines that can't be read, and say how many
    #[arg(long, help_heading = "Data")]
    skip_bad: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl CorruptArgs {
    /// How files become samples.
    pub(crate) fn options(&self) -> Result<Options> {
        let apart: Vec<String> = self.exclude.iter().chain(&self.labels).cloned().collect();
        Ok(Options {
            layout: self.layout.map_or(Layout::Auto, Layout::from),
            exclude: apart.clone(),
            keep: apart,
            skip_bad: self.skip_bad,
            resize: self.resize.as_deref().map(|t| size("--resize", t)).transpose()?,
            pad: self.pad.as_deref().map(|t| size("--pad", t)).transpose()?,
            ..Options::default()
        })
    }
}
