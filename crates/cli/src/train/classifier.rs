//! `taste train classifier`.

use std::path::Path;

use anyhow::{Result, bail};
use taste_data::{Dataset, Options, Samples};
use taste_engine::Model;
use taste_train::{Pretrained, Training};

use crate::{args::ClassifierArgs, tell};

use super::{
    outcome::Outcome,
    page,
    run::{Length, RATE, Run, task_length},
};

/// A network has no more classes.
const MOST_CLASSES: usize = 10_000;

pub(super) fn run(args: &ClassifierArgs) -> Result<()> {
    let learn = &args.learn;
    let others = [args.test.as_deref(), args.start.as_deref(), learn.reading.label_file()];
    let others: Vec<&Path> = others.into_iter().flatten().collect();
    let run = Run::new(learn, &others)?;
    let start = args.start.as_deref().map(Model::open).transpose()?;
    let wanted = start.as_ref().map(Model::sample_shape).transpose()?.flatten();
    let (data, options) =
        run.open(|shape| learn.reading.labelled(shape.or_else(|| wanted.clone())))?;
    let data = learn.reading.with_label_file(data)?;
    let options = Options { sample_shape: Some(data.sample_shape().to_vec()), ..options };
    let test = args.test.as_deref().map(|path| open_alike(path, &data, &options)).transpose()?;
    if let Some(classes) = args.classes.filter(|c| !(2..=MOST_CLASSES).contains(c)) {
        bail!("--classes {classes}: there are 2 to {MOST_CLASSES}");
    }
    let largest = largest_label(&data, args.classes.unwrap_or(MOST_CLASSES))?;
    let classes = args.classes.unwrap_or((largest + 1).max(2));
    if let Some(test) = &test {
        largest_label(test, classes)?;
    }
    let fitted = if let Some(model) = &start {
        let start = Pretrained::new(model, data.sample_shape(), classes)?;
        if start.has_new_head && !learn.engine.quiet {
            tell(&format!("the last linear layer is new, as there are {classes} classes"));
        }
        let training = Training::classifier(&start.network).start(&start.parameters);
        let length = Length { rate: RATE / 10.0, ..task_length(&start.network) };
        run.train(training, length, 0.0, |t| t.run_as_they_are(&data))?
    } else {
        let network = args.network.build(data.sample_shape(), classes)?;
        let training = Training::classifier(&network);
        run.train(training, task_length(&network), 0.0, |t| t.run_standardized(&data))?
    };
    let tested = test.map(|test| fitted.test(&test, &run.backend, run.threads)).transpose()?;
    let outcome = Outcome::of_task("classifier", &fitted, learn, tested);
    let page = learn.report.as_ref().map(|_| page::of_task(&outcome));
    run.finish(
        &data,
        &run.task_model(&fitted, &data.options_naming_columns(&options))?,
        &outcome,
        page,
    )
}

/// Other data, with the columns by name where they have names, and the label.
fn open_alike(path: &Path, data: &Dataset, options: &Options) -> Result<Dataset> {
    let options = Options { label: options.label.clone(), ..data.options_naming_columns(options) };
    Ok(Dataset::open(path, &options)?)
}

/// The largest label, if all are classes below `end`.
fn largest_label(data: &Dataset, end: usize) -> Result<usize> {
    let mut largest = 0;
    for chunk in data.chunks(4096)? {
        let chunk = chunk?;
        let Some(labels) = chunk.labels else {
            bail!(
                "{}: the samples have no labels, which a classifier needs: --labels names their file, or their column of a table",
                data.name()
            );
        };
        for (label, index) in labels.into_iter().zip(chunk.index) {
            let class = usize::try_from(label).ok().filter(|c| *c < end);
            let Some(class) = class else {
                bail!(
                    "{}: sample {index} has the label {label}, and classes are numbered 0 to {}",
                    data.name(),
                    end - 1
                );
            };
            largest = largest.max(class);
        }
    }
    Ok(largest)
}
