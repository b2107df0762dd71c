//! A detector with data that are read as they were when it was fitted.

use std::path::Path;

use anyhow::{Context, Result};
use taste_data::{Chunk, Dataset, Options, Samples};
use taste_stein::{Detector, Scorer, Scores};

use crate::{args::DetectArgs, progress::Progress, table, tell};

/// A detector in an engine.
pub(crate) struct Detection<'a> {
    pub(crate) detector: &'a Detector,
    pub(crate) scorer: Scorer,
    args: &'a DetectArgs,
}

impl<'a> Detection<'a> {
    pub(crate) fn start(detector: &'a Detector, args: &'a DetectArgs, map: bool) -> Result<Self> {
        let scorer = detector
            .start(&args.run.backend()?, args.run.threads(), map)
            .with_context(|| args.detector.display().to_string());
        let scorer = scorer.map_err(|e| anyhow::anyhow!("{e:#}"))?;
        Ok(Self { detector, scorer, args })
    }

    /// Opens data for the detector.
    pub(crate) fn open(&self, path: &Path) -> Result<Dataset> {
        let reading = &self.detector.manifest().data.reading;
        let mut options: Options = if reading.is_null() {
            Options::default()
        } else {
            serde_json::from_value(reading.clone()).with_context(|| {
                format!("{}: how data are read can't be understood", self.args.detector.display())
            })?
        };
        options.sample_shape = Some(self.detector.manifest().model.sample_shape.clone());
        options.skip_bad |= self.args.skip_bad;
        Ok(Dataset::open(path, &options)?)
    }

    /// Scores all samples, a part at a time.
    pub(crate) fn each(
        &mut self,
        data: &Dataset,
        mut take: impl FnMut(&Chunk, &Scores) -> Result<()>,
    ) -> Result<usize> {
        let chunk = self.args.run.chunk(self.detector.manifest().model.chunk);
        let mut progress = Progress::new("samples", data.count(), self.args.run.quiet());
        let mut done = 0;
        for chunk in data.chunks(chunk)? {
            let chunk = chunk?;
            let scores = self.scorer.score(&chunk.values)?;
            take(&chunk, &scores)?;
            done += chunk.len();
            progress.reach(done);
        }
        drop(progress);
        if !self.args.run.quiet() {
            tell_skipped(data);
        }
        if done == 0 {
            anyhow::bail!("{}: it holds no samples", data.name());
        }
        Ok(done)
    }
}

/// Says which files or lines were left out.
pub(crate) fn tell_skipped(data: &Dataset) {
    const NAMED: usize = 5;
    let skipped = data.skipped();
    for (place, reason) in skipped.iter().take(NAMED) {
        tell(&format!("warning: left out {place}: {reason}"));
    }
    if skipped.len() > NAMED {
        let more = table::count(skipped.len() - NAMED, "other");
        tell(&format!("warning: left out {more} that can't be read"));
    }
}
