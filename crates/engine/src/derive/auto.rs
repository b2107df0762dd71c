//! Whichever of the other methods suits the model best.

use std::sync::Arc;

use taste_choice::Choice;

use super::{Job, LAPLACIAN_METHODS, Problem, Schedule};
use crate::{Error, LaplacianKind, LaplacianMethod, Parts, laplacian::Rule};

pub(super) const KIND: &LaplacianKind = &LaplacianKind {
    choice: Choice {
        name: "auto",
        usage: "auto",
        about: "whichever of the others suits the model best",
    },
    rule: &Auto,
};

impl LaplacianMethod {
    /// The best of the others for the model at hand.
    pub const AUTO: Self = Self::new(KIND, None);
}

struct Auto;

impl Rule for Auto {
    fn examples(&self, _width: usize) -> Vec<Option<usize>> {
        Vec::new()
    }

    fn cost(&self, p: &Problem, _count: Option<usize>) -> String {
        let (method, _) = first_that_suits(p);
        method.kind().rule.cost(p, method.count())
    }

    fn build(
        &self,
        p: &mut Problem,
        job: &Job,
        _count: Option<usize>,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Schedule>, Error> {
        let (method, _) = first_that_suits(p);
        method.kind().rule.build(p, job, method.count(), parts)
    }
}

/// The first method of the table that suits a model, and why.
pub(crate) fn first_that_suits(p: &Problem) -> (LaplacianMethod, String) {
    let mut suitable = LAPLACIAN_METHODS.iter().filter_map(|kind| {
        let (count, reason) = kind.rule.suits(p)?;
        Some((LaplacianMethod::new(kind, count), reason))
    });
    suitable.next().unwrap_or((LaplacianMethod::EXACT, "it applies to every model".to_owned()))
}
