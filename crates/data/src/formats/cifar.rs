//! The binary files of CIFAR: records of one or two label bytes and 3 × 32 × 32 bytes.

use std::io::Read;

use ndarray::{ArrayD, IxDyn};

use super::Found;
use crate::{
    Error, Layout, Options,
    origin::Origin,
    source::{Batches, Facts, Rows, Source},
};

const PIXELS: usize = 3 * 32 * 32;

#[derive(Debug)]
struct Cifar {
    origin: Origin,
    /// Label bytes of a record: 1 for CIFAR-10; 2 for CIFAR-100, the second of them the finer label.
    label_bytes: usize,
    count: usize,
    facts: Facts,
}

pub(super) fn open(found: &Found, _options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    let length = match origin.length() {
        Some(length) => length,
        None => std::io::copy(&mut origin.open()?, &mut std::io::sink())
            .map_err(|e| origin.refused(&e))?,
    };
    let length = usize::try_from(length).map_err(|_| origin.error("it is too large"))?;
    let of_hundred = ["train.bin", "test.bin"].contains(&origin.file_name().as_str());
    let order = if of_hundred { [2, 1] } else { [1, 2] };
    let fits = |label_bytes: &usize| length.is_multiple_of(PIXELS + label_bytes) && length > 0;
    let Some(label_bytes) = order.into_iter().find(fits) else {
        return Err(origin.error(format!(
            "its {length} bytes are no whole number of CIFAR records (3073 bytes each for CIFAR-10, 3074 for CIFAR-100)"
        )));
    };
    let facts = Facts {
        sample: vec![3, 32, 32],
        bytes: true,
        layout: Layout::Nchw,
        columns: None,
        taken: None,
    };
    Ok(Box::new(Cifar { origin, label_bytes, count: length / (PIXELS + label_bytes), facts }))
}

impl Cifar {
    fn batch(&self, input: &mut dyn Read, most: usize) -> Result<Option<Rows>, Error> {
        let record = PIXELS + self.label_bytes;
        let mut bytes = Vec::new();
        let read = input.take((most * record) as u64).read_to_end(&mut bytes);
        read.map_err(|e| self.origin.refused(&e))?;
        let rows = bytes.len() / record;
        if rows * record != bytes.len() {
            return Err(self.origin.error("the file is cut off"));
        }
        let mut values = Vec::with_capacity(rows * PIXELS);
        let mut labels = Vec::with_capacity(rows);
        for record in bytes.chunks_exact(record) {
            let (label, pixels) = record.split_at(self.label_bytes);
            labels.extend(label.last().copied().map(i64::from));
            values.extend(pixels.iter().copied().map(f32::from));
        }
        let shape = IxDyn(&[rows, 3, 32, 32]);
        let values = ArrayD::from_shape_vec(shape, values).expect("whole records");
        Ok((rows > 0).then_some(Rows { values, labels: Some(labels) }))
    }
}

impl Source for Cifar {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        Some(self.count)
    }

    fn batches(&self, most: usize) -> Result<Batches<'_>, Error> {
        let mut input = self.origin.open()?;
        Ok(Box::new(std::iter::from_fn(move || self.batch(&mut input, most).transpose()).fuse()))
    }
}
