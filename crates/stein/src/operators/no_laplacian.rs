//! sᵀA∇f.

use std::sync::Arc;

use taste_choice::Choice;
use taste_engine::Wants;
use taste_graph::{Build, Id};

use super::{Operator, OperatorKind, Terms};
use crate::Error;

pub(super) const KIND: OperatorKind = OperatorKind {
    choice: Choice { name: "no-laplacian", usage: "no-laplacian", about: "s · gradient of f" },
    read: |arguments| {
        arguments.finish()?;
        Ok(Arc::new(NoLaplacian))
    },
};

#[derive(Debug)]
struct NoLaplacian;

impl Operator for NoLaplacian {
    fn written(&self) -> String {
        KIND.choice.name.to_owned()
    }

    fn wants(&self, _: bool) -> Wants {
        Wants { drift: true, ..Wants::default() }
    }

    fn residual(&self, _: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        of.drift()
    }

    fn entries(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        Ok(b.mul(of.raised, of.gradient()?)?)
    }
}
