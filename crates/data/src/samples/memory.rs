//! Samples in memory.

use ndarray::{ArrayD, ArrayViewD, Axis, Slice};

use super::{Chunk, Chunks, Keep, Samples};
use crate::Error;

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

    fn rows(&self) -> Rows<'_> {
        Rows { values: self.values.view(), labels: self.labels.as_deref() }
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
        Some(self.rows().count())
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        Ok(self.rows().chunks(rows))
    }

    fn chunks_where<'a>(&'a self, rows: usize, keep: Keep<'a>) -> Result<Chunks<'a>, Error> {
        Ok(self.rows().chunks_where(rows, &keep))
    }
}

/// Samples in the memory of someone else.
#[derive(Clone, Debug)]
pub struct Borrowed<'a> {
    name: &'a str,
    rows: Rows<'a>,
}

impl<'a> Borrowed<'a> {
    /// Samples along the first axis.
    pub fn new(name: &'a str, values: ArrayViewD<'a, f32>) -> Self {
        Self { name, rows: Rows { values, labels: None } }
    }

    /// With a label for every sample.
    #[must_use]
    pub fn with_labels(mut self, labels: &'a [i64]) -> Self {
        self.rows.labels = Some(labels);
        self
    }
}

impl Samples for Borrowed<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn sample_shape(&self) -> &[usize] {
        self.rows.values.shape().get(1..).unwrap_or_default()
    }

    fn count(&self) -> Option<usize> {
        Some(self.rows.count())
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        Ok(self.rows.clone().chunks(rows))
    }

    fn chunks_where<'a>(&'a self, rows: usize, keep: Keep<'a>) -> Result<Chunks<'a>, Error> {
        Ok(self.rows.clone().chunks_where(rows, &keep))
    }
}

/// Samples along the first axis, and their labels.
#[derive(Clone, Debug)]
struct Rows<'a> {
    values: ArrayViewD<'a, f32>,
    labels: Option<&'a [i64]>,
}

impl<'a> Rows<'a> {
    fn count(&self) -> usize {
        self.values.shape().first().copied().unwrap_or(0)
    }

    fn chunks(self, rows: usize) -> Chunks<'a> {
        let (total, rows) = (self.count(), rows.max(1));
        Box::new((0..total).step_by(rows).map(move |start| {
            let end = total.min(start + rows);
            let values = self.values.slice_axis(Axis(0), Slice::from(start..end));
            Ok(Chunk {
                index: (start..end).collect(),
                values: values.as_standard_layout().into_owned(),
                labels: self.labels.map(|l| l[start..end].to_vec()),
                kept: Vec::new(),
            })
        }))
    }

    fn chunks_where(self, rows: usize, keep: &Keep<'_>) -> Chunks<'a> {
        let kept: Vec<usize> = (0..self.count()).filter(|&i| keep(i)).collect();
        let rows = rows.max(1);
        Box::new((0..kept.len()).step_by(rows).map(move |start| {
            let index = kept[start..kept.len().min(start + rows)].to_vec();
            let values = self.values.select(Axis(0), &index);
            let labels = self.labels.map(|l| index.iter().map(|&i| l[i]).collect());
            Ok(Chunk { index, values, labels, kept: Vec::new() })
        }))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn chunks_of_a_view_have_their_rows_one_after_the_other() {
        let turned = Array2::from_shape_vec((2, 3), vec![0f32, 1.0, 2.0, 3.0, 4.0, 5.0])
            .expect("two rows")
            .reversed_axes()
            .into_dyn();
        let set = Borrowed::new("turned", turned.view()).with_labels(&[7, 8, 9]);
        let first = set.chunks(2).expect("chunks").next().expect("one").expect("a chunk");
        assert!(first.values.is_standard_layout());
        assert_eq!(first.values, array![[0f32, 3.0], [1.0, 4.0]].into_dyn());
        assert_eq!(first.labels, Some(vec![7, 8]));
        let last = set.chunks_where(9, Box::new(|i| i == 2)).expect("chunks").next();
        let last = last.expect("one").expect("a chunk");
        assert!(last.values.is_standard_layout());
        assert_eq!((last.values, last.labels), (array![[2f32, 5.0]].into_dyn(), Some(vec![9])));
    }
}
