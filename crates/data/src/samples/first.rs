use super::{Chunks, Keep, Samples};
use crate::Error;

/// The first samples of a data set.
#[derive(Clone, Copy)]
pub struct First<'a> {
    of: &'a dyn Samples,
    most: usize,
}

impl<'a> First<'a> {
    /// At most `most` of them.
    pub fn new(of: &'a dyn Samples, most: usize) -> Self {
        Self { of, most }
    }
}

impl Samples for First<'_> {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn sample_shape(&self) -> &[usize] {
        self.of.sample_shape()
    }

    fn count(&self) -> Option<usize> {
        self.of.count().map(|count| count.min(self.most))
    }

    fn place(&self, index: usize) -> usize {
        self.of.place(index)
    }

    fn columns(&self) -> Option<&[String]> {
        self.of.columns()
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        self.chunks_where(rows, Box::new(|_| true))
    }

    fn chunks_where<'a>(&'a self, rows: usize, keep: Keep<'a>) -> Result<Chunks<'a>, Error> {
        let most = self.most;
        self.of.chunks_where(rows, Box::new(move |index| index < most && keep(index)))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::ramp, *};

    #[test]
    fn only_the_first_are_there() {
        let all = ramp(100);
        for (most, count) in [(30, 30), (1000, 100), (0, 0)] {
            let first = First::new(&all, most);
            assert_eq!(first.count(), Some(count));
            let index: Vec<usize> = first
                .chunks(16)
                .expect("chunks")
                .flat_map(|chunk| chunk.expect("a chunk").index)
                .collect();
            assert_eq!(index, (0..count).collect::<Vec<_>>());
        }
    }
}
