//! Components of what the model answers: at a sample, and after a step toward the training data.

use ndarray::{Array1, Array2, Axis};
use taste_engine::Answer;
use taste_graph::{Build, Id, OpError};
use taste_ops::functions;

use super::{
    columns::{log_length, log_of},
    density::stored,
};

/// p, log p and the likeliest class of logits (N × K).
#[derive(Clone, Copy, Debug)]
pub(super) struct Softmax {
    pub(super) p: Id,
    log_p: Id,
    /// One at the likeliest class.
    pub(super) likeliest: Id,
}

impl Softmax {
    pub(super) fn of(b: &mut Build<'_>, logits: Id) -> Result<Self, OpError> {
        Ok(Self {
            p: functions::softmax(b, logits, 1)?,
            log_p: functions::log_softmax(b, logits, 1)?,
            likeliest: functions::first_max(b, logits, 1)?,
        })
    }
}

/// The residuals of a linear head, with s the score of the features and w̃ its weights, both where features are white.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadResiduals {
    /// `p_c(‖w̃_c − w̄‖² − V + s·(w̃_c − w̄))` for every class: N × K.
    pub(super) probabilities: Id,
    /// V + s·w̄: N × 1.
    pub(super) energy: Id,
}

impl HeadResiduals {
    /// Everything is taken relative to the likeliest class k, so that residuals of a sure answer are no rounding: with
    /// `m = w̄ − w̃_k = Σ_{c≠k} p_c(w̃_c − w̃_k)`, `‖w̃_c − w̄‖² = ‖w̃_c − w̃_k‖² − 2(w̃_c − w̃_k)·m + ‖m‖²`.
    pub(super) fn build(
        b: &mut Build<'_>,
        softmax: &Softmax,
        s: Id,
        weights: &Array2<f64>,
    ) -> Result<Self, OpError> {
        let gram = weights.dot(&weights.t());
        let lengths = gram.diag().to_owned();
        let distances = Array2::from_shape_fn(gram.dim(), |(i, j)| {
            (lengths[i] + lengths[j] - 2.0 * gram[[i, j]]).max(0.0)
        });
        let turned = stored(b, &weights.t().as_standard_layout().into_owned())?;
        let (weights, distances) = (stored(b, weights)?, stored(b, &distances)?);
        let Softmax { p, likeliest, .. } = *softmax;
        let others = b.formula([p, likeliest], |[p, k]| p * (1.0 - k))?;
        let rest = b.sum(others, &[1])?;
        let own = functions::matmul(b, likeliest, weights)?;
        let mixed = functions::matmul(b, others, weights)?;
        let m = b.formula([mixed, rest, own], |[mixed, rest, own]| mixed - rest * own)?;
        let length = functions::square_sum(b, m, 1)?;
        let from_own = functions::matmul(b, likeliest, distances)?;
        // (w̃_c − w̃_k)·y for every class.
        let mut along = |y: Id| -> Result<Id, OpError> {
            let all = functions::matmul(b, y, turned)?;
            let of_own = b.formula([own, y], |[own, y]| (own * y).sum(&[1]))?;
            b.sub(all, of_own)
        };
        let (along_m, along_s) = (along(m)?, along(s)?);
        let squares = b.formula([from_own, along_m, length, likeliest], |[d, a, m, k]| {
            ((d - 2.0 * a) * (1.0 - k) + m).then(functions::relu)
        })?;
        let s_m = b.formula([s, m], |[s, m]| (s * m).sum(&[1]))?;
        let v = b.formula([p, squares], |[p, squares]| (p * squares).sum(&[1]))?;
        let probabilities = b
            .formula([p, squares, v, along_s, s_m, likeliest], |[p, q, v, a, sm, k]| {
                p * (q - v + a * (1.0 - k) - sm)
            })?;
        let energy = b.formula([v, s, own, s_m], |[v, s, own, sm]| v + (s * own).sum(&[1]) + sm)?;
        Ok(Self { probabilities, energy })
    }
}

