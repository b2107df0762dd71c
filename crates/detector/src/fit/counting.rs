//! Samples that are counted on their way to a method that goes through them itself.

use std::sync::atomic::{AtomicUsize, Ordering};

use taste_data::{Chunk, Chunks, Error, Part, Samples};

/// Counts samples, and those with entries that are not finite: of the longest pass.
pub(super) struct Counting<'a> {
    of: Part<'a>,
    taken: AtomicUsize,
    not_finite: AtomicUsize,
}

impl<'a> Counting<'a> {
    pub(super) fn new(of: Part<'a>) -> Self {
        Self { of, taken: AtomicUsize::new(0), not_finite: AtomicUsize::new(0) }
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    pub(super) fn not_finite(&self) -> usize {
        self.not_finite.load(Ordering::Relaxed)
    }
}

impl Samples for Counting<'_> {
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
        let (mut seen, mut bad) = (0, 0);
        Ok(Box::new(self.of.chunks(rows)?.inspect(move |chunk| {
            if let Ok(chunk) = chunk {
                seen += chunk.len();
                bad += not_finite(chunk);
                self.taken.fetch_max(seen, Ordering::Relaxed);
                self.not_finite.fetch_max(bad, Ordering::Relaxed);
            }
        })))
    }
}

fn not_finite(chunk: &Chunk) -> usize {
    chunk.values.outer_iter().filter(|row| !row.iter().all(|v| v.is_finite())).count()
}
