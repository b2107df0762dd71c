//! Running a compiled derivative.

use crate::{
    Backend, Batch, Derived, Error, Outputs, Session, Value, View, derive::Rows, error::request,
    session::Inputs,
};

/// A derivative in an engine.
pub struct Compiled {
    derived: Derived,
    session: Session,
    inputs: Inputs,
}

impl Compiled {
    pub(crate) fn new(derived: Derived, backend: &Backend, threads: usize) -> Result<Self, Error> {
        let derivation = &derived.derivation;
        let session = backend.compile(&derivation.graph, &derivation.ends(), threads)?;
        let inputs = Inputs::new(&derived.inputs, derived.batch);
        Ok(Self { derived, session, inputs })
    }

    /// The derivative.
    pub fn derived(&self) -> &Derived {
        &self.derived
    }

    /// Computes the results for samples along the first axis of every input. `first` is the number of the first
    /// sample in the whole data set: random signs depend on it.
    pub fn run(&self, inputs: &[(&str, &Value)], first: usize) -> Result<Outputs, Error> {
        let inputs: Vec<(&str, View<'_>)> = inputs.iter().map(|(n, v)| (*n, (*v).into())).collect();
        let rows = self.check(&inputs)?;
        let size = match self.derived.batch {
            Batch::Fixed(size) if size != rows => size,
            _ => return self.run_rows(&inputs, rows, first),
        };
        let parts = self.inputs.in_batches(&inputs, rows, size, |inputs, start| {
            self.run_rows(inputs, size, first + start)
        })?;
        let cut = parts.into_iter().map(|(part, rows)| part.first_rows(rows));
        Outputs::join(&cut.collect::<Vec<_>>())
    }

    /// The number of samples, if every input has the right shape and finite entries.
    fn check(&self, inputs: &[(&str, View<'_>)]) -> Result<usize, Error> {
        let rows = self.inputs.check(inputs)?;
        for (name, value) in inputs {
            if let Some(place) = value.first_not_finite() {
                let message = format!("sample {place} holds NaN or infinite entries");
                return Err(Error::Input { name: (*name).to_owned(), message });
            }
        }
        rows.ok_or_else(|| request("there are no samples"))
    }

    fn run_rows(
        &self,
        inputs: &[(&str, View<'_>)],
        rows: usize,
        first: usize,
    ) -> Result<Outputs, Error> {
        let Self { derived, session, .. } = self;
        let rows = Rows { count: rows, first, seed: derived.seed };
        let parts = derived.derivation.parts;
        derived.derivation.schedule.run(rows, &mut |further| {
            let further = further.iter().map(|(name, value)| (*name, View::from(*value)));
            let feeds: Vec<(&str, View<'_>)> =
                inputs.iter().map(|(name, value)| (*name, value.view())).chain(further).collect();
            let mut results = session.run(&feeds)?.into_iter();
            let mut next = || results.next().ok_or_else(|| request("a result is missing"));
            let value = next()?;
            let outputs = parts.try_map(|_| Ok(value), |part| part.map(|_| next()).transpose())?;
            Ok((outputs, results.collect()))
        })
    }
}
