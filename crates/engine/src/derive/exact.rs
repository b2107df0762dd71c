//! Second derivatives along the whole basis of the input's space: exact for every model.

use std::{collections::HashMap, sync::Arc};

use ndarray::{Array1, ArrayD, Axis, IxDyn, concatenate};
use taste_choice::Choice;
use taste_graph::{
    Build, Dim, Id, OpError, Tensor,
    diff::{self, Curvature, Derivatives, Second, second_order},
};

use super::{
    Cut, DIRECTION_LIMIT, Job, Once, Problem, Rows, RunOnce, Schedule, Signs, check_directions,
    frontier, precision,
};
use crate::{
    Error, LaplacianKind, LaplacianMethod, Metric, Outputs, Parts, Value, Wants, error::request,
    laplacian::Rule, names::Fed,
};

pub(super) const KIND: &LaplacianKind = &LaplacianKind {
    choice: Choice {
        name: "exact",
        usage: "exact",
        about: "second derivatives along every direction of the input: exact for every model",
    },
    rule: &Exact,
};

impl LaplacianMethod {
    /// The forward Laplacian along the whole basis: exact for every model.
    pub const EXACT: Self = Self::new(KIND, None);
}

/// Inputs of up to this many entries are derived along the whole basis without being asked.
const EXACT_LIMIT: usize = 1024;

struct Exact;

impl Rule for Exact {
    fn cost(&self, p: &Problem, _count: Option<usize>) -> String {
        let plural = if p.dimension == 1 { "" } else { "s" };
        format!("exact, along {} direction{plural}", p.dimension)
    }

    fn suits(&self, p: &Problem) -> Option<(Option<usize>, String)> {
        let Cut::Smooth(why) = &p.cut else { return None };
        let reason = format!("{why}, and the input has {} entries: exact along each", p.dimension);
        (p.dimension <= EXACT_LIMIT).then_some((None, reason))
    }

