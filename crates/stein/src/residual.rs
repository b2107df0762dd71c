//! Raw residuals as a graph: what the operator makes of the model and the score, before any adjustment.

use taste_engine::{Draft, LaplacianMethod, Parts, Target, Wants};
use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::functions;

use crate::{Error, Operator, error::request, profile, score::ScoreModel};

/// Which functions of the model have residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// One.
    Single(Target),
    /// The probability of every class; with the features of the profile if those are asked for.
    EveryClass { profile: Option<bool> },
}

/// Values in the graph.
#[derive(Clone, Debug)]
pub(crate) struct Residual {
    /// One column for every function: N × C.
    pub(crate) components: Id,
    /// The residual of the only function, or of the class most likely at x: N.
    pub(crate) single: Id,
    /// The single residual by entry of the input, which it is the sum of: N × …
    pub(crate) map: Option<Id>,
    /// The features of the profile: N × F.
    pub(crate) features: Option<Id>,
    /// Class probabilities: N × K.
    pub(crate) probabilities: Option<Id>,
    /// 1 at the class most likely at x: N × K.
    pub(crate) predicted: Option<Id>,
    /// The standard error of the single function's Laplacian, if that is an estimate: N.
    pub(crate) stderr: Option<Id>,
    /// The Laplacian and the drift of every component: N × C.
    pub(crate) terms: Option<(Id, Id)>,
    /// How second derivatives are computed, and why so.
    pub(crate) method: Option<(LaplacianMethod, String)>,
    /// Whether the Laplacian is zero almost everywhere.
    pub(crate) is_flat: bool,
}

/// Adds the residuals to a draft.
pub(crate) fn build(
    draft: &mut Draft,
    score: &dyn ScoreModel,
    operator: &Operator,
    subject: Subject,
    with_map: bool,
) -> Result<Residual, Error> {
    let x = draft.input();
    let s = score.build(&mut draft.build(), x)?;
    let mut residual = match (operator, subject) {
        (Operator::ScoreOnly, _) => score_only(draft, s, with_map)?,
        (_, Subject::Single(target)) => single(draft, s, operator, target, with_map)?,
        (_, Subject::EveryClass { profile }) => every_class(draft, s, operator, profile, with_map)?,
    };
    guard(draft, &mut residual)?;
    Ok(residual)
}

/// x·0 is NaN where x is not finite, whatever the model makes of it: such rows keep no residual.
fn guard(draft: &mut Draft, residual: &mut Residual) -> Result<(), OpError> {
    let (x, rows, dimension) = (draft.input(), draft.rows(), draft.dimension());
    let mut b = draft.build();
    let flat = b.reshape(x, &[rows, Dim::from(dimension)])?;
    let zeros = b.scale(flat, 0.0)?;
    let column = b.sum(zeros, &[1])?;
    let row = b.reshape(column, &[rows])?;
    residual.components = b.add(residual.components, column)?;
    residual.single = b.add(residual.single, row)?;
    if let Some(features) = residual.features {
        residual.features = Some(b.add(features, column)?);
    }
    Ok(())
}

/// Σ x·y over the entries of every sample: N.
fn inner(b: &mut Build<'_>, x: Id, y: Id, rows: Dim, dimension: usize) -> Result<Id, OpError> {
    let product = b.mul(x, y)?;
    let flat = b.reshape(product, &[rows, Dim::from(dimension)])?;
    let sum = b.sum(flat, &[1])?;
    b.reshape(sum, &[rows])
}

/// A number a sample, spread over the entries of x.
fn over_entries(b: &mut Build<'_>, value: Id, x: Id) -> Result<Id, OpError> {
    let mut shape = vec![b.fact(x).shape[0]];
    shape.extend(vec![Dim::from(1); b.fact(x).rank() - 1]);
    b.reshape(value, &shape)
}

fn score_only(draft: &mut Draft, s: Id, with_map: bool) -> Result<Residual, Error> {
    let (rows, dimension) = (draft.rows(), draft.dimension());
    let mut b = draft.build();
    let square = inner(&mut b, s, s, rows, dimension)?;
    let single = functions::sqrt(&mut b, square)?;
    let components = b.reshape(single, &[rows, Dim::from(1)])?;
    // ‖s‖ = Σ sᵢ²/‖s‖
    let map = if with_map {
        let squares = b.square(s)?;
        let floored = b.offset(single, f64::from(f32::MIN_POSITIVE))?;
        let inverse = functions::reciprocal(&mut b, floored)?;
        let inverse = over_entries(&mut b, inverse, s)?;
        Some(b.mul(squares, inverse)?)
    } else {
        None
    };
    Ok(Residual {
        components,
        single,
        map,
        features: None,
        probabilities: None,
        predicted: None,
        stderr: None,
        terms: None,
        method: None,
        is_flat: false,
    })
}