/// Doubt of an answer without a linear head: the logarithm of what the other classes have, or of the doubt of all labels.
pub(super) fn doubt(b: &mut Build<'_>, answer: Answer, values: Id) -> Result<Option<Id>, OpError> {
    let sum = match answer {
        Answer::Numbers => return Ok(None),
        Answer::Classes | Answer::Binary => {
            let Softmax { p, likeliest, .. } = Softmax::of(b, values)?;
            b.formula([p, likeliest], |[p, k]| (p * (1.0 - k)).sum(&[1]))?
        }
        Answer::Labels => {
            let p = functions::sigmoid(b, values)?;
            b.formula([p], |[p]| (p * (1.0 - p)).sum(&[1]))?
        }
    };
    Ok(Some(log_of(b, sum)?))
}

/// −log Σ exp z: N × 1.
pub(super) fn energy(b: &mut Build<'_>, logits: Id) -> Result<Id, OpError> {
    let Softmax { log_p, likeliest, .. } = Softmax::of(b, logits)?;
    // log Σ exp z = z_k − log p_k for every k.
    b.formula([logits, log_p, likeliest], |[z, log_p, k]| ((log_p - z) * k).sum(&[1]))
}

/// How far the answer moved, in a basis in which a change that is the same for all classes is none: N × M.
pub(super) fn drift(
    b: &mut Build<'_>,
    answer: Answer,
    [values, moved]: [Id; 2],
    deviations: &Array1<f64>,
) -> Result<Id, OpError> {
    let difference = b.sub(moved, values)?;
    let basis = match answer {
        Answer::Classes | Answer::Binary => without_mean(b.fact(values).shape[1].at(1)),
        Answer::Labels => return Ok(difference),
        Answer::Numbers => Array2::from_diag(&inverses(deviations)),
    };
    let basis = stored(b, &basis)?;
    functions::matmul(b, difference, basis)
}

/// Outputs in deviations from their means: N × K.
pub(super) fn standardised(
    b: &mut Build<'_>,
    values: Id,
    (mean, deviations): &(Array1<f64>, Array1<f64>),
) -> Result<Id, OpError> {
    let mean = stored(b, &mean.clone().insert_axis(Axis(0)))?;
    let inverse = stored(b, &inverses(deviations).insert_axis(Axis(0)))?;
    b.formula([values, mean, inverse], |[f, mean, inverse]| (f - mean) * inverse)
}

/// One over the deviation of every output; zero for one that does not vary.
fn inverses(deviations: &Array1<f64>) -> Array1<f64> {
    deviations.mapv(|d| if d > 1e-30 { 1.0 / d } else { 0.0 })
}

/// log ‖drift‖.
pub(super) fn drift_length(b: &mut Build<'_>, drift: Id) -> Result<Id, OpError> {
    log_length(b, drift)
}

/// log KL(p(x) ‖ p(x′)) of classes, or summed over labels.
pub(super) fn divergence(
    b: &mut Build<'_>,
    answer: Answer,
    [values, moved]: [Id; 2],
) -> Result<Option<Id>, OpError> {
    let kl = match answer {
        Answer::Numbers => return Ok(None),
        Answer::Classes | Answer::Binary => {
            let (at, after) = (Softmax::of(b, values)?, Softmax::of(b, moved)?);
            let costs = costs(b, [at.p, after.p], [at.log_p, after.log_p])?;
            let far = b.sum(costs, &[1])?;
            let (near, is_near) = near_divergence(b, at.p, [values, moved])?;
            b.formula([near, far, is_near], |[near, far, is]| near * is + far * (1.0 - is))?
        }
        Answer::Labels => {
            // Both answers of every label.
            let mut total = None;
            for sign in [1.0, -1.0] {
                let (z, after) = (b.scale(values, sign)?, b.scale(moved, sign)?);
                let p = [functions::sigmoid(b, z)?, functions::sigmoid(b, after)?];
                let logs = [log_sigmoid(b, z)?, log_sigmoid(b, after)?];
                let costs = costs(b, p, logs)?;
                let term = b.sum(costs, &[1])?;
                total = Some(match total {
                    Some(sum) => b.add(sum, term)?,
                    None => term,
                });
            }
            match total {
                Some(sum) => sum,
                None => return Ok(None),
            }
        }
    };
    Ok(Some(log_of(b, kl)?))
}

