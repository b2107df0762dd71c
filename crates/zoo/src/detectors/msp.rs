//! The maximum softmax probability (Hendrycks and Gimpel 2017): the score is −max softmax(z/T).

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_ops::functions;

pub(super) const FAMILY: &dyn Family = &Msp { temperature: 1.0 };

const CHOICE: Choice = Choice {
    name: "msp",
    usage: "msp[:t=1]",
    about: "one less the largest probability of a class, at temperature t; one forward pass",
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
    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let fits = |t: &f64| *t > 0.0 && t.is_finite();
        let given = arguments.number("t", "a temperature above 0", fits)?;
        Ok(Arc::new(Self { temperature: given.unwrap_or(self.temperature) }))
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
        let (logits, rows) = (job.draft.logits(), job.draft.rows());
        let mut b = job.draft.build();
        let cooled = b.scale(logits, 1.0 / self.temperature)?;
        let probabilities = functions::softmax(&mut b, cooled, 1)?;
        let first = functions::first_max(&mut b, cooled, 1)?;
        // 1 − max p as the sum of the others, which keeps its digits where the softmax is all but certain.
        let rest = b.from_offset(1.0, first)?;
        let others = b.mul(probabilities, rest)?;
        let sum = b.sum(others, &[1])?;
        Ok(Statistic::new(b.reshape(sum, &[rows])?).into())
    }
}