/// The direction of the first-order operator, for all samples.
fn direction(draft: &mut Draft, operator: &Operator) -> Result<Option<Id>, Error> {
    let Operator::FirstOrder(direction) = operator else { return Ok(None) };
    let entries = direction.entries(draft.dimension()).map_err(request)?;
    let shape: Vec<usize> = std::iter::once(1).chain(draft.sample_shape()).collect();
    let full = draft.graph().fact(draft.input()).shape.clone();
    let mut b = draft.build();
    let v = b.graph_mut().constant(Tensor::floats(&shape, entries)?);
    Ok(Some(b.expand(v, &full)?))
}

fn single(
    draft: &mut Draft,
    s: Id,
    operator: &Operator,
    target: Target,
    with_map: bool,
) -> Result<Residual, Error> {
    let (rows, dimension) = (draft.rows(), draft.dimension());
    let v = direction(draft, operator)?;
    let langevin = *operator == Operator::Langevin;
    let wants = Wants {
        gradient: with_map || *operator == Operator::FirstOrderNorm,
        laplacian: langevin,
        diagonal: langevin && with_map,
        drift: *operator != Operator::FirstOrderNorm,
        ..Wants::default()
    };
    let field = if wants.drift { Some(v.unwrap_or(s)) } else { None };
    let (parts, how) = draft.derive(target, wants, field)?;
    let stochastic = langevin && how.method.is_stochastic();
    let (value, gradient) = (parts.value, parts.gradient);
    let mut b = draft.build();
    let missing = |what: &str| request(format!("the derivative lacks its {what}"));
    let need = |part: Option<Id>, what: &str| part.ok_or_else(|| missing(what));
    let mut terms = None;
    let single = match operator {
        Operator::Langevin => {
            let (laplacian, drift) =
                (need(parts.laplacian, "Laplacian")?, need(parts.drift, "drift")?);
            terms = Some((column(&mut b, laplacian, rows)?, column(&mut b, drift, rows)?));
            b.add(laplacian, drift)?
        }
        Operator::FirstOrder(_) => {
            let along = inner(&mut b, s, need(v, "direction")?, rows, dimension)?;
            let scaled = b.mul(value, along)?;
            b.add(need(parts.drift, "drift")?, scaled)?
        }
        Operator::FirstOrderNorm => {
            let field = first_order_field(&mut b, need(gradient, "gradient")?, value, s)?;
            inner(&mut b, field, field, rows, dimension)?
        }
        Operator::NoLaplacian | Operator::ScoreOnly => need(parts.drift, "drift")?,
    };
    let map = if with_map { Some(entry_map(&mut b, operator, &parts, s, v)?) } else { None };
    let components = column(&mut b, single, rows)?;
    let stderr = if stochastic {
        let wants = Wants { laplacian: true, stderr: true, ..Wants::default() };
        draft.derive(target, wants, None)?.0.stderr
    } else {
        None
    };
    Ok(Residual {
        components,
        single,
        map,
        features: None,
        probabilities: None,
        predicted: None,
        stderr,
        terms,
        method: langevin.then_some((how.method, how.reason)),
        is_flat: how.is_flat,
    })
}

fn column(b: &mut Build<'_>, x: Id, rows: Dim) -> Result<Id, OpError> {
    b.reshape(x, &[rows, Dim::from(1)])
}

/// ∇f + f·s.
fn first_order_field(b: &mut Build<'_>, gradient: Id, value: Id, s: Id) -> Result<Id, OpError> {
    let value = over_entries(b, value, s)?;
    let scaled = b.mul(value, s)?;
    b.add(gradient, scaled)
}

