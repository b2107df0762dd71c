//! The binary files of CIFAR: records of one or two label bytes and 3 × 32 × 32 bytes.

use std::{io::Read, path::PathBuf};

use ndarray::{ArrayD, IxDyn};
use taste_choice::Choice;

use super::{Format, Found, ends, folder};
use crate::{
    Error, Keep, Layout, Options, Problem,
    origin::Origin,
    source::{Batches, Facts, Rows, Source},
};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "cifar",
        usage: "data_batch_1.bin, or a folder of them",
        about: "the binary files of CIFAR-10 and CIFAR-100; of a folder with training and test data, the training data",
    },
    endings: &[".bin"],
    files: ["CIFAR batch", "CIFAR batches"],
    starts: None,
    is_text: false,
    in_folder: |name| ends(name, &[".bin"]),
    together: Some(training_or_all),
    open,
};

/// Batches of training data, if there are such.
fn training_or_all(mut files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Problem> {
    let is_train = |file: &PathBuf| {
        let name = folder::plain_name(file);
        name == "train.bin" || name.starts_with("data_batch_")
    };
    if files.iter().any(is_train) {
        files.retain(is_train);
    }
    folder::by_number(files)
}

const PIXELS: usize = 3 * 32 * 32;

#[derive(Debug)]
struct Cifar {
    origin: Origin,
    /// Label bytes of a record: 1 for CIFAR-10; 2 for CIFAR-100, the second of them the finer label.
    label_bytes: usize,
    count: usize,
    /// Whether labels are wanted.
    labels: bool,
    facts: Facts,
}

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    let length = match origin.length() {
        Some(length) => length,
        None => {
            std::io::copy(&mut origin.open()?, &mut std::io::sink()).map_err(|e| origin.error(e))?
        }
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
        texts: Vec::new(),
        sized: false,
    };
    let (count, labels) = (length / (PIXELS + label_bytes), options.labels);
    Ok(Box::new(Cifar { origin, label_bytes, count, labels, facts }))
}

impl Cifar {
    /// The samples that are wanted of the next records, at most `most`, of which the first has the number `next`.
    fn batch(
        &self,
        input: &mut dyn Read,
        next: &mut usize,
        most: usize,
        keep: &Keep<'_>,
    ) -> Result<Option<Rows>, Error> {
        let record = PIXELS + self.label_bytes;
        let mut bytes = Vec::new();
        let read = input.take((most * record) as u64).read_to_end(&mut bytes);
        read.map_err(|e| self.origin.error(e))?;
        if bytes.is_empty() && *next == self.count {
            return Ok(None);
        }
        if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
            return Err(self.origin.error("the file is cut off"));
        }
        let (mut index, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for record in bytes.chunks_exact(record) {
            if keep(*next) {
                let (label, pixels) = record.split_at(self.label_bytes);
                index.push(*next);
                labels.extend(label.last().copied().map(i64::from));
                values.extend(pixels.iter().copied().map(f32::from));
            }
            *next += 1;
        }
        let shape = IxDyn(&[index.len(), 3, 32, 32]);
        let values = ArrayD::from_shape_vec(shape, values).expect("whole records");
        Ok(Some(Rows { index, values, labels: self.labels.then_some(labels), kept: Vec::new() }))
    }
}

impl Source for Cifar {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        Some(self.count)
    }

    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error> {
        let mut input = self.origin.open()?;
        let mut next = 0;
        let batch = move || self.batch(&mut input, &mut next, most, &keep).transpose();
        Ok(Box::new(std::iter::from_fn(batch).fuse()))
    }
}
