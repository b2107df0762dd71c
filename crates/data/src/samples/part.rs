//! Parts of a data set.

use taste_stats::random;

use super::{Chunks, Keep, Samples};
use crate::Error;

/// A part of a data set, drawn by the number of the sample: the same samples in every pass, however the
/// data are chunked.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    of: &'a dyn Samples,
    seed: u64,
    /// The samples whose draw lies in `from..to`, within 0..1.
    from: f64,
    to: f64,
}

impl<'a> Part<'a> {
    /// The samples whose draw from 0..1 lies in `from..to`.
    pub fn new(of: &'a dyn Samples, seed: u64, from: f64, to: f64) -> Self {
        Self { of, seed, from, to }
    }

    fn holds(&self, index: usize) -> bool {
        let draw = random::position(self.seed, index as u64);
        self.from <= draw && draw < self.to
    }
}

impl Samples for Part<'_> {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn sample_shape(&self) -> &[usize] {
        self.of.sample_shape()
    }

    fn count(&self) -> Option<usize> {
        self.of.count().map(|n| (0..n).filter(|&i| self.holds(i)).count())
    }

    fn columns(&self) -> Option<&[String]> {
        self.of.columns()
    }

    fn place(&self, index: usize) -> usize {
        self.of.place(index)
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        self.of.chunks_where(rows, Box::new(|i| self.holds(i)))
    }

    fn chunks_where<'a>(&'a self, rows: usize, keep: Keep<'a>) -> Result<Chunks<'a>, Error> {
        self.of.chunks_where(rows, Box::new(move |i| self.holds(i) && keep(i)))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{full_chunks, ramp},
        *,
    };

    fn indices(samples: &dyn Samples, rows: usize) -> Vec<usize> {
        samples.chunks(rows).expect("chunks").flat_map(|c| c.expect("a chunk").index).collect()
    }

    #[test]
    fn parts_cover_the_set_without_overlap_and_do_not_depend_on_chunks() {
        let all = ramp(5000);
        let (a, b) = (Part::new(&all, 3, 0.0, 0.3), Part::new(&all, 3, 0.3, 1.0));
        let mut joined = [indices(&a, 64), indices(&b, 64)].concat();
        assert!((indices(&a, 64).len() as f64 - 1500.0).abs() < 150.0);
        joined.sort_unstable();
        assert_eq!(joined, (0..5000).collect::<Vec<_>>());
        assert_eq!(indices(&a, 64), indices(&a, 999));
        assert_eq!(a.count(), Some(indices(&a, 7).len()));
    }

    #[test]
    fn a_small_part_comes_in_full_chunks() {
        let all = ramp(5000);
        let part = Part::new(&all, 3, 0.1, 0.18);
        let chunks = full_chunks(part.chunks(64).expect("chunks"), 64);
        let found: usize = chunks.iter().map(super::super::Chunk::len).sum();
        assert!((found as f64 - 400.0).abs() < 100.0 && part.count() == Some(found), "{found}");
        let even = part.chunks_where(64, Box::new(|i| i % 2 == 0)).expect("chunks");
        let even: Vec<usize> = full_chunks(even, 64).into_iter().flat_map(|c| c.index).collect();
        let want: Vec<usize> = indices(&part, 9).into_iter().filter(|i| i % 2 == 0).collect();
        assert_eq!(even, want);
    }
}
