//! A piecewise affine body under a smooth head: with J = ∂z/∂x constant around x, the Hessian of
//! f = h(z(x)) is Jᵀ·∇²h·J.

use taste_graph::{
    Build, Dim, Id, OpError, Tensor,
    diff::{self, Derivatives},
};
use taste_ops::functions;

use super::{Cut, Problem, SignInput, Signs, Wants, check_directions, mean_and_error, sign_lanes};
use crate::{Error, Target, error::request, target::row_sum};

/// The values between body and head.
fn logits(p: &mut Problem) -> Result<Id, Error> {
    match p.cut {
        Cut::Logits(z) => Ok(z),
        _ => Err(request("the closed form needs logits that are piecewise affine")),
    }
}

/// Whether h(z + c) = h(z) for a common offset c of all logits.
fn is_shift_invariant(target: Target) -> bool {
    matches!(target, Target::Prob(_) | Target::LogProb(_) | Target::Entropy | Target::EveryProb)
}

/// Whether second derivatives of h ignore a common offset of all logits.
fn ignores_offset(target: Target) -> bool {
    is_shift_invariant(target) || target == Target::Energy
}

/// Up to this many products are built side by side for inputs with space, each on arrays of the model's
/// own shapes: engines keep those in the layout of their convolutions and in cache.
const SIDE_BY_SIDE: usize = 32;

/// Rows of the Jacobian as a stack (N × K × D): products of cotangents at z, in lanes, with J.
fn pull(b: &mut Build<'_>, x: Id, z: Id, cotangents: Id, dimension: usize) -> Result<Id, OpError> {
    let (rows, count) = (b.fact(x).shape[0], b.lanes(cotangents).unwrap_or(1));
    if b.fact(x).rank() > 2 && count <= SIDE_BY_SIDE {
        let mut parts = Vec::with_capacity(count);
        for lane in 0..count {
            let ct = b.lane(cotangents, lane)?;
            let row = match diff::vjp(b, &Derivatives::from([(z, ct)]), &[x])?[0] {
                Some(row) => row,
                None => b.zeros_like(x)?,
            };
            parts.push(b.reshape(row, &[rows, Dim::from(1), Dim::from(dimension)])?);
        }
        return functions::concat(b, &parts, 1);
    }
    let stack = match diff::vjp(b, &Derivatives::from([(z, cotangents)]), &[x])?[0] {
        Some(stack) => b.stacked(stack)?,
        None => return Err(OpError::invalid("the output does not depend on the input")),
    };
    // (K, N, x…) → (N, K, D)
    let mut plain = Build::new(b.graph_mut());
    let flat = plain.reshape(stack, &[Dim::from(count), rows, Dim::from(dimension)])?;
    plain.transpose(flat, &[1, 0, 2])
}

/// ∂z/∂x for every logit: N × K × D.
pub(super) fn jacobian(p: &mut Problem) -> Result<Id, Error> {
    let (x, z, dimension) = (p.x, p.head.logits, p.dimension);
    let mut b = Build::new(&mut p.graph);
    let units = unit_cotangents(&mut b, z, false)?;
    Ok(pull(&mut b, x, z, units, dimension)?)
}

