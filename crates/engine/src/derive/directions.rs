//! Second derivatives along directions in the space of inputs.

use std::collections::HashMap;

use taste_graph::{
    Build, Dim, Id, OpError, Tensor,
    diff::{self, Curvature, Derivatives, Second, second_order},
};

use super::{
    Problem, Schedule, SignInput, Signs, Wants, check_directions, frontier, mean_and_error,
    sign_lanes,
};
use crate::{Error, Target, error::request};

/// The whole basis: as a constant if it fits into `lanes` lanes, otherwise fed part by part.
pub(super) fn exact(
    p: &mut Problem,
    wants: Wants,
    signs: Signs,
    lanes: usize,
    outputs: &mut Vec<(String, Id)>,
) -> Result<Schedule, Error> {
    if !wants.diagonal && p.target != Target::EveryProb && narrow(p, wants, lanes, outputs)? {
        return Ok(Schedule::Once);
    }
    // A file has no one to feed it: all at once.
    let fits = check_directions(p.dimension, fixed_rows(p.rows()), p.dimension).is_ok();
    let whole = (p.dimension <= lanes && fits) || signs != Signs::Fed;
    let count = if whole { p.dimension } else { lanes };
    let (x, f, rows) = (p.x, p.f, p.rows());
    let mut b = Build::new(&mut p.graph);
    let directions = if whole {
        let basis = basis_lanes(&mut b, x, p.dimension)?;
        b.declare_lanes(basis, x)?
    } else {
        let mut fact = b.fact(x).clone();
        if fact.depends_on_batch() {
            fact.shape[0] = Dim::from(1);
        }
        fact.shape.insert(0, Dim::from(count));
        let fed = b.graph_mut().input("directions", fact);
        b.declare_lanes(fed, x)?
    };
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
    let mut b = Build::new(&mut p.graph);
    if !whole {
        outputs.push(("slopes".to_owned(), slopes));
        let name = if wants.diagonal { "each" } else { "sum" };
        outputs.push((name.to_owned(), curvature));
        return Ok(Schedule::Basis(count));
    }
    // (D, N, …) → (N, …, D) → (N, …, x…)
    let rank = b.fact(slopes).rank();
    let perm: Vec<usize> = (1..rank).chain([0]).collect();
    let mut shape: Vec<Dim> = b.fact(f).shape.clone();
    debug_assert_eq!(shape[0], rows);
    shape.extend(b.fact(x).shape[1..].to_vec());
    if wants.gradient {
        let gradient = b.transpose(slopes, &perm)?;
        outputs.push(("gradient".to_owned(), b.reshape(gradient, &shape)?));
    }
    if wants.diagonal {
        if wants.laplacian {
            let sum = b.sum(curvature, &[0])?;
            let f_shape = b.fact(f).shape.clone();
            outputs.push(("laplacian".to_owned(), b.reshape(sum, &f_shape)?));
        }
        let diagonal = b.transpose(curvature, &perm)?;
        outputs.push(("diagonal".to_owned(), b.reshape(diagonal, &shape)?));
    } else {
        outputs.push(("laplacian".to_owned(), curvature));
    }
    Ok(Schedule::Once)
}

/// A is computed when a graph is built if that takes no more steps.
const WAIST_STEPS: usize = 1 << 31;

