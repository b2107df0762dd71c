//! Random signs in the space of logits that are piecewise affine in the input.

use std::sync::Arc;

use taste_choice::{Arguments, Choice};
use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::functions;

use super::{
    Cut, Job, Once, PROBES, Problem, Schedule, SignInput,
    jacobian::{pull, slope_and_bend},
    mean_and_error, sign_lanes,
};
use crate::{
    Accuracy, Error, LaplacianKind, LaplacianMethod, Parts,
    error::request,
    laplacian::{COUNT, Rule, is_count},
    target::{SoftmaxCurvature, row_sum},
};

pub(super) const KIND: &LaplacianKind = &LaplacianKind {
    choice: Choice {
        name: "probe",
        usage: "probe[:M]",
        about: "random signs in M directions of the output: unbiased for piecewise affine logits",
    },
    rule: &Probe,
};

impl LaplacianMethod {
    /// Random signs in the space of logits: unbiased where the logits are piecewise affine.
    pub const fn probe(probes: usize) -> Self {
        Self::new(KIND, Some(probes))
    }
}

/// Probes of a name without a number.
const FEW: usize = 2;

struct Probe;

impl Rule for Probe {
    fn read(&self, arguments: &mut Arguments<'_>) -> Result<Option<usize>, taste_choice::Error> {
        Ok(arguments.word_as("M", COUNT, is_count)?.or(Some(FEW)))
    }

    fn accuracy(&self, count: Option<usize>) -> Accuracy {
        Accuracy::Random { draws: count.unwrap_or(FEW) }
    }

    fn needs_affine_body(&self) -> bool {
        true
    }

    fn examples(&self, _width: usize) -> Vec<Option<usize>> {
        vec![Some(PROBES)]
    }

    fn cost(&self, _p: &Problem, count: Option<usize>) -> String {
        format!("unbiased, with {} probes in the space of the output", count.unwrap_or(FEW))
    }

    fn suits(&self, p: &Problem) -> Option<(Option<usize>, String)> {
        let Cut::Logits(_) = p.cut else { return None };
        let reason = format!(
            "the body is piecewise affine and the output has {} entries: probes in their space",
            p.head.width
        );
        Some((Some(PROBES), reason))
    }

    fn obstacle(&self, p: &Problem, _count: Option<usize>) -> Option<String> {
        match &p.cut {
            Cut::Smooth(why) => Some(why.clone()),
            Cut::Flat => Some("there is no curvature to estimate".to_owned()),
            Cut::Logits(_) => None,
        }
    }

    fn build(
        &self,
        p: &mut Problem,
        job: &Job,
        count: Option<usize>,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Schedule>, Error> {
        let count = count.unwrap_or(FEW);
        if p.target.is_every_class() {
            let method = LaplacianMethod::probe(count).to_string();
            return Err(Error::EveryClass { classes: p.head.width, method });
        }
        let Cut::Logits(z) = p.cut else {
            return Err(request("probes need logits that are piecewise affine"));
        };
        let signs = match p.target.softmax_curvature() {
            Some(curvature) => {
                let weights = Weights::new(p, z, curvature)?;
                by_covariance(p, job, z, &weights, count, parts)?
            }
            None => any_head(p, job, z, count, parts)?,
        };
        Ok(Arc::new(Once { signs }))
    }
}

/// Δf = `own·‖Jᵀ(e_k` − p)‖² − spread·V for a function of class probabilities.
struct Weights {
    /// What multiplies the square of the class's own row, and the cotangent at z of that row, `e_k` − p.
    own: Option<(Id, Id)>,
    /// What multiplies V.
    spread: Id,
}

impl Weights {
    fn new(p: &mut Problem, z: Id, curvature: SoftmaxCurvature) -> Result<Self, Error> {
        let (rows, head, class) = (p.rows(), p.head, p.target.class());
        let mut b = Build::new(&mut p.graph);
        if curvature == SoftmaxCurvature::LogPartition {
            let one = b.scalar(1.0);
            return Ok(Self { own: None, spread: b.expand(one, &[rows])? });
        }
        let probabilities = head.probabilities(&mut b)?;
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
        Ok(Self { own: Some((p.f, cotangent)), spread: p.f })
    }

    /// f's second derivatives from squared rows, entry by entry (N × D) or summed up (N): those of the class and those
    /// that V is the mean of.
    fn combine(&self, b: &mut Build<'_>, own: Option<Id>, spread: Id) -> Result<Id, OpError> {
        let (rows, by_entry) = (b.fact(spread).shape[0], b.fact(spread).rank() == 2);
        let column = |b: &mut Build<'_>, v: Id| -> Result<Id, OpError> {
            if by_entry { b.reshape(v, &[rows, Dim::from(1)]) } else { Ok(v) }
        };
        let weight = column(b, self.spread)?;
        let minus = b.mul(spread, weight)?;
        match (own, self.own) {
            (Some(own), Some((weight, _))) => {
                let weight = column(b, weight)?;
                let plus = b.mul(own, weight)?;
                b.sub(plus, minus)
            }
            _ => b.neg(minus),
        }
    }
}

