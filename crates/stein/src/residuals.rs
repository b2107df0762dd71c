//! Raw residuals of samples: nothing is taken off, and nothing is decided.

use std::fmt;

use ndarray::{Array2, ArrayD};
use taste_engine::{Backend, Model, Request, Target, Value};

use crate::{
    Error, Operator,
    error::request,
    residual::{self, Subject},
    runner::Runner,
    score::ScoreModel,
};

/// What an operator makes of a model and a score, in an engine.
pub struct Residuals {
    runner: Runner,
}

/// The residuals of some samples.
#[derive(Clone, Debug)]
pub struct Raw {
    /// One column for every class, or for the only function: N × C.
    pub components: Array2<f32>,
    /// The residual by entry of the sample: of the only function, or of the class most likely at x.
    pub map: Option<ArrayD<f32>>,
}

impl fmt::Debug for Residuals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Residuals").finish_non_exhaustive()
    }
}

impl Residuals {
    /// Prepares the residuals of the request's target; by default those of every class, or of the only output. There
    /// are maps if the request wants the diagonal.
    pub fn new(
        model: &Model,
        score: &dyn ScoreModel,
        operator: &Operator,
        asked: &Request,
        backend: &Backend,
        threads: usize,
    ) -> Result<Self, Error> {
        let mut draft = model.draft(asked)?;
        let subject = match asked.target {
            Some(target) if target != Target::EveryProb => Subject::Single(target),
            None if draft.width() < 2 => Subject::Single(Target::Output(0)),
            _ => Subject::EveryClass { profile: None },
        };
        let found = residual::build(&mut draft, score, operator, subject, asked.wants.diagonal)?;
        let mut outputs = vec![("components".to_owned(), found.components)];
        outputs.extend(found.map.map(|id| ("map".to_owned(), id)));
        let session = backend.compile(draft.graph(), &outputs, threads)?;
        let runner = Runner::new(session, draft.input_name(), draft.batch());
        Ok(Self { runner })
    }

    /// The residuals of samples along the first axis, all at once.
    pub fn of(&mut self, samples: &ArrayD<f32>) -> Result<Raw, Error> {
        let mut results = self.runner.run(samples)?.into_iter();
        let components = results.next().ok_or_else(|| request("the residuals are missing"))?;
        let components = components
            .to_f32()
            .into_dimensionality()
            .map_err(|e| request(format!("the residuals of the model: {e}")))?;
        Ok(Raw { components, map: results.next().as_ref().map(Value::to_f32) })
    }
}
