//! Samples that are changed or watched on their way.

use super::{Chunk, Chunks, Keep, Samples};
use crate::Error;

/// A data set whose chunks go through a function on the way; every pass starts with a new one.
#[derive(Clone, Copy)]
pub struct Mapped<'a, F> {
    of: &'a dyn Samples,
    start: F,
}

impl<'a, F, G> Mapped<'a, F>
where
    F: Fn() -> G + Send + Sync,
    G: FnMut(Chunk) -> Chunk + Send + 'a,
{
    /// `start` makes the function for a pass, which keeps number, order and shape of the samples. In a pass through some
    /// of the samples it sees those alone.
    pub fn new(of: &'a dyn Samples, start: F) -> Self {
        Self { of, start }
    }
}

impl<'s, F, G> Samples for Mapped<'s, F>
where
    F: Fn() -> G + Send + Sync,
    G: FnMut(Chunk) -> Chunk + Send + 's,
{
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

    fn place(&self, index: usize) -> usize {
        self.of.place(index)
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        let mut map = (self.start)();
        Ok(Box::new(self.of.chunks(rows)?.map(move |chunk| chunk.map(&mut map))))
    }

    fn chunks_where<'a>(&'a self, rows: usize, keep: Keep<'a>) -> Result<Chunks<'a>, Error> {
        let mut map = (self.start)();
        Ok(Box::new(self.of.chunks_where(rows, keep)?.map(move |chunk| chunk.map(&mut map))))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::ramp, *};

    #[test]
    fn every_pass_starts_anew() {
        let all = ramp(5);
        let numbered = Mapped::new(&all, || {
            let mut passed = 0.0;
            move |mut chunk: Chunk| {
                chunk.values.fill(passed);
                passed += 1.0;
                chunk
            }
        });
        let first_entries = |chunks: Chunks<'_>| -> Vec<f32> {
            chunks.flat_map(|c| c.expect("a chunk").values.into_iter().step_by(2)).collect()
        };
        for _ in 0..2 {
            let found = first_entries(numbered.chunks(2).expect("chunks"));
            assert_eq!(found, [0.0, 0.0, 1.0, 1.0, 2.0]);
        }
        let some = numbered.chunks_where(2, Box::new(|i| i != 1)).expect("chunks");
        assert_eq!(first_entries(some), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!((numbered.count(), numbered.sample_shape()), (Some(5), &[2][..]));
    }
}
