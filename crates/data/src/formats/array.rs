//! Arrays whose elements lie one after the other: npy, members of npz, IDX.

use std::{
    fs::File,
    io::{self, BufReader, Read},
};

use ndarray::ArrayD;
use taste_files::message;

use crate::{
    Error, Keep, Layout, Problem,
    npy::{self, ByColumns, DType, Elements},
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
    /// Whether elements are stored column by column.
    pub(crate) by_columns: bool,
    pub(crate) start: u64,
}

impl Array {
    pub(crate) fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    pub(super) fn sample(&self) -> &[usize] {
        self.shape.get(1..).unwrap_or_default()
    }

    /// Goes through the rows.
    pub(super) fn stream(&self) -> Result<Stream<'_>, Error> {
        let row_bytes =
            elements(self.sample()).map_err(|e| self.origin.error(e))? * self.dtype.size();
        let input: Box<dyn Read + Send> = if self.by_columns {
            Box::new(Turned::new(self, row_bytes)?)
        } else {
            self.origin.open()?
        };
        let mut input = BufReader::with_capacity(BUFFER, input);
        let header = if self.by_columns { 0 } else { self.start };
        let passed = io::copy(&mut (&mut input).take(header), &mut io::sink());
        passed.map_err(|e| self.origin.error(e))?;
        Ok(Stream { array: self, input, row_bytes, next: 0 })
    }
}

/// Bytes read ahead.
const BUFFER: usize = 1 << 16;

/// The most rows that are read or passed over at once: a header may declare any number.
const MOST_RUN: usize = 4096;

/// The elements of an array that is stored column by column, row by row.
struct Turned {
    columns: ByColumns,
    source: Stored,
    rows: usize,
    /// How many rows are turned at once, and the next of them.
    at_once: usize,
    next: usize,
    ready: io::Cursor<Vec<u8>>,
}

/// Where elements are read from any place on: a file, or all that a compressed one holds.
enum Stored {
    File(File),
    Memory(io::Cursor<Vec<u8>>),
}

impl Turned {
    /// Bytes of the rows that are turned at once.
    const BYTES: usize = 1 << 24;

    fn new(array: &Array, row_bytes: usize) -> Result<Self, Error> {
        let error = |e: io::Error| array.origin.error(e);
        let source = if array.origin.length().is_some() {
            Stored::File(File::open(array.origin.path()).map_err(error)?)
        } else {
            let end = array.start.saturating_add((array.rows() * row_bytes) as u64);
            let mut bytes = Vec::new();
            array.origin.open()?.take(end).read_to_end(&mut bytes).map_err(error)?;
            Stored::Memory(io::Cursor::new(bytes))
        };
        Ok(Self {
            columns: ByColumns::new(&array.shape, array.dtype.size(), array.start),
            source,
            rows: array.rows(),
            at_once: (Self::BYTES / row_bytes.max(1)).clamp(1, 1 << 16),
            next: 0,
            ready: io::Cursor::new(Vec::new()),
        })
    }
}

impl Read for Turned {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.ready.read(into)?;
        if read > 0 || into.is_empty() || self.next >= self.rows {
            return Ok(read);
        }
        let rows = self.next..self.rows.min(self.next + self.at_once);
        self.next = rows.end;
        let bytes = match &mut self.source {
            Stored::File(file) => self.columns.read(file, rows)?,
            Stored::Memory(bytes) => self.columns.read(bytes, rows)?,
        };
        self.ready = io::Cursor::new(bytes);
        self.ready.read(into)
    }
}

pub(super) struct Stream<'a> {
    array: &'a Array,
    input: BufReader<Box<dyn Read + Send>>,
    row_bytes: usize,
    /// The number of the next row.
    next: usize,
}

