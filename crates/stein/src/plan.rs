//! The choices that depend on the model.

use std::sync::Arc;

use taste_engine::{Draft, Target};

use crate::{
    Error, Settings, Tail,
    aggregates::{self, Aggregate},
    refused,
    residual::Subject,
};

/// Above this many classes, one residual a sample takes the place of one a class.
const MANY_CLASSES: usize = 128;

/// What residuals are of, and how they become a score.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) subject: Subject,
    pub(crate) aggregate: Arc<dyn Aggregate>,
    pub(crate) tail: Tail,
    /// The target in words.
    pub(crate) target: String,
}

impl Plan {
    pub(crate) fn new(settings: &Settings, draft: &Draft) -> Result<Self, Error> {
        let (subject, aggregate) = subject(settings, draft)?;
        let signed = aggregate.is_signed() && settings.operator.is_signed();
        // Gross errors in a table make networks more confident, so that residuals are small.
        let is_table = draft.shape().len() == 1;
        let both = signed || (is_table && aggregate.has_lower_tail());
        let tail = settings.tail.unwrap_or(if both { Tail::TwoSided } else { Tail::Upper });
        if tail != Tail::Upper && !aggregate.has_lower_tail() {
            return Err(refused(format!(
                "the aggregate {} has one tail: its distance is small for what is near the training data",
                aggregate.written()
            )));
        }
        let target = match subject {
            _ if !settings.operator.uses_model() => "none".to_owned(),
            Subject::Single(target) => target.to_string(),
            Subject::EveryClass => "probs".to_owned(),
        };
        Ok(Self { subject, aggregate, tail, target })
    }
}

fn subject(settings: &Settings, draft: &Draft) -> Result<(Subject, Arc<dyn Aggregate>), Error> {
    let (has_classes, classes) = (draft.answer().has_classes(), draft.width());
    let is_every = |t: &Target| t.is_every_class();
    let own = settings.target.filter(|t| !is_every(t));
    let named = settings.target.is_some() || settings.aggregate.is_some();
    if !settings.operator.uses_model() && named {
        let what = if settings.target.is_some() { "a target" } else { "an aggregate" };
        return Err(refused(format!(
            "the operator {} does not look at the model, so {what} has nothing to do: leave it out",
            settings.operator.written()
        )));
    }
    let predicted = || aggregates::parse("predicted");
    match (own, &settings.aggregate) {
        (None, None) if !named && (!has_classes || !settings.operator.uses_model()) => {
            if draft.entries() > 1 && settings.operator.uses_model() {
                return Err(refused(format!(
                    "the method stein looks at the classes of a classifier or at one function of the output, and the model \
                     was taken for {}: name one as the target, output:0 to output:{}",
                    draft.taken_for(),
                    draft.entries() - 1
                )));
            }
            Ok((Subject::Single(Target::output(0)), predicted()?))
        }
        (Some(target), None) => Ok((Subject::Single(target), predicted()?)),
        (Some(target), Some(aggregate)) => {
            // Of the predicted class in any case.
            if aggregate.written() == "predicted" && target.is_of_likeliest() {
                return Ok((Subject::Single(target), Arc::clone(aggregate)));
            }
            Err(refused(format!(
                "the target {target} has one residual, and the aggregate {} joins those of all classes: leave one of the \
                 two out",
                aggregate.written()
            )))
        }
        (None, aggregate) => {
            let default = if classes <= MANY_CLASSES { "l2" } else { "predicted" };
            let aggregate = match aggregate {
                Some(aggregate) => Arc::clone(aggregate),
                None => aggregates::parse(default)?,
            };
            if !has_classes {
                return Err(refused(format!(
                    "the aggregate {} is for a classifier, and the model was taken for {}",
                    aggregate.written(),
                    draft.taken_for()
                )));
            }
            Ok((aggregate.subject(), aggregate))
        }
    }
}
