//! A piecewise affine body under a smooth head: with J = ∂z/∂x constant around x, the Hessian of
//! f = h(z(x)) is Jᵀ·∇²h·J.

use std::sync::Arc;

use taste_choice::{Arguments, Choice};
use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;

use super::{
    Cut, Job, Once, Problem, Schedule, Wants,
    jacobian::{
        jacobian, pull, relative_jacobian, relative_to_likeliest, slope_and_bend, unit_cotangents,
    },
};
use crate::{
    Accuracy, Error, LaplacianKind, LaplacianMethod, Parts,
    error::request,
    laplacian::{COUNT, Rule, is_count},
    memory,
    target::row_sum,
};

pub(super) const KIND: &LaplacianKind = &LaplacianKind {
    choice: Choice {
        name: "closed-form",
        usage: "closed-form[:K]",
        about: "a backward product for each class, or for the K most likely (biased): for piecewise affine logits",
    },
    rule: &ClosedForm,
};

impl LaplacianMethod {
    /// A vector-Jacobian product for every logit: exact where the logits are piecewise affine.
    pub const CLOSED_FORM: Self = Self::new(KIND, None);

    /// The closed form with the `top` most likely classes only: biased.
    pub const fn closed_form_top(top: usize) -> Self {
        Self::new(KIND, Some(top))
    }
}

/// Outputs of up to this many entries are derived one by one without being asked.
const CLASS_LIMIT: usize = 128;
/// Where every class is asked for, no other method gives them: then those whose products take up to so many bytes a sample
/// are derived one by one without being asked.
const BYTE_LIMIT: usize = 1 << 29;

struct ClosedForm;

impl Rule for ClosedForm {
    fn read(&self, arguments: &mut Arguments<'_>) -> Result<Option<usize>, taste_choice::Error> {
        arguments.word_as("K", COUNT, is_count)
    }

    fn accuracy(&self, top: Option<usize>) -> Accuracy {
        if top.is_some() { Accuracy::Biased } else { Accuracy::Exact }
    }

    fn needs_affine_body(&self) -> bool {
        true
    }

    fn examples(&self, width: usize) -> Vec<Option<usize>> {
        vec![None, Some(width.saturating_sub(1).clamp(1, 10))]
    }

    fn cost(&self, p: &Problem, top: Option<usize>) -> String {
        match (top, &p.cut) {
            (Some(k), _) => format!("biased: all but the {k} most likely classes are left out"),
            (None, Cut::Flat) => "zero almost everywhere, at no cost".to_owned(),
            (None, _) => {
                let plural = if p.head.width == 1 { "" } else { "s" };
                format!("exact, with {} backward product{plural}", p.head.width)
            }
        }
    }

    fn suits(&self, p: &Problem) -> Option<(Option<usize>, String)> {
        let reason = match p.cut {
            Cut::Flat => format!(
                "the target {} is piecewise affine in the input: its second derivatives are zero almost everywhere",
                p.target
            ),
            Cut::Logits(_) if p.head.width <= CLASS_LIMIT || is_bounded(p) => format!(
                "the body is piecewise affine and the output has {} entries: exact with as many products",
                p.head.width
            ),
            _ => return None,
        };
        Some((None, reason))
    }

    fn obstacle(&self, p: &Problem, top: Option<usize>) -> Option<String> {
        match (&p.cut, top) {
            (Cut::Smooth(why), _) => Some(why.clone()),
            (Cut::Flat, Some(_)) => Some("there is no curvature to estimate".to_owned()),
            _ => None,
        }
    }

