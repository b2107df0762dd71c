//! Data for a detector, read as they were when it was fitted.

use std::path::{Path, PathBuf};

use taste_data::{Chunk, Dataset, Options, Samples};

use crate::{Detector, Error, Progress, Scorer, Scores, Stage, progress::report, refused};

impl Detector {
    /// How files become samples for this detector.
    pub fn reading(&self) -> Options {
        let manifest = self.manifest();
        Options {
            sample_shape: Some(manifest.model.sample_shape.clone()),
            ..manifest.data.reading.clone()
        }
    }

    /// Opens data for the detector. With `skip_bad`, what can't be read is left out.
    pub fn open_data(&self, path: &Path, skip_bad: bool) -> Result<Dataset, Error> {
        self.open_keeping(&[path.to_owned()], skip_bad, &[])
    }

    /// Opens several files or folders as one set, with columns of tables that come along as text, whether the model takes
    /// them or not.
    pub fn open_keeping(
        &self,
        paths: &[PathBuf],
        skip_bad: bool,
        keep: &[String],
    ) -> Result<Dataset, Error> {
        let mut options = self.reading();
        options.skip_bad |= skip_bad;
        options.keep = keep.to_vec();
        Ok(Dataset::open_all(paths, &options)?)
    }
}

impl Scorer {
    /// Scores all samples of a data set, some at a time, and returns how many there were.
    pub fn each<E: From<Error>>(
        &self,
        data: &dyn Samples,
        chunk: usize,
        progress: &Progress<'_>,
        mut take: impl FnMut(&Chunk, &Scores) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut done = 0;
        for chunk in data.chunks(chunk.max(1)).map_err(Error::from)? {
            let chunk = chunk.map_err(Error::from)?;
            let scores = self.score(chunk.values.view())?;
            take(&chunk, &scores)?;
            done += chunk.len();
            report(progress, Stage { purpose: "samples", done, total: data.count() })?;
        }
        if done == 0 {
            return Err(refused(format!("{}: it holds no samples", data.name())).into());
        }
        Ok(done)
    }
}
