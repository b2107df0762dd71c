//! Raw residuals as a graph: what the operator makes of the model and the field, before any adjustment.

use taste_engine::{Draft, How as Derived, Metric, Target, Wants};
use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::functions;

use crate::{
    Error,
    fields::Field,
    operators::{Operator, Terms},
};

/// Which functions of the model have residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// One.
    Single(Target),
    /// The probability of every class.
    EveryClass,
}

/// Values in the graph.
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
#[derive(Clone, Debug)]
pub struct Residual {
    /// One column for every function: N × C.
    pub components: Id,
    /// The residual of the only function, or of the class most likely at x: N.
    pub single: Id,
    /// The single residual by entry of the sample, which it is the sum of: N × …
    pub map: Option<Id>,
    /// What the residuals are made of.
    pub terms: Terms,
    /// Class probabilities: N × K.
    pub probabilities: Option<Id>,
    /// 1 at the class most likely at x: N × K.
    pub predicted: Option<Id>,
    /// The gradients of the logits: N × K × D.
    pub jacobian: Option<Id>,
    /// The standard error of the single function's Laplacian, if that is an estimate: N.
    pub stderr: Option<Id>,
    /// How second derivatives are computed, and why so, where there are such.
    pub method: Option<(String, String)>,
    /// Whether that is an estimate.
    pub is_estimate: bool,
    /// Whether residuals are computed in closed form, so that small ones are not rounding.
    pub is_closed_form: bool,
    /// Whether the model has kinks.
    pub has_kinks: bool,
    /// Whether the Laplacian is zero almost everywhere.
    pub is_flat: bool,
}

/// Residuals less their baseline.
#[derive(Clone, Copy, Debug)]
pub struct Adjusted {
    /// N × C.
    pub components: Id,
    /// N.
    pub single: Id,
    /// N × …
    pub map: Option<Id>,
}

/// Takes the centres off.
pub(crate) fn adjust(
    b: &mut Build<'_>,
    of: &Residual,
    components: &[f64],
    single: &[f64],
    map: Option<&[f64]>,
) -> Result<Adjusted, OpError> {
    let mut less = |value: Id, centre: &[f64]| -> Result<Id, OpError> {
        if centre.iter().all(|c| *c == 0.0) {
            return Ok(value);
        }
        let mut sizes: Vec<usize> = b.fact(value).shape.iter().map(|d| d.at(1)).collect();
        sizes[0] = 1;
        let centre = b.graph_mut().constant(Tensor::floats(&sizes, centre.to_vec())?);
        b.sub(value, centre)
    };
    Ok(Adjusted {
        components: less(of.components, components)?,
        single: less(of.single, single)?,
        map: match (of.map, map) {
            (Some(id), Some(centre)) => Some(less(id, centre)?),
            _ => None,
        },
    })
}

/// Adds the residuals to the graph.
pub(crate) fn build(
    draft: &mut Draft,
    field: &dyn Field,
    operator: &dyn Operator,
    subject: Subject,
    with_jacobian: bool,
    with_map: bool,
) -> Result<Residual, Error> {
    let x = draft.input();
    let metric = draft.metric().clone();
    let mut b = draft.build();
    let s = field.build(&mut b, x)?;
    let raised = metric.raise(&mut b, s, 1)?;
    let direction = operator.direction(draft)?;
    let along = Along { s, raised, direction, metric };
    if !operator.uses_model() {
        return without_model(draft, operator, along, with_map);
    }
    match subject {
        Subject::Single(target) => single(draft, operator, along, target, with_map),
        Subject::EveryClass => every_class(draft, operator, along, with_jacobian, with_map),
    }
}

/// What derivatives are taken along.
struct Along {
    /// The field s, and As with the metric A.
    s: Id,
    raised: Id,
    /// What the drift goes along, if that is not As.
    direction: Option<Id>,
    metric: Metric,
}

impl Along {
    /// What the drift goes along.
    fn drift(&self) -> Id {
        self.direction.unwrap_or(self.raised)
    }

    /// With a value and no derivatives yet.
    fn terms(self, value: Id) -> Terms {
        Terms {
            value,
            laplacian: None,
            drift: None,
            gradient: None,
            gradients: None,
            diagonal: None,
            field: self.s,
            raised: self.raised,
            metric: self.metric,
            direction: self.direction,
        }
    }
}

fn without_model(
    draft: &mut Draft,
    operator: &dyn Operator,
    along: Along,
    with_map: bool,
) -> Result<Residual, Error> {
    let rows = draft.rows();
    let mut b = draft.build();
    let value = along.s;
    let terms = along.terms(value);
    let components = operator.residual(&mut b, &terms)?;
    let map = if with_map { Some(operator.entries(&mut b, &terms)?) } else { None };
    Ok(Residual {
        components,
        single: b.reshape(components, &[rows])?,
        map,
        terms,
        probabilities: None,
        predicted: None,
        jacobian: None,
        stderr: None,
        method: None,
        is_estimate: false,
        is_closed_form: false,
        has_kinks: false,
        is_flat: false,
    })
}

