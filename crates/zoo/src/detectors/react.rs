//! `ReAct` (Sun, Guo and Li 2021): the energy score with activations that are cut off at a quantile of those of
//! training samples.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step,
    passes::{Gather, Watch},
    refused,
};
use taste_ops::functions;

use super::shared::{Logits, activations, as_rows, energy, share};

pub(super) const FAMILY: &dyn Family = &React { p: 0.9 };

const CHOICE: Choice = Choice {
    name: "react",
    usage: "react[:p=0.9]",
    about: "the energy score with activations cut off at the quantile p of training samples",
};

/// The energy behind min(activations, quantile).
#[derive(Clone, Copy, Debug)]
struct React {
    p: f64,
}

impl Entry for React {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for React {
    fn about(&self) -> About {
        About { paper: "Sun, Guo and Li 2021", fit: "1", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self { p: share(arguments, "p")?.unwrap_or(self.p) }))
    }
}

impl Method for React {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:p={}", CHOICE.name, self.p)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let (tensor, place) = activations(job)?;
        let (flat, _) = as_rows(job, tensor)?;
        let watches = vec![Watch::value("activations", flat, Gather::Values)];
        let p = self.p;
        let purpose = "training samples for the activations";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let quantile = seen.values("activations")?.quantile(p);
            let threshold =
                quantile.ok_or_else(|| refused("no training sample has finite activations"))?;
            let mut b = job.draft.build();
            let cut = functions::capped(&mut b, tensor, threshold)?;
            let logits = job.draft.instead(tensor, cut, logits.id)?;
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let score = energy(&mut b, logits)?;
            let mut statistic = Statistic::new(b.reshape(score, &[rows])?);
            statistic.facts = json!({ "activations": place, "threshold": threshold });
            Ok(statistic.into())
        }))
    }
}