/// KL of answers whose logits move by d, by at most ten beyond their mean: log(1 + Σ p φ(d − Σ p d)), φ(d) = e^d − 1 − d. It
/// has the digits that the differences of logits have, which those of logarithms of probabilities do not. Returns it, and
/// one where it holds.
fn near_divergence(
    b: &mut Build<'_>,
    p: Id,
    [values, moved]: [Id; 2],
) -> Result<(Id, Id), OpError> {
    const LARGEST: f64 = 10.0;
    const SMALL: f64 = 0.1;
    let d = b.sub(moved, values)?;
    let d = b.formula([d, p], |[d, p]| d - (p * d).sum(&[1]))?;
    let size = functions::abs(b, d)?;
    let first = functions::first_max(b, size, 1)?;
    let largest = b.formula([size, first], |[size, first]| (size * first).sum(&[1]))?;
    let limit = b.scalar(LARGEST);
    let is_near = functions::at_most(b, largest, limit)?;
    let d = b.mul(d, is_near)?;
    let (series, near) = series(b, d)?;
    let sum = b.formula([p, d, near, series], |[p, d, near, series]| {
        let far = d * (1.0 - near);
        // The series is too small to be added to one.
        let beyond = far.then(functions::exp) - 1.0 - far;
        (p * (series + beyond)).sum(&[1])
    })?;
    // log(1 + s) = s − s²/2 + s³/3 − … keeps the digits of a small s.
    let limit = b.scalar(SMALL);
    let small = functions::at_most(b, sum, limit)?;
    let kl = b.formula([sum, small], |[sum, small]| {
        let s = sum * small;
        let tail = 1.0 / 3.0 - s * 0.25 + s * s * 0.2 - s * s * s * (1.0 / 6.0);
        s - s * s * 0.5 + s * s * s * tail + (sum * (1.0 - small) + 1.0).then(functions::log)
    })?;
    Ok((kl, is_near))
}

/// e^d − 1 − d as a series where |d| is at most one half, zero elsewhere, and one where it is.
fn series(b: &mut Build<'_>, d: Id) -> Result<(Id, Id), OpError> {
    const NEAR: f64 = 0.5;
    let limit = b.scalar(NEAR);
    let size = functions::abs(b, d)?;
    let near = functions::at_most(b, size, limit)?;
    let small = b.mul(d, near)?;
    // d²/2 (1 + d/3 (1 + d/4 (1 + …)))
    let series = b.formula([small], |[d]| {
        let nested =
            (4..=9).rev().fold(d * 0.0 + 1.0, |rest, k| rest * d * (1.0 / f64::from(k)) + 1.0);
        d.square() * 0.5 * (nested * d * (1.0 / 3.0) + 1.0)
    })?;
    Ok((series, near))
}

/// p(e^δ − 1 − δ) with δ = log p′ − log p, which KL is the sum of, as Σp′ = Σp: no terms cancel. Near 0 it is a series;
/// elsewhere it is p′ − p − pδ, as e^δ may overflow where p is zero.
fn costs(b: &mut Build<'_>, [p, after]: [Id; 2], logs: [Id; 2]) -> Result<Id, OpError> {
    let change = b.sub(logs[1], logs[0])?;
    let (series, near) = series(b, change)?;
    b.formula([p, after, change, near, series], |[p, after, d, near, series]| {
        p * series + (after - p - p * d) * (1.0 - near)
    })
}

