//! KL matching (Hendrycks and others 2022): the least divergence of the class probabilities from those that are typical
//! of a class, the mean over training samples that the model answers so.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step,
    passes::{By, Gather, Watch},
    refused,
};
use taste_ops::functions;

use super::shared::{Logits, stored};

pub(super) const FAMILY: &dyn Family = &KlMatching;

const CHOICE: Choice = Choice {
    name: "kl-matching",
    usage: "kl-matching",
    about: "the least divergence of the class probabilities from their mean over training samples with one answer",
};

/// The least KL(p ‖ mean of p).
#[derive(Clone, Copy, Debug)]
struct KlMatching;

impl Entry for KlMatching {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for KlMatching {
    fn about(&self) -> About {
        About { paper: "Hendrycks and others 2022", fit: "1", score: "1" }
    }

    fn read(&self, _: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(*self))
    }
}

impl Method for KlMatching {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let mut b = job.draft.build();
        let p = functions::softmax(&mut b, logits.id, 1)?;
        let answer = logits.answer(&mut b)?;
        let with_answer = functions::concat(&mut b, &[p, answer], 1)?;
        let classes = logits.classes;
        let typical = Gather::Classes { classes, by: By::Answer };
        let watches = vec![Watch::value("typical", with_answer, typical)];
        let purpose = "training samples for the typical probabilities";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let means = seen.classes("typical")?;
            let answers: Vec<&[f64]> = (0..classes).filter_map(|k| means.mean(k)).collect();
            if answers.is_empty() {
                return Err(refused("no training sample has finite class probabilities"));
            }
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            // One column for every answer that there is.
            let log = |p: f64| if p > 0.0 { p.ln() } else { NEVER };
            let columns = (0..classes).flat_map(|c| answers.iter().map(move |mean| log(mean[c])));
            let typical = stored(&mut b, &[classes, answers.len()], columns.collect())?;
            let log_p = functions::log_softmax(&mut b, logits.id, 1)?;
            let own = b.formula([p, log_p], |[p, log_p]| (p * log_p).sum(&[1]))?;
            let cross = functions::matmul(&mut b, p, typical)?;
            let nearest = functions::largest(&mut b, cross, 1)?;
            let score = b.sub(own, nearest)?;
            Ok(Statistic::new(b.reshape(score, &[rows])?).into())
        }))
    }
}

/// The logarithm of a probability that was never above zero.
const NEVER: f64 = -1e37;
