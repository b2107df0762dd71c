//! The Stein profile: residuals and drifts of several functions of one model, joined by a one-class rule.

mod features;
mod rule;

use std::sync::Arc;

use ndarray::s;
use taste_choice::Choice;
use taste_detector::passes::{Gather, Gathered, Watch};
use taste_graph::{Build, Id};
use taste_ops::functions;

use super::{Aggregate, AggregateKind};
use crate::{
    Error,
    operators::{flat, need},
    residual::{Adjusted, Residual},
};
use features::Ingredients;
use rule::{Rule, distance};

pub(super) const KIND: AggregateKind = AggregateKind {
    choice: Choice {
        name: "profile",
        usage: "profile",
        about: "a distance that is learnt from residuals, drifts and gradients",
    },
    read: |arguments| {
        arguments.finish()?;
        Ok(Arc::new(Profile { with_field: false }))
    },
};

pub(super) const KIND_WITH_SCORE: AggregateKind = AggregateKind {
    choice: Choice {
        name: "profile+score",
        usage: "profile+score",
        about: "profile with the length of the score, which looks at the data alone",
    },
    read: |arguments| {
        arguments.finish()?;
        Ok(Arc::new(Profile { with_field: true }))
    },
};

/// The features of held-out samples and the classes predicted for them.
const ROWS: &str = "profile";
/// Numbers that are kept of held-out samples to learn from.
const KEPT: usize = 1 << 24;

#[derive(Debug)]
struct Profile {
    /// Whether log‖s‖ is a feature as well.
    with_field: bool,
}

impl Profile {
    /// The features (N × F), and 1 at the predicted class (N × K).
    fn features(&self, b: &mut Build<'_>, of: &Residual) -> Result<(Id, Id), Error> {
        let predicted = need(of.predicted, "classes")?;
        // In coordinates where the metric is the identity: lengths and cosines are those of the metric.
        let metric = &of.terms.metric;
        let jacobian = metric.lower(b, need(of.jacobian, "Jacobian")?, 2)?;
        let field = metric.lower(b, of.terms.field, 1)?;
        let inputs = Ingredients {
            residuals: of.components,
            drifts: of.terms.drift()?,
            jacobian,
            probabilities: need(of.probabilities, "classes")?,
            predicted,
            field: flat(b, field)?,
        };
        Ok((features::features(b, &inputs, self.with_field)?, predicted))
    }
}

impl Aggregate for Profile {
    fn written(&self) -> String {
        let kind = if self.with_field { KIND_WITH_SCORE } else { KIND };
        kind.choice.name.to_owned()
    }

    fn has_lower_tail(&self) -> bool {
        false
    }

    fn wants_jacobian(&self) -> bool {
        true
    }

    fn begin(&self, b: &mut Build<'_>, of: &Residual) -> Result<Vec<Watch>, Error> {
        let (features, predicted) = self.features(b, of)?;
        let row = functions::concat(b, &[features, predicted], 1)?;
        let width = b.fact(row).shape[1].at(1);
        Ok(vec![Watch::value(ROWS, row, Gather::rows(KEPT, width, 0))])
    }

    fn join(
        &self,
        b: &mut Build<'_>,
        of: &Residual,
        _: &Adjusted,
        seen: &Gathered,
    ) -> Result<Id, Error> {
        let (features, predicted) = self.features(b, of)?;
        let [width, classes] = [features, predicted].map(|id| b.fact(id).shape[1].at(1));
        let rows = &seen.rows(ROWS)?.values;
        let raw = rows.slice(s![.., ..width]).mapv(f64::from);
        let class = |row: ndarray::ArrayView1<'_, f32>| {
            row.iter().position(|v| *v > 0.5).unwrap_or_default()
        };
        let labels: Vec<usize> =
            rows.slice(s![.., width..]).rows().into_iter().map(class).collect();
        let rule = Rule::fit(&raw.view(), &labels, classes, !of.is_closed_form)?;
        let parameters = rule.constants(b)?;
        Ok(distance(b, features, predicted, &parameters)?)
    }
}
