//! The maximum softmax probability (Hendrycks and Gimpel 2017): the score is −max softmax(z/T).

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_ops::functions;

use super::shared::{Logits, temperature};

pub(super) const FAMILY: &dyn Family = &Msp { temperature: 1.0 };

const CHOICE: Choice = Choice {
    name: "msp",
    usage: "msp[:t=1]",
    about: "one less the largest probability of a class, at temperature t",
};

/// 1 − max softmax(z/T).
#[derive(Clone, Copy, Debug)]
struct Msp {
    temperature: f64,
}

impl Entry for Msp {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Msp {
    fn about(&self) -> About {
        About { paper: "Hendrycks and Gimpel 2017", fit: "0", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let temperature = temperature(arguments)?.unwrap_or(self.temperature);
        Ok(Arc::new(Self { temperature }))
    }
}

impl Method for Msp {
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
        let probabilities = functions::softmax(&mut b, cooled, 1)?;
        let first = functions::first_max(&mut b, cooled, 1)?;
        // 1 − max p as the sum of the others, which keeps its digits where the softmax is all but certain.
        let rest = b.from_offset(1.0, first)?;
        let others = b.mul(probabilities, rest)?;
        let sum = b.sum(others, &[1])?;
        Ok(Statistic::new(b.reshape(sum, &[rows])?).into())
    }
}
