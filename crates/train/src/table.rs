//! The samples of a run, in memory.

use ndarray::{ArrayD, Axis};
use taste_data::{Chunk, Samples};
use taste_stats::random::{self, GOLDEN};

use crate::Error;

/// What the network should make of each sample.
#[derive(Clone, Debug)]
pub(crate) enum Answers {
    /// Nothing but the sample itself.
    None,
    /// A class.
    Classes(Vec<usize>),
    /// Numbers, `width` for each.
    Numbers { values: Vec<f32>, width: usize },
}

/// Samples with finite entries, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) values: Vec<f32>,
    pub(crate) shape: Vec<usize>,
    pub(crate) answers: Answers,
    /// How many samples had entries that are not finite.
    pub(crate) skipped: usize,
}

/// What to read beside the samples.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'t> {
    Nothing,
    Classes(usize),
    Numbers(&'t ArrayD<f32>),
}

impl Answers {
    /// None yet.
    fn new(wanted: Wanted<'_>) -> Self {
        match wanted {
            Wanted::Nothing => Self::None,
            Wanted::Classes(_) => Self::Classes(Vec::new()),
            Wanted::Numbers(of) => {
                let width = of.shape().iter().skip(1).product();
                Self::Numbers { values: Vec::new(), width }
            }
        }
    }

    /// Takes what is wanted of the sample at a position of a chunk; or says what does not fit.
    fn take(&mut self, wanted: Wanted<'_>, chunk: &Chunk, position: usize) -> Result<(), String> {
        let index = chunk.index[position];
        match (self, wanted) {
            (Self::Classes(classes), Wanted::Classes(count)) => {
                let label = chunk.labels.as_ref().map(|l| l[position]);
                let label =
                    label.ok_or("the samples have no labels, and a classifier learns from them")?;
                let class = usize::try_from(label).ok().filter(|c| *c < count);
                classes.push(class.ok_or_else(|| {
                    format!(
                        "sample {index} has the label {label}, and the network tells {count} classes apart: 0 to {}",
                        count.saturating_sub(1)
                    )
                })?);
            }
            (Self::Numbers { values, .. }, Wanted::Numbers(of)) => {
                let count = of.shape().first().copied().unwrap_or(0);
                if index >= count {
                    return Err(format!("there are more samples than the {count} targets"));
                }
                let target = of.index_axis(Axis(0), index);
                if target.iter().any(|v| !v.is_finite()) {
                    return Err(format!("the target of sample {index} is not finite"));
                }
                values.extend(target.iter());
            }
            _ => {}
        }
        Ok(())
    }
}

impl Table {
    /// Reads all samples; `memory` is how many bytes they may take.
    pub(crate) fn read(
        samples: &dyn Samples,
        shape: &[usize],
        wanted: Wanted<'_>,
        memory: usize,
    ) -> Result<Self, Error> {
        let fail = |message: String| Error::Samples { name: samples.name().to_owned(), message };
        if samples.sample_shape() != shape {
            return Err(fail(format!(
                "the network wants samples of shape {shape:?}, got {:?}",
                samples.sample_shape()
            )));
        }
        let width = shape.iter().product::<usize>().max(1);
        let most = memory / (4 * width);
        let mut table = Self {
            values: Vec::new(),
            shape: shape.to_vec(),
            answers: Answers::new(wanted),
            skipped: 0,
        };
        for chunk in samples.chunks(256)? {
            let chunk = chunk?;
            for (position, row) in chunk.values.outer_iter().enumerate() {
                if row.iter().any(|v| !v.is_finite()) {
                    table.skipped += 1;
                    continue;
                }
                if table.values.len() / width >= most {
                    return Err(fail(format!(
                        "the samples take more than the {} MiB that training may hold in memory; train on fewer",
                        memory >> 20
                    )));
                }
                table.answers.take(wanted, &chunk, position).map_err(fail)?;
                table.values.extend(row.iter());
            }
        }
        table.check(fail)?;
        Ok(table)
    }

    fn check(&self, fail: impl Fn(String) -> Error) -> Result<(), Error> {
        if self.len() == 0 {
            let why = if self.skipped > 0 { " with finite entries" } else { "" };
            return Err(fail(format!("there are no samples{why}")));
        }
        let first = self.row(0);
        if self.values.chunks(self.width()).all(|row| row == first) {
            return Err(fail("all samples are the same: there is nothing to learn".to_owned()));
        }
        if let Answers::Classes(classes) = &self.answers
            && classes.iter().all(|c| *c == classes[0])
        {
            return Err(fail(format!("every sample has the label {}", classes[0])));
        }
        Ok(())
    }

    /// Entries of a sample.
    pub(crate) fn width(&self) -> usize {
        self.shape.iter().product::<usize>().max(1)
    }

    /// How many samples.
    pub(crate) fn len(&self) -> usize {
        self.values.len() / self.width()
    }

    pub(crate) fn row(&self, index: usize) -> &[f32] {
        let width = self.width();
        &self.values[index * width..(index + 1) * width]
    }

    /// What tells these samples and their answers from others.
    pub(crate) fn fingerprint(&self) -> String {
        let mix = |hash: u64, bits: u32| random::mix(hash.wrapping_add(GOLDEN) ^ u64::from(bits));
        let mut hash = self.values.iter().fold(0, |hash, v| mix(hash, v.to_bits()));
        match &self.answers {
            Answers::None => {}
            Answers::Classes(classes) => {
                let number = |c: usize| u32::try_from(c).unwrap_or(u32::MAX);
                hash = classes.iter().fold(hash, |hash, &c| mix(hash, number(c)));
            }
            Answers::Numbers { values, .. } => {
                hash = values.iter().fold(hash, |hash, v| mix(hash, v.to_bits()));
            }
        }
        format!("{} of shape {:?}, {hash:016x}", self.len(), self.shape)
    }
}
