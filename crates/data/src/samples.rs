//! Samples that can be gone through, a chunk at a time and more than once.

use ndarray::{ArrayD, Axis, IxDyn, Slice};
use taste_stats::random;

use crate::Error;

/// Consecutive samples.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The number of each sample in the whole data set.
    pub index: Vec<usize>,
    /// The samples along the first axis, as the model takes them. Rows may hold NaN or infinite entries.
    pub values: ArrayD<f32>,
    /// The labels, where the data set has them.
    pub labels: Option<Vec<i64>>,
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
        }
    }
}

/// Chunks in order.
pub type Chunks<'a> = Box<dyn Iterator<Item = Result<Chunk, Error>> + Send + 'a>;

/// A data set that can be gone through more than once.
pub trait Samples: Send + Sync {
    /// A name for messages: the file or folder.
    fn name(&self) -> &str;

    /// The sizes of one sample.
    fn sample_shape(&self) -> &[usize];

    /// How many samples, if that is known without going through all.
    fn count(&self) -> Option<usize>;

    /// Names of the entries of a sample, for tables.
    fn columns(&self) -> Option<&[String]> {
        None
    }

    /// The samples from the first on, at most `rows` at a time.
    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error>;
}

/// Samples in memory.
#[derive(Clone, Debug)]
pub struct InMemory {
    name: String,
    values: ArrayD<f32>,
    labels: Option<Vec<i64>>,
}

impl InMemory {
    /// Samples along the first axis.
    pub fn new(name: &str, values: ArrayD<f32>) -> Self {
        let values = if values.is_standard_layout() {
            values
        } else {
            values.as_standard_layout().into_owned()
        };
        Self { name: name.to_owned(), values, labels: None }
    }

    /// With a label for every sample.
    #[must_use]
    pub fn with_labels(mut self, labels: Vec<i64>) -> Self {
        self.labels = Some(labels);
        self
    }

    /// All samples.
    pub fn values(&self) -> &ArrayD<f32> {
        &self.values
    }
}

impl Samples for InMemory {
    fn name(&self) -> &str {
        &self.name
    }

    fn sample_shape(&self) -> &[usize] {
        self.values.shape().get(1..).unwrap_or_default()
    }

    fn count(&self) -> Option<usize> {
        Some(self.values.shape().first().copied().unwrap_or(0))
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        let total = self.count().unwrap_or(0);
        let rows = rows.max(1);
        Ok(Box::new((0..total).step_by(rows).map(move |start| {
            let end = total.min(start + rows);
            Ok(Chunk {
                index: (start..end).collect(),
                values: self.values.slice_axis(Axis(0), Slice::from(start..end)).to_owned(),
                labels: self.labels.as_ref().map(|l| l[start..end].to_vec()),
            })
        })))
    }
}

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

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        let inner = self.of.chunks(rows)?;
        Ok(Box::new(inner.filter_map(move |chunk| match chunk {
            Ok(chunk) => {
                let kept: Vec<usize> =
                    (0..chunk.len()).filter(|&i| self.holds(chunk.index[i])).collect();
                (!kept.is_empty()).then(|| Ok(chunk.select(&kept)))
            }
            Err(e) => Some(Err(e)),
        })))
    }
}

/// A data set whose chunks go through a function on the way; every pass starts with a new one.
#[derive(Clone, Copy)]
pub struct Seen<'a, F> {
    of: &'a dyn Samples,
    start: F,
}

impl<'a, F, G> Seen<'a, F>
where
    F: Fn() -> G + Send + Sync,
    G: FnMut(Chunk) -> Chunk + Send + 'a,
{
    /// `start` makes the function for a pass, which keeps number, order and shape of the samples.
    pub fn new(of: &'a dyn Samples, start: F) -> Self {
        Self { of, start }
    }
}

impl<'a, F, G> Samples for Seen<'a, F>
where
    F: Fn() -> G + Send + Sync,
    G: FnMut(Chunk) -> Chunk + Send + 'a,
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

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        let mut through = (self.start)();
        Ok(Box::new(self.of.chunks(rows)?.map(move |chunk| chunk.map(&mut through))))
    }
}

/// Up to `most` samples with finite entries, each sample of the set as likely as any other, in order.
pub fn draw(of: &dyn Samples, most: usize, seed: u64) -> Result<ArrayD<f32>, Error> {
    // The samples with the smallest hashes; a binary heap keeps the largest of those on top.
    let mut kept = std::collections::BinaryHeap::<(u64, usize)>::new();
    let mut rows = std::collections::HashMap::<usize, Vec<f32>>::new();
    for chunk in of.chunks(256)? {
        let chunk = chunk?;
        for (position, &index) in chunk.index.iter().enumerate() {
            let key = random::hash(seed, index as u64);
            if kept.len() == most && kept.peek().is_none_or(|top| top.0 <= key) {
                continue;
            }
            let row: Vec<f32> =
                chunk.values.index_axis(Axis(0), position).iter().copied().collect();
            if !row.iter().all(|v| v.is_finite()) {
                continue;
            }
            kept.push((key, index));
            rows.insert(index, row);
            if kept.len() > most
                && let Some((_, dropped)) = kept.pop()
            {
                rows.remove(&dropped);
            }
        }
    }
    let mut order: Vec<usize> = kept.into_iter().map(|k| k.1).collect();
    order.sort_unstable();
    let width: usize = of.sample_shape().iter().product();
    let mut values = Vec::with_capacity(order.len() * width);
    for index in &order {
        values.extend(&rows[index]);
    }
    let shape: Vec<usize> =
        std::iter::once(order.len()).chain(of.sample_shape().iter().copied()).collect();
    ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(|_| Error::File {
        path: of.name().to_owned(),
        message: "its samples are not of one shape".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(rows: usize) -> InMemory {
        let values: Vec<f32> = (0..rows * 2).map(|v| v as f32).collect();
        InMemory::new("ramp", ArrayD::from_shape_vec(IxDyn(&[rows, 2]), values).expect("2 columns"))
    }

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
    fn every_pass_starts_anew() {
        let all = ramp(5);
        let numbered = Seen::new(&all, || {
            let mut passed = 0.0;
            move |mut chunk: Chunk| {
                chunk.values.fill(passed);
                passed += 1.0;
                chunk
            }
        });
        for _ in 0..2 {
            let chunks = numbered.chunks(2).expect("chunks").map(|c| c.expect("a chunk"));
            let found: Vec<f32> = chunks.flat_map(|c| c.values.into_iter().step_by(2)).collect();
            assert_eq!(found, [0.0, 0.0, 1.0, 1.0, 2.0]);
        }
        assert_eq!((numbered.count(), numbered.sample_shape()), (Some(5), &[2][..]));
    }

    #[test]
    fn a_draw_is_uniform_and_skips_rows_that_are_not_finite() {
        let mut values = ramp(1000).values().clone();
        values[[10, 1]] = f32::NAN;
        let all = InMemory::new("ramp", values);
        assert_eq!(draw(&all, 5000, 0).expect("a draw").shape(), &[999, 2]);
        let mut sum = 0.0;
        for seed in 0..50 {
            let some = draw(&all, 100, seed).expect("a draw");
            assert_eq!(some.shape(), &[100, 2]);
            sum += some.index_axis(Axis(1), 0).mean().expect("rows");
        }
        // Rows start at 0, 2, …, 1998; one draw of 100 has a standard error of 58.
        assert!((sum / 50.0 - 999.0).abs() < 4.0 * 58.0 / 50f32.sqrt());
    }
}
