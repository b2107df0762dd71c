//! ‖A^½s‖: the data alone, without the model.

use std::sync::Arc;

use taste_choice::Choice;
use taste_engine::Wants;
use taste_graph::{Build, Id};
use taste_ops::functions;

use super::{Operator, OperatorKind, Terms, over_entries, square};
use crate::Error;

pub(super) const KIND: OperatorKind = OperatorKind {
    choice: Choice {
        name: "score-only",
        usage: "score-only",
        about: "length of s: the data alone, without the model",
    },
    read: |arguments| {
        arguments.finish()?;
        Ok(Arc::new(ScoreOnly))
    },
};

#[derive(Debug)]
struct ScoreOnly;

impl Operator for ScoreOnly {
    fn written(&self) -> String {
        KIND.choice.name.to_owned()
    }

    fn uses_model(&self) -> bool {
        false
    }

    fn wants(&self, _: bool) -> Wants {
        Wants::default()
    }

    fn residual(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        let square = square(b, &of.metric, of.field)?;
        Ok(functions::sqrt(b, square)?)
    }

    /// ‖A^½s‖ = Σ sᵢ(As)ᵢ/‖A^½s‖.
    fn entries(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        let length = self.residual(b, of)?;
        let squares = b.mul(of.field, of.raised)?;
        let floored = b.offset(length, f64::from(f32::MIN_POSITIVE))?;
        let inverse = functions::reciprocal(b, floored)?;
        let inverse = over_entries(b, inverse, of.field)?;
        Ok(b.mul(squares, inverse)?)
    }
}
