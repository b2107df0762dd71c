//! The energy score (Liu, Wang, Owens and Li 2020): −T·log Σ exp(z/T).

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};

use super::shared::{Logits, energy, temperature};

pub(super) const FAMILY: &dyn Family = &Energy { temperature: 1.0 };

const CHOICE: Choice = Choice {
    name: "energy",
    usage: "energy[:t=1]",
    about: "minus the logarithm of the sum of exponentials of the logits, at temperature t",
};

/// −T·log Σ exp(z/T).
#[derive(Clone, Copy, Debug)]
struct Energy {
    temperature: f64,
}

impl Entry for Energy {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Energy {
    fn about(&self) -> About {
        About { paper: "Liu, Wang, Owens and Li 2020", fit: "0", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let temperature = temperature(arguments)?.unwrap_or(self.temperature);
        Ok(Arc::new(Self { temperature }))
    }
}

impl Method for Energy {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:t={}", CHOICE.name, self.temperature)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let cooled = b.scale(logits.id, 1.0 / self.temperature)?;
        let energy = energy(&mut b, cooled)?;
        let score = b.scale(energy, self.temperature)?;
        Ok(Statistic::new(b.reshape(score, &[rows])?).into())
    }
}
