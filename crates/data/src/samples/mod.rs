//! Samples that can be gone through, a chunk at a time and more than once.

mod draw;
mod first;
mod lent;
mod mapped;
mod memory;
mod part;
mod refill;

use ndarray::{ArrayD, Axis};

pub use draw::draw;
pub use first::First;
pub use lent::{Lent, Values};
pub use mapped::Mapped;
pub use memory::{Borrowed, InMemory};
pub use part::Part;
pub(crate) use refill::refilled;

use crate::Error;

/// Samples in order.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The number of each sample in the whole data set.
    pub index: Vec<usize>,
    /// The samples along the first axis, as the model takes them. Rows may hold NaN or infinite entries.
    pub values: ArrayD<f32>,
    /// The labels, where the data set has them and they were asked for.
    pub labels: Option<Vec<i64>>,
    /// Of every column that was asked to come along ([`Options::keep`](crate::Options::keep)), the text of each sample;
    /// empty cells are empty.
    pub kept: Vec<Vec<String>>,
}

impl Chunk {
    /// How many samples.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The samples at some positions of the chunk.
    #[must_use]
    pub fn select(&self, positions: &[usize]) -> Self {
        Self {
            index: positions.iter().map(|&i| self.index[i]).collect(),
            values: self.values.select(Axis(0), positions),
            labels: self.labels.as_ref().map(|l| positions.iter().map(|&i| l[i]).collect()),
            kept: chosen(&self.kept, positions),
        }
    }
}

/// The texts at some positions of every column.
pub(crate) fn chosen(kept: &[Vec<String>], positions: &[usize]) -> Vec<Vec<String>> {
    kept.iter().map(|column| positions.iter().map(|&i| column[i].clone()).collect()).collect()
}

/// Chunks in order.
pub type Chunks<'a> = Box<dyn Iterator<Item = Result<Chunk, Error>> + Send + 'a>;

/// Which samples are wanted, by their numbers in the whole data set.
pub type Keep<'a> = Box<dyn Fn(usize) -> bool + Send + Sync + 'a>;

/// A data set that can be gone through more than once.
#[expect(clippy::len_without_is_empty, reason = "a data set is counted at some cost")]
pub trait Samples: Send + Sync {
    /// A name for messages: the file or folder.
    fn name(&self) -> &str;

    /// The sizes of one sample.
    fn sample_shape(&self) -> &[usize];

    /// How many samples, if that is known without going through all.
    fn count(&self) -> Option<usize>;

    /// How many samples, by going through all if need be.
    fn len(&self) -> Result<usize, Error> {
        const ROWS: usize = 4096;
        match self.count() {
            Some(count) => Ok(count),
            None => self.chunks(ROWS)?.map(|chunk| Ok(chunk?.len())).sum(),
        }
    }

    /// The place of a sample among all rows, those that were left out included, by its number.
    fn place(&self, index: usize) -> usize {
        index
    }

    /// Names of the entries of a sample, for tables.
    fn columns(&self) -> Option<&[String]> {
        None
    }

    /// The samples from the first on, at most `rows` at a time.
    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error>;

    /// The samples that are wanted, from the first on: `rows` at a time, fewer only in the last chunk or where that many
    /// would not fit the memory. What is not wanted is not prepared, and where the format allows it not read.
    fn chunks_where<'a>(&'a self, rows: usize, keep: Keep<'a>) -> Result<Chunks<'a>, Error> {
        let kept = move |chunk: Chunk| {
            let positions: Vec<usize> =
                (0..chunk.len()).filter(|&i| keep(chunk.index[i])).collect();
            if positions.len() == chunk.len() { chunk } else { chunk.select(&positions) }
        };
        let chunks = self.chunks(rows)?.map(move |chunk| chunk.map(&kept));
        Ok(refilled(self.name(), chunks, rows))
    }
}

/// What is wrong with samples that can't be put into one array.
const MISSHAPEN: &str = "its samples are not of one shape";

#[cfg(test)]
mod tests {
    use ndarray::IxDyn;

    use super::*;

    /// Rows of two numbers that count on.
    pub(super) fn ramp(rows: usize) -> InMemory {
        let values: Vec<f32> = (0..rows * 2).map(|v| v as f32).collect();
        InMemory::new("ramp", ArrayD::from_shape_vec(IxDyn(&[rows, 2]), values).expect("2 columns"))
    }

    /// All chunks, of which only the last may be shorter than `rows`.
    pub(super) fn full_chunks(chunks: Chunks<'_>, rows: usize) -> Vec<Chunk> {
        let chunks: Vec<Chunk> = chunks.collect::<Result<_, _>>().expect("chunks");
        let (last, full) = chunks.split_last().expect("a chunk");
        assert!(full.iter().all(|chunk| chunk.len() == rows) && (1..=rows).contains(&last.len()));
        assert!(chunks.iter().all(|c| c.values.shape()[0] == c.len()));
        chunks
    }

    /// What only goes through all of its samples, its chunks shorter than asked for.
    struct Plain(InMemory);

    impl Samples for Plain {
        fn name(&self) -> &str {
            self.0.name()
        }

        fn sample_shape(&self) -> &[usize] {
            self.0.sample_shape()
        }

        fn count(&self) -> Option<usize> {
            None
        }

        fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
            self.0.chunks(rows / 3 + 1)
        }
    }

    #[test]
    fn a_selection_is_what_filtering_by_hand_gives_in_full_chunks() {
        let labelled = ramp(1000).with_labels((0..1000).map(|i| i % 7).collect());
        let plain = Plain(labelled.clone());
        let view = Borrowed::new("ramp", labelled.values().view());
        let sets: [&dyn Samples; 3] = [&labelled, &plain, &view];
        let wanted = |i: usize| i % 13 == 5 || (200..260).contains(&i);
        for set in sets {
            assert_eq!(set.len().expect("a count"), 1000);
            let chunks = full_chunks(set.chunks_where(64, Box::new(wanted)).expect("chunks"), 64);
            let index: Vec<usize> = chunks.iter().flat_map(|c| c.index.clone()).collect();
            assert_eq!(index, (0..1000).filter(|&i| wanted(i)).collect::<Vec<_>>());
            for chunk in &chunks {
                for (position, &i) in chunk.index.iter().enumerate() {
                    let first = chunk.values[[position, 0]];
                    assert!((first - 2.0 * i as f32).abs() < 0.5, "sample {i} starts with {first}");
                    let label = chunk.labels.as_ref().map(|labels| labels[position]);
                    assert!(label.is_none_or(|label| label == i as i64 % 7));
                }
                assert_eq!(chunk.labels.is_some(), set.chunks(1).is_ok_and(has_labels));
            }
            let none = set.chunks_where(64, Box::new(|_| false)).expect("chunks");
            assert_eq!(none.count(), 0);
        }
    }

    fn has_labels(mut chunks: Chunks<'_>) -> bool {
        chunks.next().is_some_and(|chunk| chunk.is_ok_and(|chunk| chunk.labels.is_some()))
    }
}
