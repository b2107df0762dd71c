//! A detector with the engine and the data that it is used on.

use std::path::{Path, PathBuf};

use anyhow::Result;
use taste_data::{Chunk, Dataset, Samples};
use taste_detector::{Detector, Engine, Error, Scorer, Scores};
use taste_files::message::in_line;

use crate::{args::DetectArgs, hints, progress::Bars, table, tell};

/// A detector in an engine.
pub(crate) struct Detection<'a> {
    pub(crate) detector: &'a Detector,
    pub(crate) scorer: Scorer,
    args: &'a DetectArgs,
}

impl<'a> Detection<'a> {
    pub(crate) fn start(detector: &'a Detector, args: &'a DetectArgs, map: bool) -> Result<Self> {
        Self::with(detector, args, |engine| detector.start(engine, map))
    }

    /// The same with the model's own output.
    pub(crate) fn predicting(
        detector: &'a Detector,
        args: &'a DetectArgs,
        map: bool,
    ) -> Result<Self> {
        Self::with(detector, args, |engine| detector.start_with_prediction(engine, map))
    }

    fn with(
        detector: &'a Detector,
        args: &'a DetectArgs,
        start: impl FnOnce(&Engine) -> Result<Scorer, Error>,
    ) -> Result<Self> {
        let scorer = start(&args.run.engine()?).map_err(|e| hints::about(&args.detector, &e))?;
        Ok(Self { detector, scorer, args })
    }

    /// Opens data for the detector.
    pub(crate) fn open(&self, path: &Path) -> Result<Dataset> {
        self.open_keeping(&[path.to_owned()], &[])
    }

    /// Opens several files as one set, with columns of tables that come along as text.
    pub(crate) fn open_keeping(&self, paths: &[PathBuf], keep: &[String]) -> Result<Dataset> {
        Ok(self.detector.open_keeping(paths, self.args.skip_bad, keep)?)
    }

    /// How many samples go through the engine at once.
    pub(crate) fn chunk(&self) -> usize {
        self.args.run.chunk(self.detector.manifest().model.chunk)
    }

    /// Scores all samples, a part at a time.
    pub(crate) fn each(
        &self,
        data: &Dataset,
        take: impl FnMut(&Chunk, &Scores) -> Result<()>,
    ) -> Result<usize> {
        let bars = Bars::new(self.args.run.quiet());
        let done = self.scorer.each(data as &dyn Samples, self.chunk(), &bars.progress(), take);
        drop(bars);
        if !self.args.run.quiet() {
            tell_skipped(data);
        }
        done
    }
}

/// Says which files or lines were left out.
pub(crate) fn tell_skipped(data: &Dataset) {
    const NAMED: usize = 5;
    let skipped = data.skipped();
    for (place, reason) in skipped.iter().take(NAMED) {
        tell(&format!("warning: left out {}: {reason}", in_line(place)));
    }
    if skipped.len() > NAMED {
        let more = table::count(skipped.len() - NAMED, "other");
        tell(&format!("warning: left out {more} that can't be read"));
    }
    if let cut @ 1.. = data.cut_count() {
        let samples = table::count(cut, "sample");
        tell(&format!("note: {samples} with longer sequences than the detector takes were cut"));
    }
}
