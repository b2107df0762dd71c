//! Arrays in the memory of someone else, prepared as files are.

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Slice};
use taste_files::message::shape;

use super::{Chunk, Chunks, Keep, Samples};
use crate::{
    Error, Layout, Options, Problem,
    prepare::Prepare,
    source::{Facts, elements},
};

/// Numbers that someone else keeps, samples along the first axis.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Single precision.
    Single(ArrayViewD<'a, f32>),
    /// Bytes, which are scaled to 0..1 unless [`Options::raw`] leaves them as they are.
    Bytes(ArrayViewD<'a, u8>),
}

impl Values<'_> {
    /// The sizes of one sample.
    pub fn sample(&self) -> &[usize] {
        self.shape().get(1..).unwrap_or_default()
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Single(values) => values.shape(),
            Self::Bytes(values) => values.shape(),
        }
    }

    fn slice(&self, rows: Slice) -> ArrayD<f32> {
        match self {
            Self::Single(values) => {
                values.slice_axis(Axis(0), rows).as_standard_layout().into_owned()
            }
            Self::Bytes(values) => values.slice_axis(Axis(0), rows).mapv(f32::from),
        }
    }

    fn select(&self, rows: &[usize]) -> ArrayD<f32> {
        match self {
            Self::Single(values) => values.select(Axis(0), rows),
            Self::Bytes(values) => values.select(Axis(0), rows).mapv(f32::from),
        }
    }
}

/// Samples in an array of someone else, which become what the model takes as those of a file do.
#[derive(Clone, Debug)]
pub struct Lent<'a> {
    name: String,
    values: Values<'a>,
    labels: Option<Vec<i64>>,
    prepare: Prepare,
}

impl<'a> Lent<'a> {
    /// An array with the name that messages call it by.
    pub fn new(name: &str, values: Values<'a>, options: &Options) -> Result<Self, Error> {
        let refused = |problem: Problem| Error::new(name, problem);
        let Some((rows, sample)) = values.shape().split_first() else {
            return Err(refused("it holds a single number, not an array of samples".into()));
        };
        let is_empty = *rows == 0 || elements(sample).map_err(refused)? == 0;
        if is_empty {
            let shape = shape(values.shape());
            return Err(refused(format!("it holds no samples, as its shape is {shape}").into()));
        }
        let facts = Facts {
            sample: sample.to_vec(),
            bytes: matches!(values, Values::Bytes(_)),
            layout: Layout::Auto,
            columns: None,
            taken: None,
            texts: Vec::new(),
            sized: false,
        };
        let prepare = Prepare::new(name, &facts, options)?;
        Ok(Self { name: name.to_owned(), values, labels: None, prepare })
    }

    /// With a label for every sample.
    pub fn with_labels(mut self, labels: Vec<i64>) -> Result<Self, Error> {
        if labels.len() != self.len_now() {
            let (labels, samples) = (labels.len(), self.len_now());
            let problem = format!("there are {labels} labels for its {samples} samples");
            return Err(Error::new(&self.name, Problem::Labels(problem)));
        }
        self.labels = Some(labels);
        Ok(self)
    }

    /// Whether it holds bytes.
    pub fn holds_bytes(&self) -> bool {
        matches!(self.values, Values::Bytes(_))
    }

    /// The samples as the model takes them, if they are that already: nothing is copied.
    pub fn as_they_are(&self) -> Option<ArrayViewD<'_, f32>> {
        let Values::Single(values) = &self.values else { return None };
        if !self.prepare.is_idle() {
            return None;
        }
        let shape: Vec<usize> = std::iter::once(self.len_now())
            .chain(self.prepare.sample_shape().iter().copied())
            .collect();
        values.view().into_shape_with_order(IxDyn(&shape)).ok()
    }

    fn len_now(&self) -> usize {
        self.values.shape().first().copied().unwrap_or(0)
    }

    fn chunk(&self, index: Vec<usize>, values: ArrayD<f32>) -> Result<Chunk, Error> {
        let labels = self.labels.as_ref().map(|labels| index.iter().map(|&i| labels[i]).collect());
        let values = self.prepare.samples(&self.name, values, None, |sample| index[sample])?;
        Ok(Chunk { index, values, labels, kept: Vec::new() })
    }
}

