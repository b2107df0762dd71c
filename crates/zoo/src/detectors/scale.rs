//! SCALE (Xu, Chen, Franchi and Yao 2024): the energy score with the activations of a sample scaled by the exponential
//! of the share that the larger ones have of the sum.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};

use super::shared::{Logits, Pruned, activations, energy, share};

pub(super) const FAMILY: &dyn Family = &Scale { p: 0.65 };

const CHOICE: Choice = Choice {
    name: "scale",
    usage: "scale[:p=0.65]",
    about: "the energy score with the activations of a sample scaled by what the largest, all but a share p, have of \
            their sum",
};

/// The energy behind activations that are scaled.
#[derive(Clone, Copy, Debug)]
struct Scale {
    p: f64,
}

impl Entry for Scale {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Scale {
    fn about(&self) -> About {
        About { paper: "Xu, Chen, Franchi and Yao 2024", fit: "0", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self { p: share(arguments, "p")?.unwrap_or(self.p) }))
    }
}

impl Method for Scale {
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
        let Pruned { flat, scale, .. } = Pruned::of(job, tensor, self.p)?;
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let shape = b.fact(tensor).shape.clone();
        let scaled = b.mul(flat, scale)?;
        let scaled = b.reshape(scaled, &shape)?;
        let logits = job.draft.instead(tensor, scaled, logits.id)?;
        let mut b = job.draft.build();
        let score = energy(&mut b, logits)?;
        let mut statistic = Statistic::new(b.reshape(score, &[rows])?);
        statistic.facts = json!({ "activations": place });
        Ok(statistic.into())
    }
}
