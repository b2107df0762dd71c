//! Samples through a session, a chunk at a time.

use ndarray::{ArrayD, Axis};
use taste_engine::{Batch, Session, Value};

use crate::{Error, error::request};

/// A session with the input it is fed through.
pub(crate) struct Runner {
    session: Box<dyn Session>,
    input: String,
    sample_shape: Vec<usize>,
    batch: Batch,
}

impl Runner {
    pub(crate) fn new(
        session: Box<dyn Session>,
        input: &str,
        sample_shape: &[usize],
        batch: Batch,
    ) -> Self {
        Self { session, input: input.to_owned(), sample_shape: sample_shape.to_vec(), batch }
    }

    /// The outputs for samples along the first axis.
    pub(crate) fn run(&mut self, samples: &ArrayD<f32>) -> Result<Vec<Value>, Error> {
        if samples.shape().get(1..) != Some(&self.sample_shape[..]) {
            return Err(request(format!(
                "input {:?} wants samples of shape {:?}, got an array of shape {:?}",
                self.input,
                self.sample_shape,
                samples.shape()
            )));
        }
        let rows = samples.shape()[0];
        let size = match self.batch {
            Batch::Fixed(size) if size != rows => size,
            _ => return self.feed(samples.clone()),
        };
        // A file for a fixed batch: full batches, the last one filled up with copies of its last sample.
        let mut parts: Vec<Vec<Value>> = Vec::new();
        for start in (0..rows).step_by(size) {
            let end = rows.min(start + size);
            let picks: Vec<usize> = (start..start + size).map(|i| i.min(end - 1)).collect();
            let results = self.feed(samples.select(Axis(0), &picks))?;
            parts.push(results.iter().map(|v| v.rows(0, end - start)).collect());
        }
        let count = parts.first().map_or(0, Vec::len);
        let column = |i: usize| -> Result<Value, Error> {
            let values: Vec<&Value> = parts.iter().map(|p| &p[i]).collect();
            Ok(Value::join(&values)?)
        };
        (0..count).map(column).collect()
    }

    fn feed(&mut self, samples: ArrayD<f32>) -> Result<Vec<Value>, Error> {
        let samples = Value::from(samples);
        Ok(self.session.run(&[(&self.input, &samples)])?)
    }
}
