//! Raw residuals of samples: nothing is taken off, and nothing is decided.

use std::fmt;

use ndarray::{Array2, ArrayD};
use taste_detector::{Engine, refused};
use taste_engine::{Model, Request, Session, Target, Value};

use crate::{
    Error,
    fields::Field,
    operators::Operator,
    residual::{self, Subject},
};

/// What an operator makes of a model and a field, in an engine.
pub struct Residuals {
    session: Session,
    inputs: Vec<String>,
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
        field: &dyn Field,
        operator: &dyn Operator,
        asked: &Request,
        engine: &Engine,
    ) -> Result<Self, Error> {
        let mut draft = model.draft(asked)?;
        let subject = match asked.target {
            Some(target) if !target.is_every_class() => Subject::Single(target),
            None if !draft.answer().has_classes() => Subject::Single(Target::output(0)),
            _ => Subject::EveryClass,
        };
        let found =
            residual::build(&mut draft, field, operator, subject, false, asked.wants.diagonal)?;
        let mut outputs = vec![("components".to_owned(), found.components)];
        outputs.extend(found.map.map(|id| ("map".to_owned(), id)));
        let session = engine.backend.compile(draft.graph(), &outputs, engine.threads)?;
        Ok(Self { session, inputs: draft.inputs() })
    }

    /// The residuals of samples along the first axis, all at once.
    pub fn of(&self, samples: &ArrayD<f32>) -> Result<Raw, Error> {
        let mut results = self.session.run_samples(&self.inputs, samples.view())?.into_iter();
        let components = results.next().ok_or_else(|| refused("the residuals are missing"))?;
        let components = components
            .to_f32()
            .into_dimensionality()
            .map_err(|e| refused(format!("the residuals of the model: {e}")))?;
        Ok(Raw { components, map: results.next().as_ref().map(Value::to_f32) })
    }
}
