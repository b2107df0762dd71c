//! Samples that are watched while a score model goes through them.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::Axis;
use taste_data::{Chunk, Chunks, Error, Samples};

/// Counts samples with entries that are not finite, which no score model is fitted to.
pub(crate) struct Watched<'a> {
    of: &'a dyn Samples,
    not_finite: AtomicUsize,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(of: &'a dyn Samples) -> Self {
        Self { of, not_finite: AtomicUsize::new(0) }
    }

    /// How many there were in the longest pass; none if nobody looked.
    pub(crate) fn not_finite(&self) -> usize {
        self.not_finite.load(Ordering::Relaxed)
    }
}

impl Samples for Watched<'_> {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn sample_shape(&self) -> &[usize] {
        self.of.sample_shape()
    }

    fn count(&self) -> Option<usize> {
        self.of.count()
    }

    fn columns(&self) -> Option<&[String]> {
        self.of.columns()
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        let mut found = 0;
        Ok(Box::new(self.of.chunks(rows)?.inspect(move |chunk| {
            if let Ok(chunk) = chunk {
                found += bad_rows(chunk);
                self.not_finite.fetch_max(found, Ordering::Relaxed);
            }
        })))
    }
}

fn bad_rows(chunk: &Chunk) -> usize {
    let is_bad = |row: &ndarray::ArrayViewD<'_, f32>| !row.iter().all(|v| v.is_finite());
    chunk.values.axis_iter(Axis(0)).filter(is_bad).count()
}
