//! Detectors that change the activations of a sample by what its larger ones are, and take the energy score behind them.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_graph::{Build, Id, OpError};

use super::shared::{Logits, Pruned, activations, energy, share};

/// The energy behind activations that are shaped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaped {
    pub(super) choice: Choice,
    pub(super) paper: &'static str,
    /// The share of the activations, the smallest, that counts as pruned.
    pub(super) p: f64,
    /// The activations as they go on, one row a sample.
    pub(super) shape: fn(&mut Build<'_>, Pruned) -> Result<Id, OpError>,
}

impl Entry for Shaped {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl Family for Shaped {
    fn about(&self) -> About {
        About { paper: self.paper, fit: "0", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self { p: share(arguments, "p")?.unwrap_or(self.p), ..*self }))
    }
}

impl Method for Shaped {
    fn name(&self) -> &str {
        self.choice.name
    }

    fn written(&self) -> String {
        format!("{}:p={}", self.choice.name, self.p)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let (tensor, place) = activations(job)?;
        let pruned = Pruned::of(job, tensor, self.p)?;
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let shaped = (self.shape)(&mut b, pruned)?;
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
