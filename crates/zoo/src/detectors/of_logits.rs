//! Detectors that are a function of the logits and, some of them, of a temperature.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_graph::{Build, Id, OpError};

use super::shared::{Logits, temperature};

/// A score of the logits of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfLogits {
    pub(super) choice: Choice,
    pub(super) paper: &'static str,
    /// Where it has one.
    pub(super) temperature: Option<f64>,
    /// N × 1, of logits that are N × classes, and the temperature.
    pub(super) score: fn(&mut Build<'_>, Id, f64) -> Result<Id, OpError>,
}

impl Entry for OfLogits {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl Family for OfLogits {
    fn about(&self) -> About {
        About { paper: self.paper, fit: "0", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let temperature = match self.temperature {
            Some(usual) => Some(temperature(arguments)?.unwrap_or(usual)),
            None => None,
        };
        Ok(Arc::new(Self { temperature, ..*self }))
    }
}

impl Method for OfLogits {
    fn name(&self) -> &str {
        self.choice.name
    }

    fn written(&self) -> String {
        let temperature = self.temperature.map_or_else(String::new, |t| format!(":t={t}"));
        format!("{}{temperature}", self.choice.name)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let score = (self.score)(&mut b, logits.id, self.temperature.unwrap_or(1.0))?;
        Ok(Statistic::new(b.reshape(score, &[rows])?).into())
    }
}
