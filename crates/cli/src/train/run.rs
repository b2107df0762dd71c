//! What all training has in common.

use std::{
    ffi::OsString,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, bail};
use taste_data::{Dataset, Options, Samples};
use taste_engine::{Backend, Model};
use taste_train::{Decay, Fitted, Network, Progress, Training};

use crate::{
    args::LearnArgs, detect::tell_skipped, files, input, look, print, print_json, reading, tell,
    training_bar::TrainingBar,
};

use super::outcome::Outcome;

/// How long a run is unless something else is asked for.
#[derive(Clone, Copy)]
pub(super) struct Length {
    pub(super) steps: usize,
    pub(super) batch: usize,
    pub(super) rate: f64,
}

/// The rate of networks that start from random weights.
pub(super) const RATE: f64 = 2e-3;

/// A run that was asked for, checked as far as that goes without data.
pub(super) struct Run<'a> {
    pub(super) args: &'a LearnArgs,
    pub(super) backend: Backend,
    pub(super) threads: usize,
    checkpoint: PathBuf,
    every: Duration,
}

impl<'a> Run<'a> {
    /// Fails where a file can't be written; `others` are files that are read besides the data.
    pub(super) fn new(args: &'a LearnArgs, others: &[&Path]) -> Result<Self> {
        let checkpoint = args.checkpoint.clone().unwrap_or_else(|| {
            let mut name = OsString::from(&args.out);
            name.push(".checkpoint");
            name.into()
        });
        let sources: Vec<&Path> =
            std::iter::once(&*args.data).chain(others.iter().copied()).collect();
        let mut targets = vec![("--out", &*args.out), ("--checkpoint", &*checkpoint)];
        targets.extend(args.report.as_deref().map(|path| ("--report", path)));
        files::check_targets(&sources, &targets)?;
        let Ok(every) = Duration::try_from_secs_f64(args.checkpoint_every) else {
            bail!("--checkpoint-every {}: this is no time in seconds", args.checkpoint_every);
        };
        let (backend, threads) = (args.engine.backend()?, args.engine.threads());
        Ok(Self { args, backend, threads, checkpoint, every })
    }

    /// Opens the data. Images without an axis of channels get one.
    pub(super) fn open(
        &self,
        options: impl Fn(Option<Vec<usize>>) -> Result<Options>,
    ) -> Result<(Dataset, Options)> {
        let open = |shape| -> Result<(Dataset, Options)> {
            let paths = [self.args.data.clone()];
            let options = look::at_tables(&paths, &options(shape)?, self.args.engine.quiet)?;
            Ok((Dataset::open(&self.args.data, &options)?, options))
        };
        let asked = self.args.shape.as_deref().map(input::sizes).transpose()?;
        let (data, options) = open(asked)?;
        match *data.sample_shape() {
            [height, width] if self.args.shape.is_none() => open(Some(vec![1, height, width])),
            _ => Ok((data, options)),
        }
    }

    /// Trains: `with` makes the run of its settings.
    pub(super) fn train<'t>(
        &'t self,
        training: Training<'t>,
        length: Length,
        average: f64,
        with: impl FnOnce(Training<'_>) -> Result<Fitted, taste_train::Error>,
    ) -> Result<Fitted> {
        let args = self.args;
        let (steps, batch) = (whole(args.steps, length.steps), whole(args.batch, length.batch));
        let bar = TrainingBar::new("steps", args.engine.quiet);
        let progress = |step: &Progress<'_>| {
            bar.tell(step);
            ControlFlow::Continue(())
        };
        let mut training = training
            .steps(steps)
            .batch(batch)
            .rate(args.rate.unwrap_or(length.rate))
            .warm_up(args.warm_up.unwrap_or(steps / 50))
            .decay(Decay::Cosine)
            .weight_decay(args.weight_decay)
            .clip(args.clip)
            .augment(args.augment)
            .held_out(args.held_out)
            .seed(args.seed)
            .backend(self.backend.clone(), self.threads)
            .checkpoint(&self.checkpoint, self.every);
        if let Some(times) = args.patience {
            training = training.patience(times);
        }
        let average = args.average.unwrap_or(average);
        if average != 0.0 {
            training = training.average(average);
        }
        let fitted = with(training.progress(&progress));
        bar.clear();
        let fitted = fitted?;
        if let Some(why) = fitted.trained().unsaved() {
            tell(&format!("warning: {why}; the run went on without it"));
        }
        Ok(fitted)
    }

    /// A classifier or regressor, whose file says how samples were read for it.
    pub(super) fn task_model(&self, fitted: &Fitted, options: &Options) -> Result<Model> {
        let mut onnx = fitted.model()?.onnx().clone();
        reading::put(&mut onnx, options)?;
        Ok(Model::from_onnx(&self.args.out.display().to_string(), onnx))
    }

    /// Writes the model and, if asked for, the page; tells how it went; forgets the checkpoint.
    pub(super) fn finish(
        &self,
        data: &Dataset,
        model: &Model,
        outcome: &Outcome,
        page: Option<String>,
    ) -> Result<()> {
        model.onnx().save(&self.args.out)?;
        if let (Some(path), Some(page)) = (&self.args.report, page) {
            files::write(path, page.as_bytes())?;
        }
        // The model is there: what could be gone on from is of no more use.
        let _ = fs::remove_file(&self.checkpoint);
        let quiet = self.args.engine.quiet;
        if !quiet {
            tell_skipped(data);
        }
        if self.args.json {
            print_json(outcome)?;
        } else if !quiet {
            print(&outcome.render())?;
        }
        if !quiet {
            tell(&format!("wrote {}", self.args.out.display()));
            if let Some(path) = &self.args.report {
                tell(&format!("wrote {}", path.display()));
            }
        }
        Ok(())
    }
}

fn whole(asked: Option<u32>, default: usize) -> usize {
    asked.map_or(default, |n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// How long a classifier or regressor learns.
pub(super) fn task_length(network: &Network) -> Length {
    let batch = if network.sample_shape().len() == 3 { 64 } else { 128 };
    Length { steps: 2000, batch, rate: RATE }
}
