//! Running a compiled derivative.

use ndarray::Axis;
use taste_graph::DType;

use crate::{
    Backend, Batch, Derived, Error, Outputs, Session, Value, derive::Rows, error::request,
};

/// A derivative in an engine.
pub struct Compiled {
    derived: Derived,
    session: Box<dyn Session>,
}

impl Compiled {
    pub(crate) fn new(derived: Derived, backend: &Backend, threads: usize) -> Result<Self, Error> {
        let derivation = &derived.derivation;
        let session = backend.compile(&derivation.graph, &derivation.ends(), threads)?;
        Ok(Self { derived, session })
    }

    /// The derivative.
    pub fn derived(&self) -> &Derived {
        &self.derived
    }

    /// Computes the results for samples along the first axis of every input. `first` is the number of the first
    /// sample in the whole data set: random signs depend on it.
    pub fn run(&mut self, inputs: &[(&str, &Value)], first: usize) -> Result<Outputs, Error> {
        let rows = self.check(inputs)?;
        let Batch::Fixed(size) = self.derived.batch else {
            return self.run_rows(inputs, rows, first);
        };
        if rows == size {
            return self.run_rows(inputs, rows, first);
        }
        // A file for a fixed batch: full batches, the last one filled up with copies of its last sample.
        let mut parts = Vec::new();
        for start in (0..rows).step_by(size) {
            let end = rows.min(start + size);
            let padded: Vec<(&str, Value)> =
                inputs.iter().map(|(n, v)| (*n, pad_rows(&v.rows(start, end), size))).collect();
            let feeds: Vec<(&str, &Value)> = padded.iter().map(|(n, v)| (*n, v)).collect();
            let part = self.run_rows(&feeds, size, first + start)?;
            parts.push(part.first_rows(end - start));
        }
        Outputs::join(&parts)
    }

    /// The number of samples, if every input has the right shape and finite entries.
    fn check(&self, inputs: &[(&str, &Value)]) -> Result<usize, Error> {
        let known = |name: &str| self.derived.inputs.iter().any(|i| i.name == name);
        if let Some((name, _)) = inputs.iter().find(|(n, _)| !known(n)) {
            let names: Vec<&str> = self.derived.inputs.iter().map(|i| i.name.as_str()).collect();
            return Err(Error::Input {
                name: (*name).to_owned(),
                message: format!("the model has no such input, only {}", names.join(", ")),
            });
        }
        let mut rows = None;
        for info in &self.derived.inputs {
            let fail = |message: String| Error::Input { name: info.name.clone(), message };
            let Some((_, value)) = inputs.iter().find(|(n, _)| *n == info.name) else {
                return Err(fail("nothing was given for it".to_owned()));
            };
            let want: Vec<usize> = info.fact.shape.iter().skip(1).map(|d| d.at(0)).collect();
            let got = value.shape();
            if got.len() != want.len() + 1 || got[1..] != want {
                return Err(fail(format!(
                    "wants samples of shape {want:?}, got an array of shape {got:?}"
                )));
            }
            if *rows.get_or_insert(got[0]) != got[0] {
                return Err(fail(format!(
                    "has {} samples, another input {}",
                    got[0],
                    rows.unwrap_or(0)
                )));
            }
            match (info.fact.dtype, value) {
                (DType::Float, Value::I64(_)) => {
                    return Err(fail("wants floats, got integers".to_owned()));
                }
                (DType::Int, Value::F32(_) | Value::F64(_)) => {
                    return Err(fail("wants integers, got floats".to_owned()));
                }
                _ => {}
            }
            if !value.is_finite() {
                let place = first_not_finite(value);
                return Err(fail(format!("sample {place} holds NaN or infinite entries")));
            }
        }
        match rows {
            Some(0) | None => Err(request("there are no samples")),
            Some(rows) => Ok(rows),
        }
    }

    fn run_rows(
        &mut self,
        inputs: &[(&str, &Value)],
        rows: usize,
        first: usize,
    ) -> Result<Outputs, Error> {
        let Self { derived, session } = self;
        let rows = Rows { count: rows, first, seed: derived.seed };
        let parts = derived.derivation.parts;
        derived.derivation.schedule.run(rows, &mut |further| {
            let mut results = session.run(&[inputs, further].concat())?.into_iter();
            let mut next = || results.next().ok_or_else(|| request("a result is missing"));
            let value = next()?;
            let outputs = parts.try_map(|_| Ok(value), |part| part.map(|_| next()).transpose())?;
            Ok((outputs, results.collect()))
        })
    }
}

fn pad_rows(value: &Value, rows: usize) -> Value {
    let have = value.shape()[0];
    let indices: Vec<usize> = (0..rows).map(|i| i.min(have - 1)).collect();
    match value {
        Value::F32(a) => Value::F32(a.select(Axis(0), &indices)),
        Value::F64(a) => Value::F64(a.select(Axis(0), &indices)),
        Value::I64(a) => Value::I64(a.select(Axis(0), &indices)),
    }
}

fn first_not_finite(value: &Value) -> usize {
    let rows = value.shape()[0];
    (0..rows).find(|&n| !value.rows(n, n + 1).is_finite()).unwrap_or(0)
}
