//! The relative Mahalanobis distance (Ren and others 2021): the squared distance of the features to the mean of the
//! nearest class, less that to the mean of all in the metric of their scatter.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step};

use super::{
    gaussians::{Classes, RIDGE},
    shared::{Logits, check_labels},
};

pub(super) const FAMILY: &dyn Family = &RelativeMahalanobis;

const CHOICE: Choice = Choice {
    name: "relative-mahalanobis",
    usage: "relative-mahalanobis",
    about: "the squared distance of the features to the mean of the nearest class, less that to the mean of all \
            classes",
};

/// min (f − μ)ᵀΣ⁻¹(f − μ) − (f − μ₀)ᵀΣ₀⁻¹(f − μ₀).
#[derive(Clone, Copy, Debug)]
struct RelativeMahalanobis;

impl Entry for RelativeMahalanobis {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for RelativeMahalanobis {
    fn about(&self) -> About {
        About { paper: "Ren and others 2021", fit: "1", score: "1" }
    }

    fn read(&self, _: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(*self))
    }
}

impl Method for RelativeMahalanobis {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, labels: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let feature = job.draft.features(job.settings.features.as_deref())?;
        let watches = Classes::watches(feature.id, logits.classes);
        let purpose = "training samples for the classes";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let classes = Classes::of(seen)?;
            check_labels(job, CHOICE.name, classes.means, "")?;
            let (within, ridge) = classes.within()?;
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let score = classes.relative(&mut b, feature.id, &within)?;
            let mut statistic = Statistic::new(b.reshape(score, &[rows])?);
            statistic.facts = json!({ "features": feature.name });
            statistic.findings.extend(Classes::finding(ridge, RIDGE));
            Ok(statistic.into())
        }))
    }
}