impl Samples for Lent<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn sample_shape(&self) -> &[usize] {
        self.prepare.sample_shape()
    }

    fn count(&self) -> Option<usize> {
        Some(self.len_now())
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        let (total, rows) = (self.len_now(), rows.max(1));
        Ok(Box::new((0..total).step_by(rows).map(move |start| {
            let end = total.min(start + rows);
            self.chunk((start..end).collect(), self.values.slice(Slice::from(start..end)))
        })))
    }

    fn chunks_where<'a>(&'a self, rows: usize, keep: Keep<'a>) -> Result<Chunks<'a>, Error> {
        let kept: Vec<usize> = (0..self.len_now()).filter(|&i| keep(i)).collect();
        let rows = rows.max(1);
        Ok(Box::new((0..kept.len()).step_by(rows).map(move |start| {
            let index = kept[start..kept.len().min(start + rows)].to_vec();
            let values = self.values.select(&index);
            self.chunk(index, values)
        })))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array4, ArrayD};

    use super::*;
    use crate::{Dataset, npy};

    fn pixels() -> ArrayD<u8> {
        let count = 5 * 4 * 6 * 3;
        let values = (0..count).map(|i| u8::try_from(i * 7 % 251).expect("a byte")).collect();
        Array4::from_shape_vec((5, 4, 6, 3), values).expect("images").into_dyn()
    }

    fn all(samples: &dyn Samples, rows: usize) -> Vec<f32> {
        let chunks = samples.chunks(rows).expect("chunks");
        chunks.flat_map(|c| c.expect("a chunk").values.into_iter()).collect()
    }

    #[test]
    fn arrays_become_samples_as_those_of_files_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.npy");
        let bytes = pixels();
        let singles = bytes.mapv(f32::from);
        let options = Options {
            sample_shape: Some(vec![3, 4, 6]),
            mean: vec![0.1, 0.2, 0.3],
            std: vec![2.0],
            ..Options::default()
        };
        let mut file = npy::Writer::create(&path, singles.shape()).expect("a file");
        file.append(&singles.view()).expect("images");
        file.finish().expect("a file");
        let file = Dataset::open(&path, &options).expect("samples");
        let lent = Lent::new("x", Values::Single(singles.view()), &options).expect("samples");
        assert_eq!((lent.sample_shape(), lent.count()), (&[3, 4, 6][..], Some(5)));
        assert_eq!(all(&lent, 2), all(&file, 2));
        assert!(lent.as_they_are().is_none());
        let scaled = Lent::new("x", Values::Bytes(bytes.view()), &options).expect("samples");
        let raw = Options { raw: true, ..options.clone() };
        let unscaled = Lent::new("x", Values::Bytes(bytes.view()), &raw).expect("samples");
        assert_eq!(all(&unscaled, 5), all(&lent, 5));
        assert!(all(&scaled, 5).iter().all(|v| v.abs() < 1.0));
        let kept = unscaled.chunks_where(9, Box::new(|i| i == 3)).expect("chunks").next();
        let kept = kept.expect("one").expect("a chunk");
        assert_eq!((kept.index, kept.values.len()), (vec![3], 72));
    }

    #[test]
    fn what_fits_is_not_copied() {
        let flat = ArrayD::<f32>::zeros(IxDyn(&[4, 12]));
        let options = Options { sample_shape: Some(vec![3, 2, 2]), ..Options::default() };
        let lent = Lent::new("x", Values::Single(flat.view()), &options).expect("samples");
        let view = lent.as_they_are().expect("a view");
        assert_eq!((view.shape(), view.as_ptr()), (&[4, 3, 2, 2][..], flat.as_ptr()));
    }

    #[test]
    fn what_is_empty_or_has_other_labels_is_named() {
        let none = ArrayD::<f32>::zeros(IxDyn(&[0, 3]));
        let message = Lent::new("X", Values::Single(none.view()), &Options::default());
        assert!(message.expect_err("empty").to_string().contains("X: it holds no samples"));
        let two = ArrayD::<f32>::zeros(IxDyn(&[2, 3]));
        let lent = Lent::new("X", Values::Single(two.view()), &Options::default());
        let message = lent.expect("samples").with_labels(vec![1]).expect_err("one label");
        assert_eq!(message.to_string(), "X: there are 1 labels for its 2 samples");
    }
}
