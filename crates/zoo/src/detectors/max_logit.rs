//! The largest logit (Hendrycks and others 2022): the score is −max z.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_ops::functions;

use super::shared::Logits;

pub(super) const FAMILY: &dyn Family = &MaxLogit;

const CHOICE: Choice =
    Choice { name: "max-logit", usage: "max-logit", about: "minus the largest logit" };

/// −max z.
#[derive(Clone, Copy, Debug)]
struct MaxLogit;

impl Entry for MaxLogit {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for MaxLogit {
    fn about(&self) -> About {
        About { paper: "Hendrycks and others 2022", fit: "0", score: "1" }
    }

    fn read(&self, _: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(*self))
    }
}

impl Method for MaxLogit {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let largest = functions::largest(&mut b, logits.id, 1)?;
        let score = b.neg(largest)?;
        Ok(Statistic::new(b.reshape(score, &[rows])?).into())
    }
}