/// The residual of one function by entry of the input.
fn entry_map(
    b: &mut Build<'_>,
    operator: &Operator,
    parts: &Parts,
    s: Id,
    v: Option<Id>,
) -> Result<Id, Error> {
    let missing = || request("the derivative lacks what maps need");
    let gradient = parts.gradient.ok_or_else(missing)?;
    Ok(match operator {
        Operator::Langevin => {
            let along = b.mul(s, gradient)?;
            b.add(parts.diagonal.ok_or_else(missing)?, along)?
        }
        Operator::NoLaplacian | Operator::ScoreOnly => b.mul(s, gradient)?,
        Operator::FirstOrder(_) => {
            let field = first_order_field(b, gradient, parts.value, s)?;
            b.mul(field, v.ok_or_else(missing)?)?
        }
        Operator::FirstOrderNorm => {
            let field = first_order_field(b, gradient, parts.value, s)?;
            b.square(field)?
        }
    })
}

fn every_class(
    draft: &mut Draft,
    s: Id,
    operator: &Operator,
    with_profile: Option<bool>,
    with_map: bool,
) -> Result<Residual, Error> {
    let (rows, dimension) = (draft.rows(), draft.dimension());
    let v = direction(draft, operator)?;
    let langevin = *operator == Operator::Langevin;
    let norm = *operator == Operator::FirstOrderNorm;
    let wants = Wants {
        laplacian: langevin,
        drift: true,
        jacobian: with_profile.is_some() || norm,
        ..Wants::default()
    };
    let (parts, how) = draft.derive(Target::every_prob(), wants, Some(v.unwrap_or(s)))?;
    let need = |part: Option<Id>, what: &str| {
        part.ok_or_else(|| request(format!("the derivative lacks its {what}")))
    };
    let drift = need(parts.drift, "drift")?;
    let probabilities = parts.value;
    let logits = draft.logits();
    let mut b = draft.build();
    let mut terms = None;
    let components = match operator {
        Operator::Langevin => {
            let laplacian = need(parts.laplacian, "Laplacian")?;
            terms = Some((laplacian, drift));
            b.add(laplacian, drift)?
        }
        Operator::FirstOrder(_) => {
            let along = inner(&mut b, s, need(v, "direction")?, rows, dimension)?;
            let along = column(&mut b, along, rows)?;
            let scaled = b.mul(probabilities, along)?;
            b.add(drift, scaled)?
        }
        Operator::FirstOrderNorm => {
            // ‖∇p + p·s‖² = ‖∇p‖² + 2p·(s·∇p) + p²‖s‖²
            let jacobian = need(parts.jacobian, "Jacobian")?;
            let gradients = profile::probability_gradients(&mut b, jacobian, probabilities)?;
            let width = b.fact(probabilities).shape[1];
            let squares = functions::square_sum(&mut b, gradients, 2)?;
            let squares = b.reshape(squares, &[rows, width])?;
            let cross = b.mul(probabilities, drift)?;
            let cross = b.scale(cross, 2.0)?;
            let length = inner(&mut b, s, s, rows, dimension)?;
            let length = column(&mut b, length, rows)?;
            let p_squared = b.square(probabilities)?;
            let last = b.mul(p_squared, length)?;
            let sum = b.add(squares, cross)?;
            b.add(sum, last)?
        }
        Operator::NoLaplacian | Operator::ScoreOnly => drift,
    };
    let predicted = functions::first_max(&mut b, logits, 1)?;
    let picked = b.mul(components, predicted)?;
    let sum = b.sum(picked, &[1])?;
    let single = b.reshape(sum, &[rows])?;
    let features = match with_profile {
        Some(with_score) => {
            let inputs = profile::Ingredients {
                residuals: components,
                drifts: drift,
                jacobian: need(parts.jacobian, "Jacobian")?,
                probabilities,
                predicted,
                score: b.reshape(s, &[rows, Dim::from(dimension)])?,
            };
            Some(profile::features(&mut b, &inputs, with_score)?)
        }
        None => None,
    };
    let map = if with_map {
        // With the Jacobian that the classes have, so that both share its products.
        let jacobian = wants.jacobian;
        let wants = Wants { gradient: true, diagonal: langevin, jacobian, ..Wants::default() };
        let (own, _) = draft.derive(Target::prob(None), wants, None)?;
        Some(entry_map(&mut draft.build(), operator, &own, s, v)?)
    } else {
        None
    };
    Ok(Residual {
        components,
        single,
        map,
        features,
        probabilities: Some(probabilities),
        predicted: Some(predicted),
        stderr: None,
        terms,
        method: langevin.then_some((how.method, how.reason)),
        is_flat: how.is_flat,
    })
}
