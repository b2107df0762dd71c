//! Activation shaping, ASH-S (Djurisic, Bozanic, Ashok and Liu 2023): the energy score with the smaller activations of
//! a sample set to zero, and the others scaled by the exponential of the share that they have of the sum.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_ops::functions;

use super::shared::{Logits, Pruned, activations, energy, share};

pub(super) const FAMILY: &dyn Family = &Ash { p: 0.65 };

const CHOICE: Choice = Choice {
    name: "ash",
    usage: "ash[:p=0.65]",
    about: "the energy score with a share p of the activations of a sample, the smallest, set to zero and the others \
            scaled up",
};

/// The energy behind activations that are pruned and scaled.
#[derive(Clone, Copy, Debug)]
struct Ash {
    p: f64,
}

impl Entry for Ash {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Ash {
    fn about(&self) -> About {
        About { paper: "Djurisic, Bozanic, Ashok and Liu 2023", fit: "0", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self { p: share(arguments, "p")?.unwrap_or(self.p) }))
    }
}

impl Method for Ash {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:p={}", CHOICE.name, self.p)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let (tensor, place) = activations(job)?;
        let Pruned { flat, least, scale } = Pruned::of(job, tensor, self.p)?;
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let kept = functions::at_most(&mut b, least, flat)?;
        let shaped = b.formula([flat, kept, scale], |[x, kept, scale]| x * kept * scale)?;
        let shape = b.fact(tensor).shape.clone();
        let shaped = b.reshape(shaped, &shape)?;
        let logits = job.draft.instead(tensor, shaped, logits.id)?;
        let mut b = job.draft.build();
        let score = energy(&mut b, logits)?;
        let mut statistic = Statistic::new(b.reshape(score, &[rows])?);
        statistic.facts = json!({ "activations": place });
        Ok(statistic.into())
    }
}