    /// The basis is a constant if it fits into the lanes, otherwise fed part by part.
    fn build(
        &self,
        p: &mut Problem,
        job: &Job,
        _count: Option<usize>,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Schedule>, Error> {
        let mut wants = job.wants;
        if !wants.diagonal && !p.target.is_every_class() && narrow(p, job, parts)? {
            return Ok(Arc::new(Once { signs: None }));
        }
        if wants.gradient && !p.metric.is_identity() {
            // Slopes go along the columns of R.
            parts.gradient = Some(p.gradient()?);
            wants.gradient = false;
        }
        // A file has no one to feed it: all at once.
        let fits = check_directions(p.dimension, fixed_rows(p.rows()), p.dimension).is_ok();
        let mixed = wants.diagonal && !p.metric.is_diagonal();
        let whole = (p.dimension <= job.lanes && fits) || job.signs != Signs::Fed || mixed;
        let mut b = Build::new(&mut p.graph);
        if whole {
            let basis = basis_lanes(&mut b, p.x, p.dimension, &p.metric)?;
            if mixed {
                mixed_diagonal(p, basis, wants, parts)?;
                return Ok(Arc::new(Once { signs: None }));
            }
            let (slopes, curvature) = along(p, basis, wants)?;
            from_whole_basis(p, wants, slopes, curvature, parts)?;
            return Ok(Arc::new(Once { signs: None }));
        }
        let mut fact = b.fact(p.x).clone();
        if fact.depends_on_batch() {
            fact.shape[0] = Dim::from(1);
        }
        fact.shape.insert(0, Dim::from(job.lanes));
        let fed: Vec<usize> = fact.at(1).shape;
        let directions = Fed::new(b.graph_mut(), "directions", fact);
        let (slopes, curvature) = along(p, directions.id, wants)?;
        let (dimension, metric) = (p.dimension, p.metric.clone());
        Ok(Arc::new(ByParts { directions, fed, slopes, curvature, wants, dimension, metric }))
    }
}

/// First and second derivatives of f along lanes of directions. Of the second ones the sum, unless a diagonal is
/// wanted.
fn along(p: &mut Problem, directions: Id, wants: Wants) -> Result<(Id, Id), Error> {
    let (x, f) = (p.x, p.f);
    let mut b = Build::new(&mut p.graph);
    let directions = b.declare_lanes(directions, x)?;
    let mode = if wants.diagonal { Curvature::Each } else { Curvature::Sum };
    let seeds = HashMap::from([(x, Second::along(directions))]);
    let second = second_order(&mut b, &[f], &seeds, mode)?[0];
    let second = second.ok_or_else(|| request("the target does not depend on the input"))?;
    let slopes = b.stacked(second.tangents)?;
    let curvature = match (second.curvature, wants.diagonal) {
        (Some(c), true) => b.stacked(c)?,
        (Some(c), false) => c,
        (None, true) => {
            let zeros = b.scale(slopes, 0.0)?;
            b.stacked(zeros)?
        }
        (None, false) => b.zeros_like(f)?,
    };
    Ok((slopes, curvature))
}

/// Σₖ rₖ⊙∇²f·rₖ over the columns of R: the diagonal of `RRᵀ∇²f`.
fn mixed_diagonal(
    p: &mut Problem,
    columns: Id,
    wants: Wants,
    parts: &mut Parts,
) -> Result<(), Error> {
    p.scalar_target("a diagonal with a full metric")?;
    let (x, f) = (p.x, p.f);
    let mut b = Build::new(&mut p.graph);
    let columns = b.declare_lanes(columns, x)?;
    let diagonal = match diff::hvp(&mut b, f, x, columns)? {
        Some(products) => {
            let terms = b.mul(columns, products)?;
            b.sum_lanes(terms)?
        }
        None => b.zeros_like(x)?,
    };
    parts.diagonal = Some(diagonal);
    if wants.laplacian {
        let axes: Vec<usize> = (1..b.fact(diagonal).rank()).collect();
        let sum = b.sum(diagonal, &axes)?;
        let shape = b.fact(f).shape.clone();
        parts.laplacian = Some(b.reshape(sum, &shape)?);
    }
    Ok(())
}

/// (D, N, …) → (N, …, D) → (N, …, x…)
fn from_whole_basis(
    p: &mut Problem,
    wants: Wants,
    slopes: Id,
    curvature: Id,
    parts: &mut Parts,
) -> Result<(), Error> {
    let (x, f) = (p.x, p.f);
    let mut b = Build::new(&mut p.graph);
    let perm: Vec<usize> = (1..b.fact(slopes).rank()).chain([0]).collect();
    let f_shape = b.fact(f).shape.clone();
    let shape: Vec<Dim> = f_shape.iter().chain(&b.fact(x).shape[1..]).copied().collect();
    if wants.gradient {
        let gradient = b.transpose(slopes, &perm)?;
        parts.gradient = Some(b.reshape(gradient, &shape)?);
    }
    if !wants.diagonal {
        parts.laplacian = Some(curvature);
        return Ok(());
    }
    if wants.laplacian {
        let sum = b.sum(curvature, &[0])?;
        parts.laplacian = Some(b.reshape(sum, &f_shape)?);
    }
    let diagonal = b.transpose(curvature, &perm)?;
    parts.diagonal = Some(b.reshape(diagonal, &shape)?);
    Ok(())
}

/// One run for every so many directions of the basis; the last part is filled up with zeros.
#[derive(Debug)]
struct ByParts {
    directions: Fed,
    /// The shape that is fed: lanes, copies of the basis, then a sample.
    fed: Vec<usize>,
    slopes: Id,
    /// Second derivatives along each direction if a diagonal is wanted, otherwise their sum.
    curvature: Id,
    wants: Wants,
    dimension: usize,
    metric: Metric,
}

impl Schedule for ByParts {
    fn ends(&self) -> Vec<Id> {
        vec![self.slopes, self.curvature]
    }