impl Stream<'_> {
    /// The next rows that are wanted, at most `most` of them, and their numbers; none at the end.
    pub(super) fn next(
        &mut self,
        most: usize,
        keep: &Keep<'_>,
    ) -> Result<Option<(Vec<usize>, Elements)>, Error> {
        // Memory follows what the file holds, not what it declares.
        let (mut index, mut bytes) = (Vec::new(), Vec::new());
        while self.next < self.array.rows() && index.len() < most {
            let wanted = keep(self.next);
            let end = if wanted { self.next + (most - index.len()) } else { usize::MAX };
            let end = end.min(self.next + MOST_RUN).min(self.array.rows());
            let run = self.next..(self.next + 1..end).find(|&i| keep(i) != wanted).unwrap_or(end);
            self.read(run.len() * self.row_bytes, wanted.then_some(&mut bytes))?;
            self.next = run.end;
            if wanted {
                index.extend(run);
            }
        }
        if index.is_empty() {
            return self.end();
        }
        let shape: Vec<usize> =
            std::iter::once(index.len()).chain(self.array.sample().iter().copied()).collect();
        let elements = npy::decode(self.array.dtype, self.array.big_endian, &shape, bytes);
        Ok(Some((index, elements)))
    }

    /// Reads bytes, or passes over them.
    fn read(&mut self, count: usize, into: Option<&mut Vec<u8>>) -> Result<(), Error> {
        let mut bytes = (&mut self.input).take(count as u64);
        let read = match into {
            Some(into) => bytes.read_to_end(into).map(|n| n as u64),
            None => io::copy(&mut bytes, &mut io::sink()),
        };
        if read.map_err(|e| self.array.origin.error(e))? == count as u64 {
            return Ok(());
        }
        let shape = message::shape(&self.array.shape);
        Err(self.array.origin.error(format!(
            "its header declares the shape {shape}, and the data end before that: the file is cut off"
        )))
    }

    fn end<T>(&mut self) -> Result<Option<T>, Error> {
        let more = self.input.read(&mut [0]).map_err(|e| self.array.origin.error(e))?;
        if more > 0 {
            let shape = message::shape(&self.array.shape);
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
        let error = |problem: Problem| array.origin.error(problem);
        if array.shape.is_empty() {
            return Err(error("it holds a single number, not an array of samples".into()));
        }
        if array.rows() == 0 {
            let shape = message::shape(&array.shape);
            return Err(error(format!("it holds no samples, as its shape is {shape}").into()));
        }
        if elements(array.sample()).map_err(error)? == 0 {
            let shape = message::shape(&array.shape);
            return Err(error(format!("its samples are empty, as its shape is {shape}").into()));
        }
        if let Some(labels) = &labels
            && (labels.rows() != array.rows() || labels.shape[1..].iter().any(|&d| d != 1))
        {
            return Err(labels.origin.error(Problem::Labels(format!(
                "labels of shape {} do not go with {} samples of {}",
                message::shape(&labels.shape),
                array.rows(),
                array.origin.path().display()
            ))));
        }
        let facts = Facts {
            sample: array.sample().to_vec(),
            bytes: array.dtype == DType::U8,
            layout: Layout::Auto,
            columns: None,
            taken: None,
            texts: Vec::new(),
            sized: false,
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

    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error> {
        let mut samples = self.array.stream()?;
        let mut labels = self.labels.as_ref().map(Array::stream).transpose()?;
        let mut next = move || -> Result<Option<Rows>, Error> {
            let values = samples.next(most, &keep)?;
            let labels = match &mut labels {
                Some(stream) => match stream.next(most, &keep)? {
                    Some((_, found)) => Some(whole(found, &stream.array.origin)?),
                    None => None,
                },
                None => None,
            };
            Ok(values.map(|(index, values)| Rows {
                index,
                values: values.into_f32(),
                labels,
                kept: Vec::new(),
            }))
        };
        Ok(Box::new(std::iter::from_fn(move || next().transpose()).fuse()))
    }
}

/// Labels as whole numbers.
pub(super) fn whole(found: Elements, origin: &Origin) -> Result<Vec<i64>, Error> {
    let wide = match found {
        Elements::I64(a) => return Ok(a.into_iter().collect()),
        Elements::U8(a) => return Ok(a.into_iter().map(i64::from).collect()),
        Elements::F32(a) => a.mapv(f64::from),
        Elements::F64(a) => a,
    };
    label_numbers(&wide)
        .map_err(|v| origin.error(Problem::Labels(format!("the label {v} is no whole number"))))
}

#[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
fn label_numbers(found: &ArrayD<f64>) -> Result<Vec<i64>, f64> {
    let number = |&v: &f64| if v.fract() == 0.0 && v.abs() < 1e15 { Ok(v as i64) } else { Err(v) };
    found.iter().map(number).collect()
}
