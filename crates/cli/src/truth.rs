//! Labels of calibration samples, for estimates of how wrong a model is.

use std::path::{Path, PathBuf};

use anyhow::Result;
use taste_data::{Dataset, Labels, Options, Samples};
use taste_detector::{Detector, ErrorModel};
use taste_zoo::evaluation::{Set, Truth, learn_errors};

use crate::{args::FitArgs, progress::Bars};

/// How wrong the model is by score, if the calibration samples have labels.
pub(crate) fn errors(
    args: &FitArgs,
    detector: &Detector,
    paths: &[PathBuf],
    options: &Options,
) -> Result<Option<ErrorModel>> {
    let labels = match &args.calibration_labels {
        Some(named) if Path::new(named).is_file() => Some(Labels::open(Path::new(named), options)?),
        Some(column) => Some(Labels::column(paths, column, options)?),
        // A table of calibration samples may do without the column of labels.
        None => args.reading.label_column().and_then(|c| Labels::column(paths, c, options).ok()),
    };
    let data =
        match (&labels, Dataset::open_all(paths, &Options { labels: true, ..options.clone() })) {
            (None, Ok(data)) => data,
            _ => Dataset::open_all(paths, options)?,
        };
    let truth = match &labels {
        Some(labels) => Truth::Given(labels),
        None if has_labels(&data) => Truth::Own,
        None => return Ok(None),
    };
    let set = Set { name: data.name().to_owned(), data: &data, truth };
    let bars = Bars::new(args.run.quiet());
    let chunk = args.run.chunk(detector.manifest().model.chunk);
    let found = learn_errors(detector, &args.run.engine()?, chunk, &set, &bars.progress());
    drop(bars);
    match found {
        // Labels that nobody named may be of something else.
        Err(_) if args.calibration_labels.is_none() => Ok(None),
        other => Ok(other?),
    }
}

fn has_labels(data: &Dataset) -> bool {
    let first = data.chunks(1).ok().and_then(|mut chunks| chunks.next());
    matches!(first, Some(Ok(chunk)) if chunk.labels.is_some())
}
