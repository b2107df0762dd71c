//! Δf + s·∇f: the Langevin Stein operator (equation 2 of the paper).

use std::sync::Arc;

use taste_choice::Choice;
use taste_engine::Wants;
use taste_graph::{Build, Id};

use super::{Operator, OperatorKind, Terms, need};
use crate::Error;

pub(super) const KIND: OperatorKind = OperatorKind {
    choice: Choice {
        name: "langevin",
        usage: "langevin",
        about: "Laplacian of f + s · gradient of f, the Langevin Stein operator",
    },
    read: |arguments| {
        arguments.finish()?;
        Ok(new())
    },
};

#[derive(Debug)]
struct Langevin;

pub(super) fn new() -> Arc<dyn Operator> {
    Arc::new(Langevin)
}

impl Operator for Langevin {
    fn written(&self) -> String {
        KIND.choice.name.to_owned()
    }

    fn is_stein(&self) -> bool {
        true
    }

    fn wants(&self, _: bool) -> Wants {
        Wants { laplacian: true, drift: true, ..Wants::default() }
    }

    fn residual(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        Ok(b.add(of.laplacian()?, of.drift()?)?)
    }

    fn entries(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        let along = b.mul(of.raised, of.gradient()?)?;
        Ok(b.add(need(of.diagonal, "diagonal")?, along)?)
    }
}
