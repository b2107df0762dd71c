//! w·∇f + f·(w·s) for a fixed direction v and w = A^½v: the first-order Stein operator (appendix G of the paper).

use std::sync::Arc;

use taste_choice::{Arguments, Choice};
use taste_engine::{Draft, Wants};
use taste_graph::{Build, Id, Tensor};

use super::{Operator, OperatorKind, Terms, first_order_field, inner, need};
use crate::{Error, refused};

pub(super) const KIND: OperatorKind = OperatorKind {
    choice: Choice {
        name: "first-order",
        usage: "first-order:V",
        about: "V · gradient of f + f (V · s), along a direction V, as 1,0,1 or ones",
    },
    read,
};

/// v·∇f + f·(v·s).
#[derive(Debug)]
struct FirstOrder {
    /// Its entries; none if all are one.
    direction: Option<Vec<f64>>,
}

fn read(mut arguments: Arguments<'_>) -> Result<Arc<dyn Operator>, Error> {
    let without = arguments.is_empty();
    let text = arguments.rest();
    if without || text == "ones" {
        return Ok(Arc::new(FirstOrder { direction: None }));
    }
    let entries: Option<Vec<f64>> = text.split(',').map(|v| v.trim().parse().ok()).collect();
    let fits = |v: &Vec<f64>| v.iter().any(|v| *v != 0.0) && v.iter().all(|v| v.is_finite());
    let Some(entries) = entries.filter(fits) else {
        return Err(arguments.unfit("V", "numbers that are not all 0, like 1,1", &text).into());
    };
    Ok(Arc::new(FirstOrder { direction: Some(entries) }))
}

impl Operator for FirstOrder {
    fn written(&self) -> String {
        let list = |v: &Vec<f64>| v.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let direction = self.direction.as_ref().map_or_else(|| "ones".to_owned(), list);
        format!("{}:{direction}", KIND.choice.name)
    }

    fn is_stein(&self) -> bool {
        true
    }

    fn wants(&self, _: bool) -> Wants {
        Wants { drift: true, ..Wants::default() }
    }

    fn direction(&self, draft: &mut Draft) -> Result<Option<Id>, Error> {
        let dimension = draft.dimension();
        let entries = self.direction.clone().unwrap_or_else(|| vec![1.0; dimension]);
        if entries.len() != dimension {
            return Err(refused(format!(
                "the direction of the first-order operator has {} entries, and a sample has {dimension}",
                entries.len()
            )));
        }
        let shape: Vec<usize> = std::iter::once(1).chain(draft.sample_shape()).collect();
        let full = draft.graph().fact(draft.input()).shape.clone();
        let metric = draft.metric().clone();
        let mut b = draft.build();
        let v = b.graph_mut().constant(Tensor::floats(&shape, entries)?);
        let v = b.expand(v, &full)?;
        Ok(Some(metric.direct(&mut b, v, 1)?))
    }

    fn residual(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        let along = inner(b, of.field, need(of.direction, "direction")?)?;
        let scaled = b.mul(of.value, along)?;
        Ok(b.add(of.drift()?, scaled)?)
    }

    fn entries(&self, b: &mut Build<'_>, of: &Terms) -> Result<Id, Error> {
        let field = first_order_field(b, of)?;
        Ok(b.mul(field, need(of.direction, "direction")?)?)
    }
}
