//! Results on their way into files.

use std::path::{Path, PathBuf};

use taste_data::npy::{Error, Writer};
use taste_engine::Value;

/// A file that results are appended to.
pub(crate) struct Sink {
    path: PathBuf,
    shape: Vec<usize>,
    writer: Precise,
}

enum Precise {
    Single(Writer<f32>),
    Double(Writer<f64>),
}

impl Sink {
    /// A file for `samples` rows like the ones in `first`.
    pub(crate) fn create(
        path: &Path,
        samples: usize,
        first: &Value,
        double: bool,
    ) -> Result<Self, Error> {
        let sample = first.shape().iter().skip(1).copied();
        let shape: Vec<usize> = std::iter::once(samples).chain(sample).collect();
        let writer = if double {
            Precise::Double(Writer::create(path, &shape)?)
        } else {
            Precise::Single(Writer::create(path, &shape)?)
        };
        Ok(Self { path: path.to_owned(), shape, writer })
    }

    pub(crate) fn append(&mut self, rows: &Value) -> Result<(), Error> {
        match (&mut self.writer, rows) {
            (Precise::Single(w), Value::F32(a)) => w.append(&a.view()),
            (Precise::Single(w), other) => w.append(&other.to_f32().view()),
            (Precise::Double(w), Value::F64(a)) => w.append(&a.view()),
            (Precise::Double(w), other) => w.append(&other.to_f64().view()),
        }
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.writer {
            Precise::Single(w) => w.finish(),
            Precise::Double(w) => w.finish(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn dtype(&self) -> &'static str {
        match self.writer {
            Precise::Single(_) => "float32",
            Precise::Double(_) => "float64",
        }
    }
}