/// One cotangent for every entry of z: the identity; or, `relative` to the last entry, one fewer.
fn unit_cotangents(b: &mut Build<'_>, z: Id, relative: bool) -> Result<Id, OpError> {
    let fact = b.fact(z).clone();
    let shape: Vec<usize> = fact.shape[1..].iter().map(|d| d.at(1)).collect();
    let width: usize = shape.iter().product();
    let rows = fact.shape[0].as_fixed().map_or(1, |r| usize::try_from(r).unwrap_or(1));
    check_directions(width, rows, width)?;
    let lanes = width - usize::from(relative);
    let mut values = vec![0.0; lanes * rows * width];
    for (i, row) in values.chunks_exact_mut(width).enumerate() {
        row[i / rows] = 1.0;
        if relative {
            row[width - 1] = -1.0;
        }
    }
    let full: Vec<usize> = [lanes, rows].into_iter().chain(shape).collect();
    let id = b.graph_mut().constant(Tensor::floats(&full, values)?);
    b.declare_lanes(id, z)
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

/// Σᵢⱼ Hᵢⱼ ⟨gᵢ, gⱼ⟩ over all entries of z, or over the `top` largest logits alone (the paper's shortcut
/// for many classes: biased).
pub(super) fn build(
    p: &mut Problem,
    wants: Wants,
    top: Option<usize>,
    score: Option<Id>,
    outputs: &mut Vec<(String, Id)>,
) -> Result<(), Error> {
    let z = logits(p)?;
    let top = top.filter(|k| *k < p.head.width);
    let (rows, d, width) = (p.rows(), p.dimension, p.head.width);
    if let (Some(k), Target::EveryProb) = (top, p.target) {
        return Err(request(format!(
            "closed-form:{k} leaves classes out; for every class use closed-form"
        )));
    }
    if wants.gradient && top.is_some() {
        outputs.push(("gradient".to_owned(), p.gradient()?));
    }
    if p.target == Target::EveryProb {
        return every_class(p, wants, z, score, outputs);
    }
    let stack = top.map(|k| top_cotangents(p, z, k)).transpose()?;
    let lanes = Dim::from(top.unwrap_or(width));
    let relative = match top {
        None if is_shift_invariant(p.target) && !wants.jacobian => Some(relative_jacobian(p, z)?),
        _ => None,
    };
    let mut b = Build::new(&mut p.graph);
    let units = match stack {
        Some(stack) => b.declare_lanes(stack, z)?,
        None => unit_cotangents(&mut b, z, false)?,
    };
    let jacobian = match relative {
        Some(rows) => rows,
        None => pull(&mut b, p.x, z, units, d)?,
    };
    // ∂h/∂z and the rows of ∇²h.
    let one = b.scalar(1.0);
    let ones = b.expand(one, &[rows])?;
    let slope = diff::vjp(&mut b, &Derivatives::from([(p.f, ones)]), &[z])?[0];
    let slope = slope.ok_or_else(|| request("the target does not depend on the input"))?;
    let bent = diff::jvp(&mut b, &[slope], &Derivatives::from([(z, units)]))?[0];
    let bent = bent.ok_or_else(|| request("the target has no curvature"))?;
    let bent = b.stacked(bent)?;
    let mut b = Build::new(&mut p.graph);
    let bent = b.reshape(bent, &[lanes, rows, Dim::from(width)])?;
    let mut hessian = b.transpose(bent, &[1, 0, 2])?;
    if let Some(stack) = stack {
        let columns = b.reshape(stack, &[lanes, rows, Dim::from(width)])?;
        let columns = b.transpose(columns, &[1, 2, 0])?;
        hessian = functions::matmul(&mut b, hessian, columns)?;
    }
    let centred = if top.is_none() && ignores_offset(p.target) {
        relative_to_likeliest(&mut b, p.head.logits, jacobian)?
    } else {
        jacobian
    };
    if wants.gradient && top.is_none() {
        let slope = b.reshape(slope, &[rows, Dim::from(1), Dim::from(width)])?;
        let rows = if is_shift_invariant(p.target) { centred } else { jacobian };
        let gradient = functions::matmul(&mut b, slope, rows)?;
        let shape = b.fact(p.x).shape.clone();
        outputs.push(("gradient".to_owned(), b.reshape(gradient, &shape)?));
    }
    if wants.diagonal {
        let product = functions::matmul(&mut b, hessian, centred)?;
        let terms = b.mul(product, centred)?;
        let diagonal = b.sum(terms, &[1])?;
        let flat = b.reshape(diagonal, &[rows, Dim::from(d)])?;
        if wants.laplacian {
            outputs.push(("laplacian".to_owned(), row_sum(&mut b, flat)?));
        }
        let shape = b.fact(p.x).shape.clone();
        outputs.push(("diagonal".to_owned(), b.reshape(flat, &shape)?));
    } else {
        let across = b.transpose(centred, &[0, 2, 1])?;
        let gram = functions::matmul(&mut b, centred, across)?;
        let terms = b.mul(hessian, gram)?;
        let count = top.unwrap_or(width);
        let flat = b.reshape(terms, &[rows, Dim::from(count * count)])?;
        outputs.push(("laplacian".to_owned(), row_sum(&mut b, flat)?));
    }
    Ok(())
}

/// Rows of ∂z/∂x relative to the last one, which is zero: one product fewer. N × K × D.
fn relative_jacobian(p: &mut Problem, z: Id) -> Result<Id, Error> {
    let (x, rows, dimension) = (p.x, p.rows(), p.dimension);
    let mut b = Build::new(&mut p.graph);
    let units = unit_cotangents(&mut b, z, true)?;
    let relative = pull(&mut b, x, z, units, dimension)?;
    let mut b = Build::new(&mut p.graph);
    let zero = b.scalar(0.0);
    let last = b.expand(zero, &[rows, Dim::from(1), Dim::from(dimension)])?;
    Ok(functions::concat(&mut b, &[relative, last], 1)?)
}

/// Rows of ∂z/∂x (N × K × D) relative to that of the likeliest class. Where a common offset of the logits does not matter, this
/// avoids cancellation: between large gradients, and in 1 − p of a class that is all but certain.
fn relative_to_likeliest(b: &mut Build<'_>, logits: Id, jacobian: Id) -> Result<Id, OpError> {
    let first = functions::first_max(b, logits, 1)?;
    let (rows, width) = (b.fact(first).shape[0], b.fact(first).shape[1]);
    let first = b.reshape(first, &[rows, Dim::from(1), width])?;
    let leading = functions::matmul(b, first, jacobian)?;
    b.sub(jacobian, leading)
}

/// `Δp_k` = `p_k(‖g_k` − ḡ‖² − V) and ∂_dd `p_k` for every class, with ḡ = Σ pᵢ gᵢ and V = Σ pᵢ‖gᵢ − ḡ‖². Only
/// differences of the gᵢ enter, so they are computed relative to the last class, whose row is zero, and then taken relative to
/// the likeliest.
fn every_class(
    p: &mut Problem,
    wants: Wants,
    z: Id,
    score: Option<Id>,
    outputs: &mut Vec<(String, Id)>,
) -> Result<(), Error> {
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
    if let Some(score) = score {
        let score = b.reshape(score, &[rows, dimension, Dim::from(1)])?;
        let along = functions::matmul(&mut b, off, score)?;
        let along = b.reshape(along, &[rows, width])?;
        outputs.push(("drift".to_owned(), b.mul(along, probabilities)?));
    }
    if wants.gradient {
        let gradient = b.mul(off, column)?;
        outputs.push(("gradient".to_owned(), b.reshape(gradient, &maps)?));
    }
    if wants.diagonal {
        let squares = b.square(off)?;
        let spread = functions::matmul(&mut b, row, squares)?;
        let bend = b.sub(squares, spread)?;
        let diagonal = b.mul(bend, column)?;
        outputs.push(("diagonal".to_owned(), b.reshape(diagonal, &maps)?));
    }
    if wants.laplacian {
        let squares = functions::square_sum(&mut b, off, 2)?;
        let norms = b.reshape(squares, &[rows, width])?;
        outputs.push(("laplacian".to_owned(), class_laplacians(&mut b, probabilities, norms)?));
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

/// The parts of a head made of class probabilities, for one class or a function of all of them.
struct ClassTarget {
    /// The probability that multiplies the square of the class's own row; absent for energy.
    own: Option<Id>,
    /// What multiplies V.
    spread: Id,
    /// The cotangent at z of the class's own row, `e_k` − p.
    cotangent: Option<Id>,
}

/// Δf = `own·‖Jᵀ(e_k` − p)‖² − spread·V: prob has (`p_k`, `p_k`), logprob (0, 1), energy (0, 1).
fn class_target(p: &mut Problem, z: Id) -> Result<ClassTarget, Error> {
    let rows = p.rows();
    let (target, head) = (p.target, p.head);
    let mut b = Build::new(&mut p.graph);
    let probabilities = head.probabilities(&mut b)?;
    match target {
        Target::Prob(class) => {
            let mask = match class {
                None => functions::first_max(&mut b, head.logits, 1)?,
                Some(k) => {
                    let mut row = vec![0.0; head.width];
                    row[k] = 1.0;
                    b.graph_mut().constant(Tensor::floats(&[1, head.width], row)?)
                }
            };
            let cotangent = b.sub(mask, probabilities)?;
            let shape = b.fact(z).shape.clone();
            let cotangent = b.reshape(cotangent, &shape)?;
            Ok(ClassTarget { own: Some(p.f), spread: p.f, cotangent: Some(cotangent) })
        }
        Target::LogProb(_) | Target::Energy => {
            let one = b.scalar(1.0);
            Ok(ClassTarget { own: None, spread: b.expand(one, &[rows])?, cotangent: None })
        }
        other => {
            Err(request(format!("this method applies to prob, logprob and energy, not {other}")))
        }
    }
}

/// f's second derivatives from squared rows: own (N × D, may be absent) and spread (N × D).
fn combine(
    b: &mut Build<'_>,
    parts: &ClassTarget,
    own: Option<Id>,
    spread: Id,
    rows: Dim,
) -> Result<Id, OpError> {
    let column = |b: &mut Build<'_>, v: Id| -> Result<Id, OpError> {
        if b.fact(spread).rank() == 2 { b.reshape(v, &[rows, Dim::from(1)]) } else { Ok(v) }
    };
    let weight = column(b, parts.spread)?;
    let minus = b.mul(spread, weight)?;
    match (own, parts.own) {
        (Some(own), Some(weight)) => {
            let weight = column(b, weight)?;
            let plus = b.mul(own, weight)?;
            b.sub(plus, minus)
        }
        _ => b.neg(minus),
    }
}

/// V̂ = mean ‖Jᵀξ‖² with ξ = √p⊙ε − p⟨√p, ε⟩ and ε random signs: cov ξ = diag p − ppᵀ, so V̂ is unbiased,
/// and so is every entry of (Jᵀξ)².
pub(super) fn probe(
    p: &mut Problem,
    wants: Wants,
    count: usize,
    signs: Signs,
    outputs: &mut Vec<(String, Id)>,
) -> Result<Option<SignInput>, Error> {
    if p.target == Target::EveryProb {
        return Err(request(format!(
            "probe:{count} estimates one class; for every class use closed-form"
        )));
    }
    if !matches!(p.target, Target::Prob(_) | Target::LogProb(_) | Target::Energy) {
        return probe_any(p, wants, count, signs, outputs);
    }
    let z = logits(p)?;
    let parts = class_target(p, z)?;
    let (rows, d, head) = (p.rows(), p.dimension, p.head);
    let mut b = Build::new(&mut p.graph);
    let probabilities = head.probabilities(&mut b)?;
    let (epsilon, input) = sign_lanes(&mut b, "signs", probabilities, count, signs)?;
    let xi = xi(&mut b, probabilities, epsilon)?;
    let mut plain = Build::new(b.graph_mut());
    let z_shape = plain.fact(z).shape.clone();
    let lanes =
        |n: usize| -> Vec<Dim> { std::iter::once(Dim::from(n)).chain(z_shape.clone()).collect() };
    let xi = plain.reshape(xi, &lanes(count))?;
    let own = parts.cotangent.map(|c| plain.reshape(c, &lanes(1))).transpose()?;
    let all = match own {
        Some(own) => functions::concat(&mut plain, &[own, xi], 0)?,
        None => xi,
    };
    let mut b = Build::new(&mut p.graph);
    let cotangents = b.declare_lanes(all, z)?;
    let pulled = pull(&mut b, p.x, z, cotangents, d)?;
    let mut b = Build::new(&mut p.graph);
    let extra = usize::from(own.is_some());
    let pick =
        |b: &mut Build<'_>, start: usize, len: usize| functions::slice(b, pulled, 1, start, len);
    if wants.gradient {
        let gradient = match (own, parts.own) {
            (Some(_), Some(weight)) => {
                let row = pick(&mut b, 0, 1)?;
                let weight = b.reshape(weight, &[rows, Dim::from(1), Dim::from(1)])?;
                let gradient = b.mul(row, weight)?;
                let shape = b.fact(p.x).shape.clone();
                b.reshape(gradient, &shape)?
            }
            _ => p.gradient()?,
        };
        outputs.push(("gradient".to_owned(), gradient));
    }
    let mut b = Build::new(&mut p.graph);
    let rows_xi = pick(&mut b, extra, count)?;
    let squares_own = match own {
        Some(_) => {
            let row = pick(&mut b, 0, 1)?;
            let square = b.square(row)?;
            Some(b.reshape(square, &[rows, Dim::from(d)])?)
        }
        None => None,
    };
    if wants.diagonal {
        let squares = b.square(rows_xi)?;
        let sum = b.sum(squares, &[1])?;
        let spread = b.scale(sum, 1.0 / count as f64)?;
        let spread = b.reshape(spread, &[rows, Dim::from(d)])?;
        let diagonal = combine(&mut b, &parts, squares_own, spread, rows)?;
        let shape = b.fact(p.x).shape.clone();
        outputs.push(("diagonal".to_owned(), b.reshape(diagonal, &shape)?));
    }
    if wants.laplacian || wants.stderr {
        let norms = functions::square_sum(&mut b, rows_xi, 2)?;
        let norms = b.reshape(norms, &[rows, Dim::from(count)])?;
        let draws = b.transpose(norms, &[1, 0])?;
        let (mean, error) = mean_and_error(&mut b, draws, count)?;
        let own = squares_own.map(|s| row_sum(&mut b, s)).transpose()?;
        if wants.laplacian {
            outputs.push(("laplacian".to_owned(), combine(&mut b, &parts, own, mean, rows)?));
        }
        if let (true, Some(error)) = (wants.stderr, error) {
            outputs.push(("stderr".to_owned(), b.mul(error, parts.spread)?));
        }
    }
    Ok(input)
}

/// √p⊙ε − p⟨√p, ε⟩ in lanes.
fn xi(b: &mut Build<'_>, p: Id, epsilon: Id) -> Result<Id, OpError> {
    let root = functions::sqrt(b, p)?;
    let first = b.mul(root, epsilon)?;
    let inner = b.sum(first, &[1])?;
    let second = b.mul(p, inner)?;
    let xi = b.sub(first, second)?;
    b.stacked(xi)
}

/// Any head: tr(JᵀHJ) = E ⟨Jᵀε, `JᵀHε`⟩ with ε random signs in the space of z, two products a probe.
fn probe_any(
    p: &mut Problem,
    wants: Wants,
    count: usize,
    signs: Signs,
    outputs: &mut Vec<(String, Id)>,
) -> Result<Option<SignInput>, Error> {
    let z = logits(p)?;
    if wants.gradient {
        outputs.push(("gradient".to_owned(), p.gradient()?));
    }
    let (rows, d, x, f) = (p.rows(), p.dimension, p.x, p.f);
    let mut b = Build::new(&mut p.graph);
    let (epsilon, input) = sign_lanes(&mut b, "signs", z, count, signs)?;
    let one = b.scalar(1.0);
    let ones = b.expand(one, &[rows])?;
    let slope = diff::vjp(&mut b, &Derivatives::from([(f, ones)]), &[z])?[0];
    let slope = slope.ok_or_else(|| request("the target does not depend on the input"))?;
    let bent = diff::jvp(&mut b, &[slope], &Derivatives::from([(z, epsilon)]))?[0];
    let bent = bent.ok_or_else(|| request("the target has no curvature"))?;
    let left = pull(&mut b, x, z, epsilon, d)?;
    let right = pull(&mut b, x, z, bent, d)?;
    let mut b = Build::new(&mut p.graph);
    let product = b.mul(left, right)?;
    if wants.diagonal {
        let sum = b.sum(product, &[1])?;
        let mean = b.scale(sum, 1.0 / count as f64)?;
        let shape = b.fact(x).shape.clone();
        outputs.push(("diagonal".to_owned(), b.reshape(mean, &shape)?));
    }
    if wants.laplacian || wants.stderr {
        let draws = b.sum(product, &[2])?;
        let draws = b.reshape(draws, &[rows, Dim::from(count)])?;
        let draws = b.transpose(draws, &[1, 0])?;
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
