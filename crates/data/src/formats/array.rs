//! Arrays whose elements lie one after the other: npy, members of npz, IDX.

use std::io::Read;

use ndarray::ArrayD;

use crate::{
    Error, Layout,
    npy::{self, DType, Elements},
    origin::Origin,
    source::{Batches, Facts, Rows, Source, elements},
};

/// An array, and where its elements start.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) origin: Origin,
    pub(crate) dtype: DType,
    pub(crate) big_endian: bool,
    pub(crate) shape: Vec<usize>,
    pub(crate) start: u64,
}

impl Array {
    pub(crate) fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    fn sample(&self) -> &[usize] {
        self.shape.get(1..).unwrap_or_default()
    }

    /// Goes through the rows.
    fn stream(&self) -> Result<Stream<'_>, Error> {
        let mut input = self.origin.open()?;
        let skipped = std::io::copy(&mut (&mut input).take(self.start), &mut std::io::sink());
        skipped.map_err(|e| self.origin.refused(&e))?;
        let row_bytes =
            elements(self.sample()).map_err(|e| self.origin.error(e))? * self.dtype.size();
        Ok(Stream { array: self, input, row_bytes, left: self.rows() })
    }
}

struct Stream<'a> {
    array: &'a Array,
    input: Box<dyn Read + Send>,
    row_bytes: usize,
    left: usize,
}

impl Stream<'_> {
    /// The next rows, at most `most` of them; none at the end.
    fn next(&mut self, most: usize) -> Result<Option<Elements>, Error> {
        let rows = most.min(self.left);
        if rows == 0 {
            return self.end();
        }
        let wanted = rows * self.row_bytes;
        // Memory follows what the file holds, not what it declares.
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(wanted as u64).read_to_end(&mut bytes);
        read.map_err(|e| self.array.origin.refused(&e))?;
        if bytes.len() < wanted {
            let shape = npy::shown(&self.array.shape);
            return Err(self.array.origin.error(format!(
                "its header declares the shape {shape}, and the data end before that: the file is cut off"
            )));
        }
        self.left -= rows;
        let shape: Vec<usize> =
            std::iter::once(rows).chain(self.array.sample().iter().copied()).collect();
        Ok(Some(npy::decode(self.array.dtype, self.array.big_endian, &shape, bytes)))
    }

    fn end(&mut self) -> Result<Option<Elements>, Error> {
        let more = self.input.read(&mut [0]).map_err(|e| self.array.origin.refused(&e))?;
        if more > 0 {
            let shape = npy::shown(&self.array.shape);
            return Err(self
                .array
                .origin
                .error(format!("there are more data than the shape {shape} calls for")));
        }
        Ok(None)
    }
}

/// Samples in an array, with labels in another.
#[derive(Debug)]
pub(crate) struct ArraySource {
    array: Array,
    labels: Option<Array>,
    facts: Facts,
}

impl ArraySource {
    pub(crate) fn new(array: Array, labels: Option<Array>) -> Result<Self, Error> {
        let error = |message: String| array.origin.error(message);
        if array.shape.is_empty() {
            return Err(error("it holds a single number, not an array of samples".to_owned()));
        }
        if array.rows() == 0 {
            let shape = npy::shown(&array.shape);
            return Err(error(format!("it holds no samples, as its shape is {shape}")));
        }
        if elements(array.sample()).map_err(error)? == 0 {
            let shape = npy::shown(&array.shape);
            return Err(error(format!("its samples are empty, as its shape is {shape}")));
        }
        if let Some(labels) = &labels
            && (labels.rows() != array.rows() || labels.shape[1..].iter().any(|&d| d != 1))
        {
            return Err(labels.origin.error(format!(
                "labels of shape {} do not go with {} samples of {}",
                npy::shown(&labels.shape),
                array.rows(),
                array.origin.path().display()
            )));
        }
        let facts = Facts {
            sample: array.sample().to_vec(),
            bytes: array.dtype == DType::U8,
            layout: Layout::Auto,
            columns: None,
            taken: None,
        };
        Ok(Self { array, labels, facts })
    }
}

impl Source for ArraySource {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        Some(self.array.rows())
    }

    fn batches(&self, most: usize) -> Result<Batches<'_>, Error> {
        let mut samples = self.array.stream()?;
        let mut labels = self.labels.as_ref().map(Array::stream).transpose()?;
        let mut next = move || -> Result<Option<Rows>, Error> {
            let values = samples.next(most)?;
            let labels = match &mut labels {
                Some(stream) => match stream.next(most)? {
                    Some(found) => Some(whole(found, &stream.array.origin)?),
                    None => None,
                },
                None => None,
            };
            Ok(values.map(|v| Rows { values: v.into_f32(), labels }))
        };
        Ok(Box::new(std::iter::from_fn(move || next().transpose()).fuse()))
    }
}

/// Labels as whole numbers.
fn whole(found: Elements, origin: &Origin) -> Result<Vec<i64>, Error> {
    let wide = match found {
        Elements::I64(a) => return Ok(a.into_iter().collect()),
        Elements::U8(a) => return Ok(a.into_iter().map(i64::from).collect()),
        Elements::F32(a) => a.mapv(f64::from),
        Elements::F64(a) => a,
    };
    label_numbers(&wide).map_err(|v| origin.error(format!("the label {v} is no whole number")))
}

#[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
fn label_numbers(found: &ArrayD<f64>) -> Result<Vec<i64>, f64> {
    let number = |&v: &f64| if v.fract() == 0.0 && v.abs() < 1e15 { Ok(v as i64) } else { Err(v) };
    found.iter().map(number).collect()
}
