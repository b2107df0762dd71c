//! The samples of a run, in memory.

use ndarray::ArrayD;
use taste_data::Samples;

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
pub(crate) enum Wanted<'t> {
    Nothing,
    Classes(usize),
    Numbers(&'t ArrayD<f32>),
}

impl Table {
    /// Reads all samples; `memory` is how many bytes they may take.
    pub(crate) fn read(
        samples: &dyn Samples,
        shape: &[usize],
        wanted: &Wanted<'_>,
        memory: usize,
    ) -> Result<Self, Error> {
        let fail = |message: String| Error::Samples { name: samples.name().to_owned(), message };
        if samples.sample_shape() != shape {
            return Err(fail(format!(
                "samples have shape {:?}, and the network takes {shape:?}",
                samples.sample_shape()
            )));
        }
        let width: usize = shape.iter().product();
        let most = memory / (4 * width.max(1));
        let mut table = Self {
            values: Vec::new(),
            shape: shape.to_vec(),
            answers: match wanted {
                Wanted::Nothing => Answers::None,
                Wanted::Classes(_) => Answers::Classes(Vec::new()),
                Wanted::Numbers(of) => {
                    let width = of.shape().iter().skip(1).product();
                    Answers::Numbers { values: Vec::new(), width }
                }
            },
            skipped: 0,
        };
        for chunk in samples.chunks(256)? {
            let chunk = chunk?;
            for (position, row) in chunk.values.outer_iter().enumerate() {
                let index = chunk.index[position];
                if row.iter().any(|v| !v.is_finite()) {
                    table.skipped += 1;
                    continue;
                }
                if table.values.len() / width.max(1) >= most {
                    return Err(fail(format!(
                        "the samples take more than the {} MiB that training may hold in memory; train on fewer",
                        memory >> 20
                    )));
                }
                match (&mut table.answers, wanted) {
                    (Answers::Classes(classes), Wanted::Classes(count)) => {
                        let label =
                            chunk.labels.as_ref().map(|l| l[position]).ok_or_else(|| {
                                fail(
                                    "the samples have no labels, and a classifier learns from them"
                                        .to_owned(),
                                )
                            })?;
                        let class = usize::try_from(label).ok().filter(|c| c < count);
                        classes.push(class.ok_or_else(|| {
                            fail(format!(
                                "sample {index} has the label {label}, and the network tells {count} classes \
                                 apart: 0 to {}",
                                count.saturating_sub(1)
                            ))
                        })?);
                    }
                    (Answers::Numbers { values, .. }, Wanted::Numbers(of)) => {
                        if index >= of.shape().first().copied().unwrap_or(0) {
                            return Err(fail(format!(
                                "there are more samples than the {} targets",
                                of.shape().first().copied().unwrap_or(0)
                            )));
                        }
                        let target = of.index_axis(ndarray::Axis(0), index);
                        if target.iter().any(|v| !v.is_finite()) {
                            return Err(fail(format!(
                                "the target of sample {index} is not finite"
                            )));
                        }
                        values.extend(target.iter());
                    }
                    _ => {}
                }
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
        let mix = |hash: u64, bits: u32| {
            (hash.rotate_left(5) ^ u64::from(bits)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
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