/// log σ(z) = −relu(−z) − log(1 + e^{−|z|}).
fn log_sigmoid(b: &mut Build<'_>, z: Id) -> Result<Id, OpError> {
    b.formula([z], |[z]| {
        let soft = (z.then(functions::abs) * -1.0).then(functions::exp) + 1.0;
        -((-z).then(functions::relu)) - soft.then(functions::log)
    })
}

/// An orthonormal basis, one column each, of the vectors whose entries sum to zero (Helmert).
pub(super) fn without_mean(size: usize) -> Array2<f64> {
    Array2::from_shape_fn((size, size.saturating_sub(1)), |(i, j)| {
        let n = (j + 1) as f64;
        let scale = 1.0 / (n * (n + 1.0)).sqrt();
        match i.cmp(&(j + 1)) {
            std::cmp::Ordering::Less => scale,
            std::cmp::Ordering::Equal => -n * scale,
            std::cmp::Ordering::Greater => 0.0,
        }
    })
}

/// The directions of the features that a head tells classes apart by: an orthonormal basis, one column each.
pub(super) fn read_directions(weights: &Array2<f64>) -> Option<Array2<f64>> {
    let (classes, width) = weights.dim();
    if classes > width {
        return Some(Array2::eye(width));
    }
    let mean = weights.mean_axis(Axis(0))?;
    let basis = taste_stats::linear::row_space(&(weights - &mean))?;
    (basis.ncols() > 0).then_some(basis)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use taste_graph::{Dim, Fact, Graph, Tensor};

    use super::*;

    /// log KL of answers at samples and after their step, one row each.
    fn run(answer: Answer, at: &Array2<f64>, after: &Array2<f64>) -> Vec<f64> {
        let (count, width) = at.dim();
        let mut graph = Graph::new();
        let shape = || Fact::float(vec![Dim::BATCH, Dim::from(width)]);
        let (x, y) = (graph.input("at", shape()), graph.input("after", shape()));
        let kl = divergence(&mut Build::new(&mut graph), answer, [x, y])
            .expect("builds")
            .expect("a divergence");
        let values = |of: &Array2<f64>| {
            Tensor::floats(&[count, width], of.iter().copied().collect()).expect("values")
        };
        let feeds = HashMap::from([(x, values(at)), (y, values(after))]);
        let found = graph.eval(&[kl], &feeds, count).expect("runs");
        found[0].as_float().expect("floats").iter().copied().collect()
    }

    #[test]
    fn divergences_are_numbers_for_answers_that_are_as_sure_as_can_be() {
        // A doubtful answer that stays, one that turns, one so sure of one class that the other has no chance at all.
        let at = ndarray::arr2(&[[0.2, 0.0], [3.0, -3.0], [2000.0, -2000.0]]);
        let after = ndarray::arr2(&[[0.2001, 0.0], [-3.0, 3.0], [-1.0, 1.0]]);
        let p = |z: f64| 1.0 / (1.0 + (-z).exp());
        let log_p = |z: f64| -((-z).exp().ln_1p());
        let kl = |a: f64, b: f64| p(a) * (log_p(a) - log_p(b)) + p(-a) * (log_p(-a) - log_p(-b));
        let found = run(Answer::Classes, &at, &after);
        assert!((found[1].exp() - kl(6.0, -6.0)).abs() < 1e-9, "{found:?}");
        assert!((found[2].exp() + log_p(-2.0)).abs() < 1e-9, "{found:?}");
        let slope = p(0.2) * p(-0.2);
        assert!((found[0].exp() / (0.5 * slope * 1e-8) - 1.0).abs() < 1e-3, "{found:?}");
        let found = run(Answer::Labels, &at, &after);
        let want = kl(3.0, -3.0) + kl(-3.0, 3.0);
        assert!((found[1].exp() - want).abs() < 1e-9, "{found:?}");
        assert!((found[2].exp() + 2.0 * log_p(-1.0)).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn an_output_that_never_varied_does_not_count() {
        let found = inverses(&ndarray::arr1(&[2.0, 0.0]));
        assert_eq!(found.to_vec(), [0.5, 0.0]);
    }
}
