//! Simplified Hopfield energy (Zhang and others 2023): minus the inner product of the features with their mean over
//! training samples of the same answer, which was right.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step,
    passes::{By, Gather, Watch},
};
use taste_ops::functions;

use super::shared::{Logits, check_labels, stored};

pub(super) const FAMILY: &dyn Family = &She;

const CHOICE: Choice = Choice {
    name: "she",
    usage: "she",
    about: "minus the inner product of the features with their mean over training samples that have the same answer, \
            and rightly",
};

/// −features · mean features of the answer.
#[derive(Clone, Copy, Debug)]
struct She;

impl Entry for She {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for She {
    fn about(&self) -> About {
        About { paper: "Zhang and others 2023", fit: "1", score: "1" }
    }

    fn read(&self, _: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(*self))
    }
}

impl Method for She {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, labels: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let feature = job.draft.features(job.settings.features.as_deref())?;
        let mut b = job.draft.build();
        let answer = logits.answer(&mut b)?;
        let with_answer = functions::concat(&mut b, &[feature.id, answer], 1)?;
        let (classes, width) = (logits.classes, feature.width);
        let patterns = Gather::Classes { classes, by: By::RightAnswer };
        let watches = vec![Watch::value("patterns", with_answer, patterns)];
        let purpose = "training samples for the patterns";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let means = seen.classes("patterns")?;
            check_labels(job, CHOICE.name, means, " that the model is right about")?;
            let patterns = (0..classes).filter_map(|k| means.mean(k)).flatten().copied().collect();
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let patterns = stored(&mut b, &[classes, width], patterns)?;
            let first = functions::first_max(&mut b, logits.id, 1)?;
            let own = functions::matmul(&mut b, first, patterns)?;
            let score = b.formula([feature.id, own], |[x, own]| -(x * own).sum(&[1]))?;
            Ok(Statistic::new(b.reshape(score, &[rows])?).into())
        }))
    }
}