/// V̂ = mean ‖Jᵀξ‖² with ξ = √p⊙ε − p⟨√p, ε⟩ and ε random signs: cov ξ = diag p − ppᵀ, so V̂ is unbiased,
/// and so is every entry of (Jᵀξ)².
fn by_covariance(
    p: &mut Problem,
    job: &Job,
    z: Id,
    weights: &Weights,
    count: usize,
    parts: &mut Parts,
) -> Result<Option<SignInput>, Error> {
    let (wants, rows, d) = (job.wants, p.rows(), p.dimension);
    let (own, drawn, input) = rows_of_probes(p, job, z, weights, count)?;
    let x_shape = p.graph.fact(p.x).shape.clone();
    if wants.gradient {
        parts.gradient = Some(match (own, weights.own) {
            (Some(row), Some((weight, _))) => {
                let mut b = Build::new(&mut p.graph);
                let weight = b.reshape(weight, &[rows, Dim::from(1), Dim::from(1)])?;
                let gradient = b.mul(row, weight)?;
                b.reshape(gradient, &x_shape)?
            }
            _ => p.gradient()?,
        });
    }
    let mut b = Build::new(&mut p.graph);
    let squares_own = match own {
        Some(row) => {
            let raised = p.metric.raise(&mut b, row, 2)?;
            let square = b.mul(row, raised)?;
            Some(b.reshape(square, &[rows, Dim::from(d)])?)
        }
        None => None,
    };
    if wants.diagonal {
        let raised = p.metric.raise(&mut b, drawn, 2)?;
        let squares = b.mul(drawn, raised)?;
        let sum = b.sum(squares, &[1])?;
        let spread = b.scale(sum, 1.0 / count as f64)?;
        let spread = b.reshape(spread, &[rows, Dim::from(d)])?;
        let diagonal = weights.combine(&mut b, squares_own, spread)?;
        parts.diagonal = Some(b.reshape(diagonal, &x_shape)?);
    }
    if wants.laplacian || wants.stderr {
        let lowered = p.metric.lower(&mut b, drawn, 2)?;
        let norms = functions::square_sum(&mut b, lowered, 2)?;
        let norms = b.reshape(norms, &[rows, Dim::from(count)])?;
        let draws = b.transpose(norms, &[1, 0])?;
        let (mean, error) = mean_and_error(&mut b, draws, count)?;
        if wants.laplacian {
            let own = squares_own.map(|s| row_sum(&mut b, s)).transpose()?;
            parts.laplacian = Some(weights.combine(&mut b, own, mean)?);
        }
        if let (true, Some(error)) = (wants.stderr, error) {
            parts.stderr = Some(b.mul(error, weights.spread)?);
        }
    }
    Ok(input)
}

/// Jᵀ(`e_k` − p) if the class has a weight of its own (N × 1 × D), and Jᵀξ for every probe (N × M × D).
fn rows_of_probes(
    p: &mut Problem,
    job: &Job,
    z: Id,
    weights: &Weights,
    count: usize,
) -> Result<(Option<Id>, Id, Option<SignInput>), Error> {
    let (x, head, dimension) = (p.x, p.head, p.dimension);
    let mut b = Build::new(&mut p.graph);
    let probabilities = head.probabilities(&mut b)?;
    let (epsilon, input) = sign_lanes(&mut b, probabilities, count, job.signs)?;
    let xi = xi(&mut b, probabilities, epsilon)?;
    let mut b = Build::new(&mut p.graph);
    let z_shape = b.fact(z).shape.clone();
    let lanes =
        |n: usize| -> Vec<Dim> { std::iter::once(Dim::from(n)).chain(z_shape.clone()).collect() };
    let xi = b.reshape(xi, &lanes(count))?;
    let Some((_, cotangent)) = weights.own else {
        let cotangents = b.declare_lanes(xi, z)?;
        return Ok((None, pull(&mut b, x, z, cotangents, dimension)?, input));
    };
    let own = b.reshape(cotangent, &lanes(1))?;
    let all = functions::concat(&mut b, &[own, xi], 0)?;
    let cotangents = b.declare_lanes(all, z)?;
    let pulled = pull(&mut b, x, z, cotangents, dimension)?;
    let mut b = Build::new(&mut p.graph);
    let own = functions::slice(&mut b, pulled, 1, 0, 1)?;
    Ok((Some(own), functions::slice(&mut b, pulled, 1, 1, count)?, input))
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
fn any_head(
    p: &mut Problem,
    job: &Job,
    z: Id,
    count: usize,
    parts: &mut Parts,
) -> Result<Option<SignInput>, Error> {
    let wants = job.wants;
    if wants.gradient {
        parts.gradient = Some(p.gradient()?);
    }
    let (rows, d, x, f) = (p.rows(), p.dimension, p.x, p.f);
    let mut b = Build::new(&mut p.graph);
    let (epsilon, input) = sign_lanes(&mut b, z, count, job.signs)?;
    let (_, bend) = slope_and_bend(&mut b, f, z, epsilon)?;
    let left = pull(&mut b, x, z, epsilon, d)?;
    let right = pull(&mut b, x, z, bend, d)?;
    let mut b = Build::new(&mut p.graph);
    let right = p.metric.raise(&mut b, right, 2)?;
    let product = b.mul(left, right)?;
    if wants.diagonal {
        let sum = b.sum(product, &[1])?;
        let mean = b.scale(sum, 1.0 / count as f64)?;
        let shape = b.fact(x).shape.clone();
        parts.diagonal = Some(b.reshape(mean, &shape)?);
    }
    if wants.laplacian || wants.stderr {
        let draws = b.sum(product, &[2])?;
        let draws = b.reshape(draws, &[rows, Dim::from(count)])?;
        let draws = b.transpose(draws, &[1, 0])?;
        let (mean, error) = mean_and_error(&mut b, draws, count)?;
        parts.laplacian = wants.laplacian.then_some(mean);
        parts.stderr = error.filter(|_| wants.stderr);
    }
    Ok(input)
}
