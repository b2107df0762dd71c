//! Operators: what is made of a function f of the model and the field s, with a metric A. One file and one line in
//! [`OPERATORS`] each.

use std::{fmt, sync::Arc};

use taste_choice::{Arguments, Choice, Entry, pick};
use taste_engine::{Draft, Metric, Wants};
use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;

use crate::{Error, refused};

/// What the entries of the table are called in messages.
pub const KIND: &str = "operator";

/// An operator, applied to one function or to the probability of every class.
pub trait Operator: fmt::Debug + Send + Sync {
    /// How it is written.
    fn written(&self) -> String;

    /// Whether its mean under p vanishes when the field is right.
    fn is_stein(&self) -> bool {
        false
    }

    /// Whether it looks at the model at all.
    fn uses_model(&self) -> bool {
        true
    }

    /// Whether it has a sign; if not, it is never negative.
    fn is_signed(&self) -> bool {
        true
    }

    /// The derivatives that it is made of: of one function, or of every class.
    fn wants(&self, every_class: bool) -> Wants;

    /// What the drift goes along, if that is not the field.
    fn direction(&self, draft: &mut Draft) -> Result<Option<Id>, Error> {
        let _ = draft;
        Ok(None)
    }

    /// The residual of every function: N × C.
    fn residual(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error>;

    /// The residual of one function by entry of the sample, which adds up to it: N × …
    fn entries(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error>;
}

/// An entry of the table of operators.
#[derive(Clone, Copy, Debug)]
pub struct OperatorKind {
    /// What a user reads of it.
    pub choice: Choice,
    /// Reads its arguments.
    pub read: fn(Arguments<'_>) -> Result<Arc<dyn Operator>, Error>,
}

impl Entry for OperatorKind {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

taste_choice::table! {
    /// Every operator.
    pub OPERATORS: [OperatorKind] = {
        langevin::KIND,
        no_laplacian::KIND,
        score_only::KIND,
        first_order::KIND,
        first_order_norm::KIND,
    }
}

/// The default: tr(A∇²f) + sᵀA∇f.
pub fn langevin() -> Arc<dyn Operator> {
    langevin::new()
}

/// Reads an operator as the user writes it.
pub fn parse(text: &str) -> Result<Arc<dyn Operator>, Error> {
    let (kind, arguments) = pick(KIND, OPERATORS, text)?;
    (kind.read)(arguments)
}

/// What operators are made of. Functions are columns: C is 1 for one function. Derivatives and the field are covectors,
/// which A turns into directions.
#[derive(Clone, Debug)]
pub struct Terms {
    /// f: N × C.
    pub value: Id,
    /// tr(A∇²f), with a metric A: N × C.
    pub laplacian: Option<Id>,
    /// As·∇f, or v·∇f for another direction v: N × C.
    pub drift: Option<Id>,
    /// ∇f of one function: N × …
    pub gradient: Option<Id>,
    /// ∇f of every function: N × C × D.
    pub gradients: Option<Id>,
    /// The diagonal of A∇²f, of one function: N × …
    pub diagonal: Option<Id>,
    /// The field s: N × …
    pub field: Id,
    /// As: N × …
    pub raised: Id,
    /// A.
    pub metric: Metric,
    /// The direction v, if the operator has one: N × …
    pub direction: Option<Id>,
}

impl Terms {
    /// tr(A∇²f).
    pub(crate) fn laplacian(&self) -> Result<Id, Error> {
        need(self.laplacian, "Laplacian")
    }

    /// As·∇f, or v·∇f.
    pub(crate) fn drift(&self) -> Result<Id, Error> {
        need(self.drift, "drift")
    }

    /// ∇f of one function.
    pub(crate) fn gradient(&self) -> Result<Id, Error> {
        need(self.gradient, "gradient")
    }
}

/// A derivative that was asked for.
pub(crate) fn need(part: Option<Id>, what: &str) -> Result<Id, Error> {
    part.ok_or_else(|| refused(format!("the derivative lacks its {what}")))
}

/// Values N × … as N × D.
pub(crate) fn flat(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let shape = &b.fact(x).shape;
    let (rows, fixed) = (shape[0], shape[1..].iter().filter_map(|d| d.as_fixed()).product());
    b.reshape(x, &[rows, Dim { per_batch: 0, fixed }])
}

/// yᵀAy for values N × …: N × 1.
pub(crate) fn square(b: &mut Build<'_>, metric: &Metric, y: Id) -> Result<Id, OpError> {
    let lowered = metric.lower(b, y, 1)?;
    inner(b, lowered, lowered)
}

/// Σ x·y over the entries of every sample: N × 1.
pub(crate) fn inner(b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError> {
    let product = b.mul(x, y)?;
    let flat = flat(b, product)?;
    b.sum(flat, &[1])
}

/// A number a sample, spread over the entries of x.
pub(crate) fn over_entries(b: &mut Build<'_>, value: Id, x: Id) -> Result<Id, OpError> {
    let mut shape = vec![b.fact(x).shape[0]];
    shape.extend(vec![Dim::from(1); b.fact(x).rank() - 1]);
    b.reshape(value, &shape)
}

/// ∇f + f·s of one function: N × …
pub(crate) fn first_order_field(b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
    let value = over_entries(b, of.value, of.field)?;
    let scaled = b.mul(value, of.field)?;
    Ok(b.add(of.gradient()?, scaled)?)
}

/// yᵀAy over the last axis of N × C × D: N × C.
pub(crate) fn squares(b: &mut Build<'_>, metric: &Metric, y: Id) -> Result<Id, OpError> {
    let shape = b.fact(y).shape[..2].to_vec();
    let lowered = metric.lower(b, y, 2)?;
    let squares = functions::square_sum(b, lowered, 2)?;
    b.reshape(squares, &shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_reads_what_it_writes() {
        for text in [
            "langevin",
            "no-laplacian",
            "score-only",
            "first-order:ones",
            "first-order:1,-0.5",
            "first-order-norm",
        ] {
            assert_eq!(parse(text).expect("an operator").written(), text);
        }
        for text in
            ["laplace", "first-order:", "first-order:0,0", "first-order:a", "", "langevin:2"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