    fn run(&self, _rows: Rows, run: &mut RunOnce<'_>) -> Result<Outputs, Error> {
        let (lanes, copies, dimension) = (self.fed[0], self.fed[1], self.dimension);
        let mut outputs = None;
        let (mut slopes, mut curvatures) = (Vec::new(), Vec::new());
        for start in (0..dimension).step_by(lanes) {
            let used = lanes.min(dimension - start);
            let mut directions = ArrayD::<f32>::zeros(IxDyn(&[lanes, copies, dimension]));
            for lane in 0..used {
                let column = Array1::from(self.metric.column(start + lane, dimension));
                #[expect(clippy::cast_possible_truncation, reason = "feeds are single precision")]
                let column = column.mapv(|v| v as f32);
                directions.index_axis_mut(Axis(0), lane).assign(&column);
            }
            let directions = Value::F32(directions).reshaped(&self.fed);
            let (quantities, ends) = run(&[(&self.directions.name, &directions)])?;
            let [slope, curvature] = &ends[..] else { return Err(request("no slopes")) };
            outputs.get_or_insert(quantities);
            slopes.push(slope.rows(0, used).to_f64());
            curvatures.push(if self.wants.diagonal {
                curvature.rows(0, used).to_f64()
            } else {
                curvature.to_f64()
            });
        }
        let mut outputs = outputs.ok_or_else(|| request("nothing ran"))?;
        let double = matches!(outputs.value, Value::F64(_));
        if self.wants.gradient {
            outputs.gradient = Some(self.by_sample(&slopes, double)?);
        }
        if self.wants.diagonal {
            outputs.diagonal = Some(self.by_sample(&curvatures, double)?);
        }
        if self.wants.laplacian {
            let of_each = self.wants.diagonal;
            let sums =
                curvatures.into_iter().map(|c| if of_each { c.sum_axis(Axis(0)) } else { c });
            outputs.laplacian = sums.reduce(|a, b| a + b).map(|sum| precision(sum, double));
        }
        Ok(outputs)
    }
}

impl ByParts {
    /// (D, N, …) → (N, …, x…)
    fn by_sample(&self, parts: &[ArrayD<f64>], double: bool) -> Result<Value, Error> {
        let views: Vec<_> = parts.iter().map(|p| p.view()).collect();
        let stack = concatenate(Axis(0), &views).map_err(|e| request(e.to_string()))?;
        let axes: Vec<usize> = (1..stack.ndim()).chain([0]).collect();
        let moved = stack.permuted_axes(IxDyn(&axes)).as_standard_layout().into_owned();
        let outer = &moved.shape()[..moved.ndim() - 1];
        let shape: Vec<usize> = outer.iter().chain(&self.fed[2..]).copied().collect();
        Ok(precision(moved, double).reshaped(&shape))
    }
}

/// A is computed when a graph is built if that takes no more steps.
const WAIST_STEPS: usize = 1 << 31;

/// f(x) = g(Ax + b) with fewer rows in A than x has entries: Δf is the sum of second derivatives of g
/// along the rows of R, where `RᵀR` = `AAᵀ`. Tells whether it applied.
fn narrow(p: &mut Problem, job: &Job, parts: &mut Parts) -> Result<bool, Error> {
    let Some(waist) = frontier::affine_waist(&p.graph, p.f, p.x)? else { return Ok(false) };
    let fact = p.graph.fact(waist).clone();
    let Some((rows, rest)) = fact.shape.split_first() else { return Ok(false) };
    if *rows != p.rows() || rest.iter().any(|d| d.depends_on_batch()) {
        return Ok(false);
    }
    let shape: Vec<usize> = rest.iter().map(|d| d.at(0)).collect();
    let width: usize = shape.iter().product();
    if width >= p.dimension || width > job.lanes || p.dimension > 4 * EXACT_LIMIT {
        return Ok(false);
    }
    if check_directions(p.dimension, fixed_rows(p.rows()), p.dimension).is_err() {
        return Ok(false);
    }
    let Some(columns) = columns(p, waist)? else { return Ok(false) };
    if columns.len() != p.dimension * width {
        return Ok(false);
    }
    let factor = gram_factor(&columns, p.dimension, width);
    let full: Vec<usize> = [width, 1].into_iter().chain(shape).collect();
    if job.wants.gradient {
        parts.gradient = Some(p.gradient()?);
    }
    let mut b = Build::new(&mut p.graph);
    let directions = b.graph_mut().constant(Tensor::floats(&full, factor)?);
    let directions = b.declare_lanes(directions, waist)?;
    let seeds = HashMap::from([(waist, Second::along(directions))]);
    let second = second_order(&mut b, &[p.f], &seeds, Curvature::Sum)?[0];
    let laplacian = match second.and_then(|s| s.curvature) {
        Some(curvature) => curvature,
        None => b.zeros_like(p.f)?,
    };
    parts.laplacian = Some(laplacian);
    Ok(true)
}

/// The columns of A one after the other; nothing if they are not known before anything runs, or take too long.
fn columns(p: &Problem, waist: Id) -> Result<Option<Vec<f64>>, Error> {
    let mut scratch = p.graph.clone();
    let mut b = Build::new(&mut scratch);
    let basis = basis_lanes(&mut b, p.x, p.dimension, &p.metric)?;
    let basis = b.declare_lanes(basis, p.x)?;
    let Some(columns) = diff::jvp(&mut b, &[waist], &Derivatives::from([(p.x, basis)]))?[0] else {
        return Ok(None);
    };
    // They depend on nothing that is fed, unless the map mixes other inputs in.
    let fed: Vec<Id> = scratch.inputs().into_iter().map(|(_, id)| id).collect();
    let nodes = scratch.ancestors(&[columns], &[]);
    let is_large = |&id: &Id| scratch.fact(id).at(1).len() > DIRECTION_LIMIT;
    if fed.iter().any(|&id| nodes.contains(&scratch.node_index(id)))
        || nodes.iter().any(|&n| scratch.nodes()[n].outs.iter().any(is_large))
        || scratch.steps(&nodes, 1) > WAIST_STEPS
    {
        return Ok(None);
    }
    let columns = scratch.eval(&[columns], &HashMap::new(), 1)?.swap_remove(0);
    Ok(Some(columns.as_float()?.iter().copied().collect()))
}

/// Rows of a square R (width × width, row-major) with `RᵀR` = `Σ_d` `c_d` `c_dᵀ` over the rows `c_d` of `columns`
/// (count × width): a Cholesky factor that leaves out directions without weight.
fn gram_factor(columns: &[f64], count: usize, width: usize) -> Vec<f64> {
    let matrix = ndarray::ArrayView2::from_shape((count, width), columns).expect("count × width");
    let mut gram = matrix.t().dot(&matrix);
    let floor = gram.diag().iter().fold(0.0f64, |m, v| m.max(*v)) * 1e-14;
    let mut factor = vec![0.0; width * width];
    for k in 0..width {
        let pivot = gram[[k, k]];
        if pivot <= floor {
            continue;
        }
        let row: Vec<f64> =
            (0..width).map(|j| if j < k { 0.0 } else { gram[[k, j]] / pivot.sqrt() }).collect();
        for i in k..width {
            for j in k..width {
                gram[[i, j]] -= row[i] * row[j];
            }
        }
        factor[k * width..(k + 1) * width].copy_from_slice(&row);
    }
    factor
}

/// How many samples a constant is written out for: one stands for all where the batch is open.
fn fixed_rows(rows: Dim) -> usize {
    rows.as_fixed().map_or(1, |r| usize::try_from(r).unwrap_or(1))
}

/// The columns of R as lanes, the same for every sample: the standard basis if there is no metric `RRᵀ`.
fn basis_lanes(b: &mut Build<'_>, x: Id, dimension: usize, metric: &Metric) -> Result<Id, OpError> {
    let fact = b.fact(x).clone();
    let rows = fixed_rows(fact.shape[0]);
    check_directions(dimension, rows, dimension)?;
    let mut values = Vec::with_capacity(dimension * rows * dimension);
    for k in 0..dimension {
        let column = metric.column(k, dimension);
        (0..rows).for_each(|_| values.extend_from_slice(&column));
    }
    let shape: Vec<usize> =
        [dimension, rows].into_iter().chain(fact.shape[1..].iter().map(|d| d.at(0))).collect();
    Ok(b.graph_mut().constant(Tensor::floats(&shape, values)?))
}
