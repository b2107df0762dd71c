//! The entropy of the class probabilities (Chan, Rottmann and Gottschalk 2021): −Σ p·log p, with probabilities from
//! 10⁻⁷ on.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_ops::functions;

use super::shared::Logits;

pub(super) const FAMILY: &dyn Family = &Entropy;

const CHOICE: Choice =
    Choice { name: "entropy", usage: "entropy", about: "the entropy of the class probabilities" };

/// −Σ p·log p.
#[derive(Clone, Copy, Debug)]
struct Entropy;

impl Entry for Entropy {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Entropy {
    fn about(&self) -> About {
        About { paper: "Chan, Rottmann and Gottschalk 2021", fit: "0", score: "1" }
    }

    fn read(&self, _: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(*self))
    }
}

impl Method for Entropy {
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
        let p = functions::softmax(&mut b, logits.id, 1)?;
        let p = functions::at_least(&mut b, p, LEAST)?;
        let log = functions::log(&mut b, p)?;
        let score = b.formula([p, log], |[p, log]| -(p * log).sum(&[1]))?;
        Ok(Statistic::new(b.reshape(score, &[rows])?).into())
    }
}

/// Probabilities are at least this.
const LEAST: f64 = 1e-7;