/// Facts about how second derivatives were computed.
struct How {
    method: Option<(String, String)>,
    is_estimate: bool,
    is_closed_form: bool,
    has_kinks: bool,
}

impl How {
    fn of(derived: &Derived, second_order: bool) -> Self {
        let method = derived.method;
        let name = method.to_string();
        Self {
            is_estimate: second_order && method.is_stochastic(),
            is_closed_form: second_order && name == "closed-form",
            has_kinks: second_order && method.needs_affine_body(),
            method: second_order.then(|| (name, derived.reason.clone())),
        }
    }
}

fn single(
    draft: &mut Draft,
    operator: &dyn Operator,
    along: Along,
    target: Target,
    with_map: bool,
) -> Result<Residual, Error> {
    let rows = draft.rows();
    let mut wants = operator.wants(false);
    wants.gradient |= with_map;
    wants.diagonal = wants.laplacian && with_map;
    let (parts, derived) = draft.derive(target, wants, wants.drift.then(|| along.drift()))?;
    let how = How::of(&derived, wants.laplacian);
    let mut b = draft.build();
    let mut column = |id: Id| b.reshape(id, &[rows, Dim::from(1)]);
    let value = column(parts.value)?;
    let terms = Terms {
        laplacian: parts.laplacian.map(&mut column).transpose()?,
        drift: parts.drift.map(&mut column).transpose()?,
        gradient: parts.gradient,
        diagonal: parts.diagonal,
        ..along.terms(value)
    };
    let components = operator.residual(&mut b, &terms)?;
    let map = if with_map { Some(operator.entries(&mut b, &terms)?) } else { None };
    let single = b.reshape(components, &[rows])?;
    let stderr = if how.is_estimate {
        let wants = Wants { laplacian: true, stderr: true, ..Wants::default() };
        draft.derive(target, wants, None)?.0.stderr
    } else {
        None
    };
    Ok(Residual {
        components,
        single,
        map,
        terms,
        probabilities: None,
        predicted: None,
        jacobian: None,
        stderr,
        method: how.method,
        is_estimate: how.is_estimate,
        is_closed_form: how.is_closed_form,
        has_kinks: how.has_kinks || target.has_kinks(),
        is_flat: derived.is_flat,
    })
}

fn every_class(
    draft: &mut Draft,
    operator: &dyn Operator,
    along: Along,
    with_jacobian: bool,
    with_map: bool,
) -> Result<Residual, Error> {
    let rows = draft.rows();
    let mut wants = operator.wants(true);
    wants.jacobian |= with_jacobian;
    // The drift is what the profile looks at, whatever the operator.
    wants.drift = true;
    let (parts, derived) = draft.derive(Target::every_prob(), wants, Some(along.drift()))?;
    let how = How::of(&derived, wants.laplacian);
    let (probabilities, logits) = (parts.value, draft.logits());
    let mut b = draft.build();
    let gradients = match parts.jacobian {
        Some(jacobian) => Some(probability_gradients(&mut b, jacobian, probabilities)?),
        None => None,
    };
    let terms = Terms {
        laplacian: parts.laplacian,
        drift: parts.drift,
        gradients,
        ..along.terms(probabilities)
    };
    let components = operator.residual(&mut b, &terms)?;
    let predicted = functions::first_max(&mut b, logits, 1)?;
    let picked = b.mul(components, predicted)?;
    let sum = b.sum(picked, &[1])?;
    let single = b.reshape(sum, &[rows])?;
    let map = if with_map {
        // With the Jacobian that the classes have, so that both share its products.
        let jacobian = wants.jacobian;
        let diagonal = wants.laplacian;
        let wants = Wants { gradient: true, diagonal, jacobian, ..Wants::default() };
        let (own, _) = draft.derive(Target::prob(None), wants, None)?;
        let mut b = draft.build();
        let value = b.reshape(own.value, &[rows, Dim::from(1)])?;
        let of_one = Terms {
            value,
            gradient: own.gradient,
            diagonal: own.diagonal,
            gradients: None,
            ..terms.clone()
        };
        Some(operator.entries(&mut b, &of_one)?)
    } else {
        None
    };
    Ok(Residual {
        components,
        single,
        map,
        terms,
        probabilities: Some(probabilities),
        predicted: Some(predicted),
        jacobian: parts.jacobian,
        stderr: None,
        method: how.method,
        is_estimate: how.is_estimate,
        is_closed_form: how.is_closed_form,
        has_kinks: how.has_kinks,
        is_flat: derived.is_flat,
    })
}

/// ∇p = p·(g − ḡ) for every class: N × K × D.
fn probability_gradients(
    b: &mut Build<'_>,
    jacobian: Id,
    probabilities: Id,
) -> Result<Id, OpError> {
    let [rows, width] = [b.fact(probabilities).shape[0], b.fact(probabilities).shape[1]];
    let row = b.reshape(probabilities, &[rows, Dim::from(1), width])?;
    let mean = functions::matmul(b, row, jacobian)?;
    let off = b.sub(jacobian, mean)?;
    let column = b.reshape(probabilities, &[rows, width, Dim::from(1)])?;
    b.mul(off, column)
}
