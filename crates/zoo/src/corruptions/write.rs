//! Corrupted data in files.

use std::path::{Path, PathBuf};

use ndarray::{Array1, ArrayD, Axis, stack};
use rayon::prelude::*;
use taste_data::{
    Chunk, Column, Kind, Samples, TableWriter, Value,
    npy::{self, Element, Writer},
};
use taste_detector::{Error, Progress, Stage, refused};

use super::{Recipe, Source, recipe::Rows};

/// Samples that are in memory at once.
const ROWS: usize = 256;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many samples.
    pub samples: usize,
    /// The shape of one.
    pub shape: Vec<usize>,
    /// The file of labels, where the data have labels of their own.
    pub labels: Option<PathBuf>,
}

/// Corrupts samples and writes them: pictures in the type and layout of their file (bytes are cut off to whole numbers),
/// tables as an array or as a table with columns, by the name of the file. At most `most` samples, the first ones. Labels
/// of an array go to `x-labels.npy` beside it.
pub fn write(
    source: &Source,
    recipe: &Recipe,
    most: Option<usize>,
    path: &Path,
    progress: &Progress<'_>,
) -> Result<Written, Error> {
    recipe.check(source.data())?;
    let samples = source.data().len()?.min(most.unwrap_or(usize::MAX));
    let job = Job { source, recipe, samples, path, progress };
    if recipe.is_for_tables() {
        job.table()
    } else if source.holds_bytes() {
        job.pictures(|v| {
            // What is a whole number but for rounding stays it.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "within a byte"
            )]
            let byte = (255.0 * v.clamp(0.0, 1.0) + 1e-6) as u8;
            byte
        })
    } else {
        #[expect(clippy::cast_possible_truncation, reason = "arrays have single precision")]
        job.pictures(|v| v as f32)
    }
}

struct Job<'a> {
    source: &'a Source,
    recipe: &'a Recipe,
    samples: usize,
    path: &'a Path,
    progress: &'a Progress<'a>,
}

impl Job<'_> {
    fn pictures<T: Element + Send + Sync>(&self, element: fn(f64) -> T) -> Result<Written, Error> {
        if !ends(self.path, "npy") {
            return Err(refused(format!(
                "{}: pictures are written as an array; name a file that ends in .npy",
                self.path.display()
            )));
        }
        let shape = self.source.written_shape();
        let whole: Vec<usize> = [self.samples].iter().chain(&shape).copied().collect();
        let mut writer = Writer::<T>::create(self.path, &whole).map_err(unwritten)?;
        let labels = self.each(|chunk| {
            let changed = |(i, &place): (usize, &usize)| -> Result<ArrayD<T>, Error> {
                let sample = chunk.values.index_axis(Axis(0), i).to_owned();
                let picture = self.source.picture(sample, place)?;
                let picture = self.recipe.picture(&picture, place)?;
                Ok(self.source.laid_out(picture).mapv(element))
            };
            // All before the first error: which sample it names must not depend on threads.
            let pictures: Vec<Result<ArrayD<T>, Error>> =
                taste_threads::within(|| chunk.index.par_iter().enumerate().map(changed).collect());
            let pictures: Vec<ArrayD<T>> = pictures.into_iter().collect::<Result<_, _>>()?;
            let views: Vec<_> = pictures.iter().map(|p| p.view()).collect();
            let rows = stack(Axis(0), &views).expect("pictures of one shape");
            writer.append(&rows.view()).map_err(unwritten)
        })?;
        writer.finish().map_err(unwritten)?;
        Ok(Written { samples: self.samples, shape, labels: self.write_labels(labels)? })
    }

    fn table(&self) -> Result<Written, Error> {
        let rows = self.recipe.rows(self.source.data())?;
        let shape = vec![rows.columns().count()];
        let labels = if ends(self.path, "npy") {
            let mut writer =
                Writer::<f32>::create(self.path, &[self.samples, shape[0]]).map_err(unwritten)?;
            let labels = self.each(|mut chunk| {
                change(&rows, &mut chunk);
                writer.append(&chunk.values.view()).map_err(unwritten)
            })?;
            writer.finish().map_err(unwritten)?;
            self.write_labels(labels)?
        } else {
            self.with_columns(&rows)?;
            None
        };
        Ok(Written { samples: self.samples, shape, labels })
    }

    /// A table with its columns, those that come along behind them.
    fn with_columns(&self, rows: &Rows<'_>) -> Result<(), Error> {
        let kept = self.source.kept();
        let mut columns: Vec<Column> =
            rows.columns().names().iter().map(|name| Column::new(name, Kind::Float)).collect();
        columns.extend(kept.iter().map(|name| Column::new(name, Kind::Text)));
        let mut writer = TableWriter::create(self.path, &columns)?;
        self.each(|mut chunk| {
            change(rows, &mut chunk);
            for (i, row) in chunk.values.outer_iter().enumerate() {
                let cell = |v: &f32| if v.is_nan() { Value::Missing } else { Value::Single(*v) };
                let cells = row.iter().map(cell);
                let texts = chunk.kept.iter().map(|column| Value::Text(&column[i]));
                writer.write(&cells.chain(texts).collect::<Vec<_>>())?;
            }
            Ok(())
        })?;
        Ok(writer.finish()?)
    }

    /// Goes through the samples, and gathers their labels.
    fn each(&self, mut take: impl FnMut(Chunk) -> Result<(), Error>) -> Result<Vec<i64>, Error> {
        let (mut labels, mut done) = (Vec::new(), 0);
        let samples = self.samples;
        let wanted = Box::new(move |index: usize| index < samples);
        for chunk in self.source.data().chunks_where(ROWS, wanted)? {
            let mut chunk = chunk?;
            labels.extend(chunk.labels.take().unwrap_or_default());
            done += chunk.len();
            take(chunk)?;
            let stage = Stage { purpose: "samples", done, total: Some(samples) };
            if (self.progress)(stage).is_break() {
                return Err(Error::Cancelled);
            }
        }
        Ok(labels)
    }

    fn write_labels(&self, labels: Vec<i64>) -> Result<Option<PathBuf>, Error> {
        if labels.is_empty() || labels.len() != self.samples {
            return Ok(None);
        }
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let path = self.path.with_file_name(format!("{stem}-labels.npy"));
        let mut writer = Writer::<i64>::create(&path, &[labels.len()]).map_err(unwritten)?;
        writer.append(&Array1::from(labels).into_dyn().view()).map_err(unwritten)?;
        writer.finish().map_err(unwritten)?;
        Ok(Some(path))
    }
}

fn change(rows: &Rows<'_>, chunk: &mut Chunk) {
    for (mut row, &place) in chunk.values.outer_iter_mut().zip(&chunk.index) {
        if let Some(row) = row.as_slice_mut() {
            rows.change(row, place);
        }
    }
}

fn ends(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending))
}

fn unwritten(error: npy::Error) -> Error {
    Error::Data(error.into())
}
