//! Score, p-value and flag as a graph.

use ndarray::Array2;
use taste_graph::{Build, DType, Dim, Fact, Id, OpError, Tensor};
use taste_ops::functions;

use crate::{Aggregate, Tail, profile::RuleIds, profile::distance, residual::Residual};

/// The threshold is an input of the graph under this name while that is built, and a named constant of the file, so
/// that it can be changed there.
pub(crate) const THRESHOLD: &str = "taste.threshold";
/// The calibration scores, likewise.
pub(crate) const CALIBRATION: &str = "taste.calibration";

/// What is taken off the residuals: their means on held-out data.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    /// For every component.
    pub(crate) components: Vec<f64>,
    /// For the single residual.
    pub(crate) single: f64,
    /// For every entry of the map.
    pub(crate) map: Option<Vec<f64>>,
}

/// Residuals less their baseline.
pub(crate) struct Adjusted {
    /// N × C.
    pub(crate) components: Id,
    /// N.
    pub(crate) single: Id,
    /// N × …
    pub(crate) map: Option<Id>,
}

/// Takes the baseline off.
pub(crate) fn adjust(
    b: &mut Build<'_>,
    residual: &Residual,
    baseline: &Baseline,
) -> Result<Adjusted, OpError> {
    let shape = [1, baseline.components.len()];
    let means = Tensor::floats(&shape, baseline.components.clone())?;
    let means = b.graph_mut().constant(means);
    let components = b.sub(residual.components, means)?;
    let single = b.offset(residual.single, -baseline.single)?;
    let map = match (residual.map, &baseline.map) {
        (Some(map), Some(means)) => {
            let mut sizes: Vec<usize> = b.fact(map).shape.iter().map(|d| d.at(1)).collect();
            sizes[0] = 1;
            let means = b.graph_mut().constant(Tensor::floats(&sizes, means.clone())?);
            Some(b.sub(map, means)?)
        }
        _ => None,
    };
    Ok(Adjusted { components, single, map })
}

/// The parameters of the aggregate that are learnt.
pub(crate) struct Learnt {
    /// The middle of the scores, for two tails of a score that is never negative.
    pub(crate) centre: f64,
    /// The rule of the profile.
    pub(crate) rule: Option<crate::profile::Rule>,
}

/// One number for every sample, before the choice of a tail: N.
pub(crate) fn joined(
    b: &mut Build<'_>,
    aggregate: Aggregate,
    residual: &Residual,
    adjusted: &Adjusted,
    rule: Option<&crate::profile::Rule>,
) -> Result<Id, OpError> {
    let rows = b.fact(adjusted.single).shape[0];
    match (aggregate, rule) {
        (Aggregate::Profile { .. }, Some(rule)) => {
            let missing = || OpError::invalid("the profile has no features");
            let features = residual.features.ok_or_else(missing)?;
            let predicted = residual.predicted.ok_or_else(missing)?;
            let ids = constants(b, rule)?;
            distance(b, features, predicted, &ids)
        }
        (Aggregate::L2, _) => {
            let square = functions::square_sum(b, adjusted.components, 1)?;
            let norm = functions::sqrt(b, square)?;
            b.reshape(norm, &[rows])
        }
        (Aggregate::Max, _) => {
            let sizes = functions::abs(b, adjusted.components)?;
            let largest = functions::first_max(b, sizes, 1)?;
            let picked = b.mul(sizes, largest)?;
            let sum = b.sum(picked, &[1])?;
            b.reshape(sum, &[rows])
        }
        _ => Ok(adjusted.single),
    }
}

fn constants(b: &mut Build<'_>, rule: &crate::profile::Rule) -> Result<RuleIds, OpError> {
    let mut matrix = |rows: usize, values: Vec<f64>| -> Result<Id, OpError> {
        let shape = [rows, values.len() / rows];
        Ok(b.graph_mut().constant(Tensor::floats(&shape, values)?))
    };
    Ok(RuleIds {
        drift_scale: matrix(1, vec![rule.drift_scale])?,
        floors: rule.floors.map(|floors| matrix(1, floors.to_vec())).transpose()?,
        centre: matrix(1, rule.centre.to_vec())?,
        scale: matrix(1, rule.scale.to_vec())?,
        means: matrix(rule.means.nrows(), rule.means.iter().copied().collect())?,
        whitening: matrix(rule.whitening.nrows(), rule.whitening.iter().copied().collect())?,
    })
}

