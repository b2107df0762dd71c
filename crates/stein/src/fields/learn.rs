//! Fitting a score model by itself, on this machine.

use std::ops::ControlFlow;

use taste_data::Samples;
use taste_detector::{Described, Engine, passes};

use super::{Field, FieldSpec, Learner, Learning};
use crate::Error;

/// Fits a score model to samples.
pub fn fit(
    spec: &dyn FieldSpec,
    samples: &dyn Samples,
    seed: u64,
) -> Result<Box<dyn Field>, Error> {
    let (data, engine) = (Described::of(samples), Engine::default());
    let progress = |_: taste_detector::Stage<'_>| ControlFlow::Continue(());
    let learner = Learner { data: &data, seed, engine: &engine, progress: &progress };
    let mut learning = spec.begin(&learner)?;
    loop {
        learning = match learning {
            Learning::Done(field) => return Ok(field),
            Learning::Pass(watches, then) => {
                then(&passes::gather_inputs(samples, &watches, &progress)?)?
            }
            Learning::Samples(then) => return then(&learner, samples),
        };
    }
}