/// f(x) = g(Ax + b) with fewer rows in A than x has entries: Δf is the sum of second derivatives of g
/// along the rows of R, where `RᵀR` = `AAᵀ`. Tells whether it applied.
fn narrow(
    p: &mut Problem,
    wants: Wants,
    lanes: usize,
    outputs: &mut Vec<(String, Id)>,
) -> Result<bool, Error> {
    let Some(waist) = frontier::affine_waist(&p.graph, p.f, p.x)? else { return Ok(false) };
    let fact = p.graph.fact(waist).clone();
    let Some((rows, rest)) = fact.shape.split_first() else { return Ok(false) };
    if *rows != p.rows() || rest.iter().any(|d| d.depends_on_batch()) {
        return Ok(false);
    }
    let shape: Vec<usize> = rest.iter().map(|d| d.at(0)).collect();
    let width: usize = shape.iter().product();
    if width >= p.dimension || width > lanes || p.dimension > 4 * super::EXACT_LIMIT {
        return Ok(false);
    }
    if check_directions(p.dimension, fixed_rows(p.rows()), p.dimension).is_err() {
        return Ok(false);
    }
    let mut scratch = p.graph.clone();
    let mut b = Build::new(&mut scratch);
    let basis = basis_lanes(&mut b, p.x, p.dimension)?;
    let basis = b.declare_lanes(basis, p.x)?;
    let Some(columns) = diff::jvp(&mut b, &[waist], &Derivatives::from([(p.x, basis)]))?[0] else {
        return Ok(false);
    };
    // They depend on nothing that is fed, unless the map mixes other inputs in.
    let fed: Vec<Id> = scratch.inputs().into_iter().map(|(_, id)| id).collect();
    let nodes = scratch.ancestors(&[columns], &[]);
    if fed.iter().any(|&id| nodes.contains(&scratch.node_index(id)))
        || nodes.iter().any(|&n| {
            let outs = &scratch.nodes()[n].outs;
            outs.iter().any(|&o| scratch.fact(o).at(1).len() > super::DIRECTION_LIMIT)
        })
        || scratch.steps(&nodes, 1) > WAIST_STEPS
    {
        return Ok(false);
    }
    let columns = scratch.eval(&[columns], &HashMap::new(), 1)?.swap_remove(0);
    let columns = columns.as_float()?.clone();
    if columns.len() != p.dimension * width {
        return Ok(false);
    }
    let columns: Vec<f64> = columns.iter().copied().collect();
    let factor = gram_factor(&columns, p.dimension, width);
    let full: Vec<usize> = [width, 1].into_iter().chain(shape).collect();
    if wants.gradient {
        outputs.push(("gradient".to_owned(), p.gradient()?));
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
    outputs.push(("laplacian".to_owned(), laplacian));
    Ok(true)
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

/// The standard basis of the input's space as lanes, the same for every sample.
fn basis_lanes(b: &mut Build<'_>, x: Id, dimension: usize) -> Result<Id, OpError> {
    let fact = b.fact(x).clone();
    let rows = fixed_rows(fact.shape[0]);
    check_directions(dimension, rows, dimension)?;
    let mut values = vec![0.0; dimension * rows * dimension];
    for k in 0..dimension {
        for row in 0..rows {
            values[(k * rows + row) * dimension + k] = 1.0;
        }
    }
    let shape: Vec<usize> =
        [dimension, rows].into_iter().chain(fact.shape[1..].iter().map(|d| d.at(0))).collect();
    Ok(b.graph_mut().constant(Tensor::floats(&shape, values)?))
}

/// Random signs v: mean vᵀHv for the trace, mean v⊙Hv for the diagonal.
pub(super) fn hutchinson(
    p: &mut Problem,
    wants: Wants,
    count: usize,
    signs: Signs,
    outputs: &mut Vec<(String, Id)>,
) -> Result<Option<SignInput>, Error> {
    if wants.gradient {
        outputs.push(("gradient".to_owned(), p.gradient()?));
    }
    if wants.diagonal {
        p.scalar_target("a diagonal")?;
    }
    let (x, f) = (p.x, p.f);
    let mut b = Build::new(&mut p.graph);
    let (v, input) = sign_lanes(&mut b, "signs", x, count, signs)?;
    let draws = if wants.diagonal {
        let product = match diff::hvp(&mut b, f, x, v)? {
            Some(product) => b.mul(v, product)?,
            None => b.scale(v, 0.0)?,
        };
        let sum = b.sum_lanes(product)?;
        outputs.push(("diagonal".to_owned(), b.scale(sum, 1.0 / count as f64)?));
        let axes: Vec<usize> = (1..b.fact(product).rank()).collect();
        let totals = b.sum(product, &axes)?;
        let shape = b.fact(f).shape.clone();
        let totals = b.reshape(totals, &shape)?;
        Some(b.stacked(totals)?)
    } else {
        let mode = if wants.stderr { Curvature::Each } else { Curvature::Sum };
        let seeds = HashMap::from([(x, Second::along(v))]);
        let second = second_order(&mut b, &[f], &seeds, mode)?[0];
        match (second.and_then(|s| s.curvature), mode) {
            (Some(sum), Curvature::Sum) => {
                outputs.push(("laplacian".to_owned(), b.scale(sum, 1.0 / count as f64)?));
                None
            }
            (Some(each), Curvature::Each) => Some(b.stacked(each)?),
            (None, _) => {
                let zeros = b.zeros_like(f)?;
                outputs.push(("laplacian".to_owned(), zeros));
                if wants.stderr {
                    outputs.push(("stderr".to_owned(), zeros));
                }
                None
            }
        }
    };
    if let Some(draws) = draws {
        let mut b = Build::new(&mut p.graph);
        let (mean, error) = mean_and_error(&mut b, draws, count)?;
        if wants.laplacian {
            outputs.push(("laplacian".to_owned(), mean));
        }
        if let (true, Some(error)) = (wants.stderr, error) {
            outputs.push(("stderr".to_owned(), error));
        }
    }
    Ok(input)
}

/// A graph of products with the Hessian, for `products` directions in three runs.
pub(super) fn hutch_plus_plus(
    p: &mut Problem,
    wants: Wants,
    products: usize,
    outputs: &mut Vec<(String, Id)>,
) -> Result<Schedule, Error> {
    p.scalar_target("Hutch++")?;
    if wants.diagonal {
        return Err(request(
            "Hutch++ estimates the trace; for the diagonal use hutchinson or exact",
        ));
    }
    if wants.gradient {
        outputs.push(("gradient".to_owned(), p.gradient()?));
    }
    let lanes = products / 3;
    let mut b = Build::new(&mut p.graph);
    let mut fact = b.fact(p.x).clone();
    fact.shape.insert(0, Dim::from(lanes));
    let fed = b.graph_mut().input("directions", fact);
    let directions = b.declare_lanes(fed, p.x)?;
    let product = match diff::hvp(&mut b, p.f, p.x, directions)? {
        Some(product) => b.stacked(product)?,
        None => b.scale(directions, 0.0)?,
    };
    outputs.push(("products".to_owned(), product));
    Ok(Schedule::HutchPlusPlus(lanes))
}
