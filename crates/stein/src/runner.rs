//! Samples through a session, a chunk at a time.

use ndarray::ArrayD;
use taste_engine::{Batch, Session, Value};

use crate::Error;

/// A session with the input it is fed through.
pub(crate) struct Runner {
    session: Session,
    input: String,
}

impl Runner {
    pub(crate) fn new(session: Session, input: &str, batch: Batch) -> Self {
        Self { session: session.with_batch(batch), input: input.to_owned() }
    }

    /// The outputs for samples along the first axis.
    pub(crate) fn run(&self, samples: &ArrayD<f32>) -> Result<Vec<Value>, Error> {
        Ok(self.session.run(&[(&self.input, samples)])?)
    }
}
