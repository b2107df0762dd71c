//! A detector with the engine and the data that it is used on.

use std::path::Path;

use anyhow::Result;
use taste_data::{Chunk, Dataset, Samples};
use taste_detector::{Detector, Scorer, Scores};
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
        let scorer = detector
            .start(&args.run.engine()?, map)
            .map_err(|e| hints::about(&args.detector, &e))?;
        Ok(Self { detector, scorer, args })
    }

    /// Opens data for the detector.
    pub(crate) fn open(&self, path: &Path) -> Result<Dataset> {
        self.open_keeping(path, &[])
    }

    /// The same, with columns of a table that come along as text.
    pub(crate) fn open_keeping(&self, path: &Path, keep: &[String]) -> Result<Dataset> {
        Ok(self.detector.open_keeping(path, self.args.skip_bad, keep)?)
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
}