/// The score: larger is further out.
pub(crate) fn score(b: &mut Build<'_>, joined: Id, tail: Tail, centre: f64) -> Result<Id, OpError> {
    match tail {
        Tail::Upper => Ok(joined),
        Tail::TwoSided => {
            let off = b.offset(joined, -centre)?;
            functions::abs(b, off)
        }
    }
}

/// Sorted calibration scores in rows, so that a score is found by its row and its place therein.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    /// Ascending from row to row; filled up with the largest number there is.
    pub(crate) table: Array2<f32>,
    /// How many scores it holds.
    pub(crate) count: usize,
}

impl Lookup {
    /// Of scores in any order; those that are no number are the largest.
    pub(crate) fn new(scores: &[f32]) -> Self {
        let mut sorted: Vec<f32> =
            scores.iter().map(|s| if s.is_nan() { f32::MAX } else { s.min(f32::MAX) }).collect();
        sorted.sort_by(f32::total_cmp);
        let count = sorted.len();
        // At least one filler: then every finite score finds a row.
        let width = 1 + count.isqrt();
        let rows = (count + 1).div_ceil(width);
        sorted.resize(rows * width, f32::MAX);
        let table = Array2::from_shape_vec((rows, width), sorted).expect("rows × width");
        Self { table, count }
    }

    /// The scores, ascending.
    pub(crate) fn scores(&self) -> Vec<f32> {
        lifted(self.table.iter().copied().take(self.count).collect())
    }

    /// (1 + #{calibration ≥ score}) / (n + 1): N. The smallest value where the score is no number.
    pub(crate) fn p_value(&self, b: &mut Build<'_>, score: Id) -> Result<Id, OpError> {
        let samples = b.fact(score).shape[0];
        let (rows, width) = self.table.dim();
        let shape = vec![Dim::from(rows), Dim::from(width)];
        let table = b.graph_mut().input(CALIBRATION, Fact { dtype: DType::Float, shape });
        let fillers = (rows * width - self.count) as f64;
        let s = b.reshape(score, &[samples, Dim::from(1)])?;
        let last = functions::slice(b, table, 1, width - 1, 1)?;
        let last = b.reshape(last, &[Dim::from(1), Dim::from(rows)])?;
        // 0 … 0 1 … 1: whether the largest of a row reaches the score.
        let reached = functions::at_most(b, s, last)?;
        let boundary = if rows == 1 {
            reached
        } else {
            let first = functions::slice(b, reached, 1, 0, 1)?;
            let later = functions::slice(b, reached, 1, 1, rows - 1)?;
            let earlier = functions::slice(b, reached, 1, 0, rows - 1)?;
            let steps = b.sub(later, earlier)?;
            functions::concat(b, &[first, steps], 1)?
        };
        let row = functions::matmul(b, boundary, table)?;
        let within = functions::at_most(b, s, row)?;
        let within = b.sum(within, &[1])?;
        let full = b.sum(reached, &[1])?;
        let full = b.scale(full, width as f64)?;
        let beyond = b.add(full, within)?;
        let beyond = b.offset(beyond, -(width as f64) - fillers)?;
        // No row is reached by what is no number, or larger than all numbers.
        let any = functions::slice(b, reached, 1, rows - 1, 1)?;
        let beyond = b.mul(beyond, any)?;
        let more = b.offset(beyond, 1.0)?;
        let p = b.scale(more, 1.0 / (self.count as f64 + 1.0))?;
        b.reshape(p, &[samples])
    }
}

/// Scores from a table, where what is larger than all numbers is the largest number.
pub(crate) fn lifted(mut scores: Vec<f32>) -> Vec<f32> {
    scores.iter_mut().filter(|s| **s >= f32::MAX).for_each(|s| *s = f32::INFINITY);
    scores
}

/// Whether the score lies beyond the threshold, or is no number: N.
pub(crate) fn flag(b: &mut Build<'_>, score: Id) -> Result<Id, OpError> {
    let fact = Fact { dtype: DType::Float, shape: vec![] };
    let threshold = b.graph_mut().input(THRESHOLD, fact);
    functions::exceeds(b, score, threshold)
}
