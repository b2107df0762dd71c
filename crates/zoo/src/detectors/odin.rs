//! ODIN (Liang, Li and Srikant 2018): the largest class probability at a high temperature, of a sample that was moved
//! by a small step toward its own answer.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use super::shared::{Logits, step, stepped, temperature};

pub(super) const FAMILY: &dyn Family =
    &Odin { temperature: 1000.0, eps: 0.0014, loss: Loss::CrossEntropy };

const CHOICE: Choice = Choice {
    name: "odin",
    usage: "odin[:t=1000][,eps=0.0014][,loss=cross-entropy|logit] | odin:paper",
    about: "minus the largest probability at temperature t, after a step of eps in every entry toward the answer; \
            paper: eps=0.05,loss=logit, as the authors of TASTE ran it",
};

/// −max softmax(z(x̂)/T), with x̂ = x − ε·sign(∇loss).
#[derive(Clone, Copy, Debug)]
struct Odin {
    temperature: f64,
    eps: f64,
    loss: Loss,
}

impl Entry for Odin {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Odin {
    fn about(&self) -> About {
        About { paper: "Liang, Li and Srikant 2018", fit: "0", score: "3" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        if arguments.flag("paper") {
            return Ok(Arc::new(PAPER));
        }
        let temperature = temperature(arguments)?.unwrap_or(self.temperature);
        let eps = step(arguments)?.unwrap_or(self.eps);
        let loss = match arguments.text("loss") {
            None => self.loss,
            Some("cross-entropy") => Loss::CrossEntropy,
            Some("logit") => Loss::Logit,
            Some(other) => {
                return Err(arguments.unfit("loss", "cross-entropy or logit", other).into());
            }
        };
        Ok(Arc::new(Self { temperature, eps, loss }))
    }
}

impl Method for Odin {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        let Self { temperature, eps, loss } = self;
        let loss = match loss {
            Loss::CrossEntropy => "cross-entropy",
            Loss::Logit => "logit",
        };
        format!("{}:t={temperature},eps={eps},loss={loss}", CHOICE.name)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let cooled = b.scale(logits.id, 1.0 / self.temperature)?;
        let loss = self.loss.of(&mut b, logits, cooled)?;
        let p = functions::softmax(&mut b, cooled, 1)?;
        let largest = functions::largest(&mut b, p, 1)?;
        let score = b.neg(largest)?;
        let score = b.reshape(score, &[rows])?;
        let moved = stepped(job, loss, self.eps)?;
        Ok(Statistic::new(job.draft.repeat(score, moved)?).into())
    }
}

/// What the step makes smaller.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// −log softmax(z/T) of the answer.
    CrossEntropy,
    /// −z/T of the answer.
    Logit,
}

impl Loss {
    fn of(self, b: &mut Build<'_>, logits: Logits, cooled: Id) -> Result<Id, OpError> {
        let values = match self {
            Self::CrossEntropy => functions::log_softmax(b, cooled, 1)?,
            Self::Logit => cooled,
        };
        let own = logits.of_answer(b, values)?;
        b.neg(own)
    }
}

const PAPER: Odin = Odin { temperature: 1000.0, eps: 0.05, loss: Loss::Logit };
