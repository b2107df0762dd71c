//! `taste train regressor`.

use anyhow::{Context, Result, bail};
use ndarray::{ArrayD, Axis};
use taste_data::{Dataset, Options, Samples};
use taste_train::Training;

use crate::args::RegressorArgs;

use super::{
    outcome::Outcome,
    page,
    run::{Run, task_length},
};

pub(super) fn run(args: &RegressorArgs) -> Result<()> {
    let learn = &args.learn;
    if learn.reading.skips_bad() {
        bail!("--skip-bad would leave samples without their targets: leave it out");
    }
    let run = Run::new(learn, &[])?;
    let (data, surveyed) = run.open(|shape| {
        let mut options = learn.reading.options(shape)?;
        options.exclude.push(args.target.clone());
        Ok(options)
    })?;
    if data.columns().is_none() {
        bail!("{}: this is no table with columns, so there is no column to predict", data.name());
    }
    let targets = targets(&learn.data, &args.target)?;
    let network = args.network.build(data.sample_shape(), 1)?;
    let training = Training::regressor(&network);
    let fitted = run.train(training, task_length(&network), 0.0, |t| {
        t.run_standardized_with_targets(&data, &targets)
    })?;
    let outcome = Outcome::of_task("regressor", &fitted, learn, None);
    let page = learn.report.as_ref().map(|_| page::of_task(&outcome));
    let options = data.options_naming_columns(&Options { sample_shape: None, ..surveyed });
    run.finish(&data, &run.task_model(&fitted, &options)?, &outcome, page)
}

/// A column by itself, N × 1.
fn targets(path: &std::path::Path, column: &str) -> Result<ArrayD<f32>> {
    let options = Options { columns: vec![column.to_owned()], ..Options::default() };
    let data = Dataset::open(path, &options)?;
    let mut parts = Vec::new();
    for chunk in data.chunks(65_536)? {
        parts.push(chunk?.values);
    }
    if parts.is_empty() {
        bail!("{}: there are no samples", data.name());
    }
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    ndarray::concatenate(Axis(0), &views).context("targets of one width")
}
