//! ‖A^½(∇f + f·s)‖²: no Stein operator, as its mean under p is not zero before the adjustment.

use std::sync::Arc;

use taste_choice::Choice;
use taste_engine::Wants;
use taste_graph::{Build, Id};

use super::{Operator, OperatorKind, Terms, first_order_field, square, squares};
use crate::Error;

pub(super) const KIND: OperatorKind = OperatorKind {
    choice: Choice {
        name: "first-order-norm",
        usage: "first-order-norm",
        about: "squared length of (gradient of f + f s)",
    },
    read: |arguments| {
        arguments.finish()?;
        Ok(Arc::new(FirstOrderNorm))
    },
};

#[derive(Debug)]
struct FirstOrderNorm;

impl Operator for FirstOrderNorm {
    fn written(&self) -> String {
        KIND.choice.name.to_owned()
    }

    fn is_signed(&self) -> bool {
        false
    }

    fn wants(&self, every_class: bool) -> Wants {
        Wants {
            drift: every_class,
            jacobian: every_class,
            gradient: !every_class,
            ..Wants::default()
        }
    }

    fn residual(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        let Some(gradients) = of.gradients else {
            let field = first_order_field(b, of)?;
            return Ok(square(b, &of.metric, field)?);
        };
        // ‖∇p + p·s‖² = ‖∇p‖² + 2p·(s·∇p) + p²‖s‖², all in A
        let squares = squares(b, &of.metric, gradients)?;
        let cross = b.mul(of.value, of.drift()?)?;
        let cross = b.scale(cross, 2.0)?;
        let length = square(b, &of.metric, of.field)?;
        let p_squared = b.square(of.value)?;
        let last = b.mul(p_squared, length)?;
        let sum = b.add(squares, cross)?;
        Ok(b.add(sum, last)?)
    }

    fn entries(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        let field = first_order_field(b, of)?;
        let raised = of.metric.raise(b, field, 1)?;
        Ok(b.mul(field, raised)?)
    }
}