    fn build(
        &self,
        p: &mut Problem,
        job: &Job,
        top: Option<usize>,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Schedule>, Error> {
        let top = top.filter(|k| *k < p.head.width);
        match (&p.cut, p.target.is_every_class(), top) {
            (Cut::Smooth(why), ..) => return Err(request(why.clone())),
            (Cut::Flat, ..) => flat(p, job.wants, parts)?,
            (Cut::Logits(_), true, Some(k)) => {
                return Err(request(format!(
                    "closed-form:{k} leaves classes out; for every class use closed-form"
                )));
            }
            (&Cut::Logits(z), true, None) => every_class(p, job, z, parts)?,
            (&Cut::Logits(z), false, Some(k)) => of_top(p, job.wants, z, k, parts)?,
            (&Cut::Logits(z), false, None) => of_all(p, job.wants, z, parts)?,
        }
        Ok(Arc::new(Once { signs: None }))
    }
}

/// Whether every class is asked for, and the products of all of them stay within bounds.
fn is_bounded(p: &Problem) -> bool {
    let each = || memory::lane(&p.graph, p.f);
    p.target.is_every_class() && each().saturating_mul(p.head.width) <= BYTE_LIMIT
}

/// A piecewise affine f: second derivatives are zero.
fn flat(p: &mut Problem, wants: Wants, parts: &mut Parts) -> Result<(), Error> {
    if wants.gradient {
        parts.gradient = Some(p.gradient()?);
    }
    let mut b = Build::new(&mut p.graph);
    if wants.laplacian {
        parts.laplacian = Some(b.zeros_like(p.f)?);
    }
    if wants.diagonal {
        parts.diagonal = Some(b.zeros_like(p.x)?);
    }
    Ok(())
}

/// One-hot cotangents at the `top` largest logits: lanes of z.
fn top_cotangents(p: &mut Problem, z: Id, top: usize) -> Result<Id, OpError> {
    let (rows, width, logits) = (p.rows(), Dim::from(p.head.width), p.head.logits);
    let mut b = Build::new(&mut p.graph);
    let mut rest = logits;
    let mut masks = Vec::with_capacity(top);
    for _ in 0..top {
        let mask = functions::first_max(&mut b, rest, 1)?;
        let lowered = b.scale(mask, -1e30)?;
        rest = b.add(rest, lowered)?;
        masks.push(b.reshape(mask, &[Dim::from(1), rows, width])?);
    }
    let stack = functions::concat(&mut b, &masks, 0)?;
    let shape: Vec<Dim> = std::iter::once(Dim::from(top)).chain(b.fact(z).shape.clone()).collect();
    b.reshape(stack, &shape)
}

/// Σᵢⱼ Hᵢⱼ ⟨gᵢ, gⱼ⟩ over the `top` largest logits alone (the paper's shortcut for many classes: biased).
fn of_top(
    p: &mut Problem,
    wants: Wants,
    z: Id,
    top: usize,
    parts: &mut Parts,
) -> Result<(), Error> {
    if wants.gradient {
        parts.gradient = Some(p.gradient()?);
    }
    let stack = top_cotangents(p, z, top)?;
    let (rows, lanes, width) = (p.rows(), Dim::from(top), Dim::from(p.head.width));
    let mut b = Build::new(&mut p.graph);
    let units = b.declare_lanes(stack, z)?;
    let jacobian = pull(&mut b, p.x, z, units, p.dimension)?;
    let (_, bend) = slope_and_bend(&mut b, p.f, z, units)?;
    let bend = b.stacked(bend)?;
    let mut b = Build::new(&mut p.graph);
    let bend = b.reshape(bend, &[lanes, rows, width])?;
    let hessian = b.transpose(bend, &[1, 0, 2])?;
    let columns = b.reshape(stack, &[lanes, rows, width])?;
    let columns = b.transpose(columns, &[1, 2, 0])?;
    let hessian = functions::matmul(&mut b, hessian, columns)?;
    curvature(p, wants, hessian, jacobian, parts)
}

/// Σᵢⱼ Hᵢⱼ ⟨gᵢ, gⱼ⟩ over all entries of z.
fn of_all(p: &mut Problem, wants: Wants, z: Id, parts: &mut Parts) -> Result<(), Error> {
    let (rows, width) = (p.rows(), Dim::from(p.head.width));
    let is_relative = p.target.ignores_offset() && !wants.jacobian;
    let relative = if is_relative { Some(relative_jacobian(p, z)?) } else { None };
    let mut b = Build::new(&mut p.graph);
    let units = unit_cotangents(&mut b, z, false)?;
    let jacobian = match relative {
        Some(rows) => rows,
        None => pull(&mut b, p.x, z, units, p.dimension)?,
    };
    let (slope, bend) = slope_and_bend(&mut b, p.f, z, units)?;
    let bend = b.stacked(bend)?;
    let mut b = Build::new(&mut p.graph);
    let bend = b.reshape(bend, &[width, rows, width])?;
    let hessian = b.transpose(bend, &[1, 0, 2])?;
    let centred = if p.target.curvature_ignores_offset() {
        relative_to_likeliest(&mut b, p.head.logits, jacobian)?
    } else {
        jacobian
    };
    if wants.gradient {
        let slope = b.reshape(slope, &[rows, Dim::from(1), width])?;
        let rows = if p.target.ignores_offset() { centred } else { jacobian };
        let gradient = functions::matmul(&mut b, slope, rows)?;
        let shape = b.fact(p.x).shape.clone();
        parts.gradient = Some(b.reshape(gradient, &shape)?);
    }
    curvature(p, wants, hessian, centred, parts)
}

/// The diagonal or the trace of `A·JᵀHJ`, for H (N × K × K) and J (N × K × D).
fn curvature(
    p: &mut Problem,
    wants: Wants,
    hessian: Id,
    jacobian: Id,
    parts: &mut Parts,
) -> Result<(), Error> {
    let (rows, d, x) = (p.rows(), p.dimension, p.x);
    let mut b = Build::new(&mut p.graph);
    if wants.diagonal {
        let product = functions::matmul(&mut b, hessian, jacobian)?;
        let raised = p.metric.raise(&mut b, jacobian, 2)?;
        let terms = b.mul(product, raised)?;
        let diagonal = b.sum(terms, &[1])?;
        let flat = b.reshape(diagonal, &[rows, Dim::from(d)])?;
        if wants.laplacian {
            parts.laplacian = Some(row_sum(&mut b, flat)?);
        }
        let shape = b.fact(x).shape.clone();
        parts.diagonal = Some(b.reshape(flat, &shape)?);
    } else {
        let lowered = p.metric.lower(&mut b, jacobian, 2)?;
        let across = b.transpose(lowered, &[0, 2, 1])?;
        let gram = functions::matmul(&mut b, lowered, across)?;
        let terms = b.mul(hessian, gram)?;
        let count = b.fact(terms).shape[1].at(0);
        let flat = b.reshape(terms, &[rows, Dim::from(count * count)])?;
        parts.laplacian = Some(row_sum(&mut b, flat)?);
    }
    Ok(())
}

/// `Δp_k` = `p_k(‖g_k` − ḡ‖² − V) and ∂_dd `p_k` for every class, with ḡ = Σ pᵢ gᵢ and V = Σ pᵢ‖gᵢ − ḡ‖². Only
/// differences of the gᵢ enter, so they are computed relative to the last class, whose row is zero, and then taken
/// relative to the likeliest.
fn every_class(p: &mut Problem, job: &Job, z: Id, parts: &mut Parts) -> Result<(), Error> {
    let wants = job.wants;
    let (rows, width, sample) = (p.rows(), Dim::from(p.head.width), p.sample_shape());
    let dimension = Dim::from(p.dimension);
    let jacobian = if wants.jacobian { jacobian(p)? } else { relative_jacobian(p, z)? };
    let mut b = Build::new(&mut p.graph);
    let probabilities = p.head.probabilities(&mut b)?;
    let row = b.reshape(probabilities, &[rows, Dim::from(1), width])?;
    let column = b.reshape(probabilities, &[rows, width, Dim::from(1)])?;
    let centred = relative_to_likeliest(&mut b, p.head.logits, jacobian)?;
    let mean = functions::matmul(&mut b, row, centred)?;
    let off = b.sub(centred, mean)?;
    let maps: Vec<Dim> = [rows, width].into_iter().chain(sample).collect();
    if let Some(field) = job.field {
        let field = b.reshape(field, &[rows, dimension, Dim::from(1)])?;
        let along = functions::matmul(&mut b, off, field)?;
        let along = b.reshape(along, &[rows, width])?;
        parts.drift = Some(b.mul(along, probabilities)?);
    }
    if wants.gradient {
        let gradient = b.mul(off, column)?;
        parts.gradient = Some(b.reshape(gradient, &maps)?);
    }
    if wants.diagonal {
        let raised = p.metric.raise(&mut b, off, 2)?;
        let squares = b.mul(off, raised)?;
        let spread = functions::matmul(&mut b, row, squares)?;
        let bend = b.sub(squares, spread)?;
        let diagonal = b.mul(bend, column)?;
        parts.diagonal = Some(b.reshape(diagonal, &maps)?);
    }
    if wants.laplacian {
        let lowered = p.metric.lower(&mut b, off, 2)?;
        let squares = functions::square_sum(&mut b, lowered, 2)?;
        let norms = b.reshape(squares, &[rows, width])?;
        parts.laplacian = Some(class_laplacians(&mut b, probabilities, norms)?);
    }
    Ok(())
}

/// `p_k(n_k` − Σ pᵢ nᵢ) from `n_k` = ‖`g_k` − ḡ‖².
fn class_laplacians(b: &mut Build<'_>, p: Id, norms: Id) -> Result<Id, OpError> {
    let weighted = b.mul(p, norms)?;
    let spread = b.sum(weighted, &[1])?;
    let bend = b.sub(norms, spread)?;
    b.mul(p, bend)
}
