//! What a benchmark leaves on disk: sets, detectors, scores.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use taste_detector::{Detector, Error, refused};
use taste_files::AtomicFile;

use super::Key;
use crate::evaluation::{Column, Gathered};

/// A folder that a benchmark is kept in.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// Scores as they are stored: numbers by their bits, as JSON has no NaN.
#[derive(Serialize, Deserialize)]
struct Stored {
    seconds: f64,
    columns: Vec<StoredColumn>,
    errors: Option<Vec<u64>>,
}

#[derive(Serialize, Deserialize)]
struct StoredColumn {
    name: String,
    values: Vec<u64>,
    flags: Option<Vec<bool>>,
}

#[derive(Serialize, Deserialize)]
struct Fitted {
    method: String,
    seconds: f64,
}

impl Folder {
    /// Opens a folder, and makes it if need be.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let folder = Self { path: path.to_owned() };
        for part in ["sets", "detectors", "scores"] {
            fs::create_dir_all(folder.path.join(part)).map_err(|e| {
                refused(format!("{}: the folder can't be made: {e}", path.display()))
            })?;
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a set that is made here lies, by what it is made of.
    pub fn set_path(&self, name: &str, key: &Key) -> PathBuf {
        self.path.join("sets").join(format!("{}-{}.npy", plain(name), &key.text()[..8]))
    }

    /// Where the detector of a method lies.
    pub fn detector_path(&self, method: &str, key: &Key) -> PathBuf {
        self.path.join("detectors").join(format!("{}-{}.onnx", plain(method), &key.text()[..8]))
    }

    /// The detector of a method and the seconds that its fit took, if it is there.
    pub(super) fn detector(&self, method: &str, key: &Key) -> Option<(Detector, f64)> {
        let path = self.detector_path(method, key);
        let fitted: Fitted =
            serde_json::from_slice(&fs::read(path.with_extension("json")).ok()?).ok()?;
        Some((Detector::open(&path).ok()?, fitted.seconds)).filter(|_| fitted.method == method)
    }

    pub(super) fn keep_detector(
        &self,
        method: &str,
        key: &Key,
        detector: &Detector,
        seconds: f64,
    ) -> Result<(), Error> {
        let path = self.detector_path(method, key);
        detector.save(&path)?;
        // It counts once this is there.
        let fitted = Fitted { method: method.to_owned(), seconds };
        put(&path.with_extension("json"), &fitted)
    }

    /// Scores of a set and the seconds that they took, if they are there.
    pub(super) fn scores(&self, key: &Key, set: &str) -> Option<(Gathered, f64)> {
        let stored: Stored = serde_json::from_slice(&fs::read(self.scores_path(key)).ok()?).ok()?;
        let column = |c: StoredColumn| {
            let name = Column::known(&c.name)?;
            let values = c.values.into_iter().map(f64::from_bits).collect();
            Some(Column { name, values, flags: c.flags })
        };
        let scores = stored.columns.into_iter().map(column).collect::<Option<Vec<_>>>()?;
        let errors = stored.errors.map(|e| e.into_iter().map(f64::from_bits).collect());
        let found = Gathered { name: set.to_owned(), scores, errors };
        (!found.scores.is_empty()).then_some((found, stored.seconds))
    }

    pub(super) fn keep_scores(
        &self,
        key: &Key,
        found: &Gathered,
        seconds: f64,
    ) -> Result<(), Error> {
        let column = |c: &Column| StoredColumn {
            name: c.name.to_owned(),
            values: c.values.iter().map(|v| v.to_bits()).collect(),
            flags: c.flags.clone(),
        };
        let errors = found.errors.as_ref().map(|e| e.iter().map(|v| v.to_bits()).collect());
        let columns = found.scores.iter().map(column).collect();
        put(&self.scores_path(key), &Stored { seconds, columns, errors })
    }

    fn scores_path(&self, key: &Key) -> PathBuf {
        self.path.join("scores").join(format!("{}.json", key.text()))
    }
}

/// Letters, digits and hyphens of a name.
fn plain(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    name.chars().take(60).map(kept).collect()
}

fn put(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        file.commit()
    };
    write().map_err(|e| refused(format!("{}: it can't be written: {e}", path.display())))
}
