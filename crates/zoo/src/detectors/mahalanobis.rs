//! The Mahalanobis distance (Lee, Lee, Lee and Shin 2018): half the square of the distance of the features to the mean
//! of the nearest class, in the metric of the scatter about the means of the classes. With a step, samples are first
//! moved toward that mean.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step};

use super::{
    gaussians::{Classes, RIDGE},
    shared::{Logits, check_labels, step, stepped, unit_length},
};

pub(super) const FAMILY: &dyn Family = &Mahalanobis { choice: &CHOICE, eps: 0.0, unit: false };

const CHOICE: Choice = Choice {
    name: "mahalanobis",
    usage: "mahalanobis[:eps=0][,unit] | mahalanobis:paper",
    about: "half the squared distance of the features to the mean of the nearest class; unit: of features brought to \
            length one; paper: eps=0.002,unit, as the authors of TASTE ran it",
};

/// ½·min (f − μ)ᵀΣ⁻¹(f − μ).
#[derive(Clone, Copy, Debug)]
pub(super) struct Mahalanobis {
    pub(super) choice: &'static Choice,
    /// The step in every entry of a sample toward the nearest mean.
    pub(super) eps: f64,
    /// Whether features are brought to length one.
    pub(super) unit: bool,
}

impl Entry for Mahalanobis {
    fn choice(&self) -> &Choice {
        self.choice
    }
}

impl Family for Mahalanobis {
    fn about(&self) -> About {
        let score = if self.eps == 0.0 { "1; 3 with eps" } else { "3" };
        About { paper: "Lee, Lee, Lee and Shin 2018", fit: "1", score }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        if self.eps == 0.0 && arguments.flag("paper") {
            return Ok(Arc::new(Self { eps: 0.002, unit: true, ..*self }));
        }
        let unit = arguments.flag("unit");
        let eps = step(arguments)?.unwrap_or(self.eps);
        Ok(Arc::new(Self { eps, unit, ..*self }))
    }
}

impl Method for Mahalanobis {
    fn name(&self) -> &str {
        self.choice.name
    }

    fn written(&self) -> String {
        let unit = if self.unit { ",unit" } else { "" };
        format!("{}:eps={}{unit}", self.choice.name, self.eps)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, labels: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let Self { choice, eps, unit } = *self;
        let logits = Logits::of(job);
        let feature = job.draft.features(job.settings.features.as_deref())?;
        let mut b = job.draft.build();
        let x = if unit { unit_length(&mut b, feature.id)? } else { feature.id };
        let watches = Classes::watches(x, logits.classes);
        let purpose = "training samples for the classes";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let classes = Classes::of(seen)?;
            check_labels(job, choice.name, classes.means, "")?;
            let (metric, ridge) = classes.within()?;
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let square = classes.nearest(&mut b, x, &metric)?;
            let half = b.scale(square, 0.5)?;
            let mut score = b.reshape(half, &[rows])?;
            if eps > 0.0 {
                let moved = stepped(job, score, eps)?;
                score = job.draft.repeat(score, moved)?;
            }
            let mut statistic = Statistic::new(score);
            statistic.facts = json!({ "features": feature.name });
            statistic.findings.extend(Classes::finding(ridge, RIDGE));
            Ok(statistic.into())
        }))
    }
}
