//! P-value and flag of a score, as a graph.

use ndarray::Array2;
use taste_graph::{Build, DType, Dim, Fact, Id, OpError, Tensor};
use taste_ops::functions;

/// Thresholds and calibration scores of a number that decides. They are inputs of the graph under these names while that
/// is built, and named constants of the file, so that they can be changed there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) threshold: &'static str,
    pub(crate) calibration: &'static str,
}

/// Of the score.
pub(crate) const SCORE: Names =
    Names { threshold: "taste.threshold", calibration: "taste.calibration" };
/// Of the novelty.
pub(crate) const NOVELTY: Names =
    Names { threshold: "taste.novelty_threshold", calibration: "taste.novelty_calibration" };

/// Sorted calibration scores in rows, so that a score is found by its row and its place therein. ONNX has no search: with
/// √n rows of √n scores, two comparisons with √n numbers take the place of one with n.
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
    pub(crate) fn p_value(
        &self,
        b: &mut Build<'_>,
        names: Names,
        score: Id,
    ) -> Result<Id, OpError> {
        let samples = b.fact(score).shape[0];
        let (rows, width) = self.table.dim();
        let shape = vec![Dim::from(rows), Dim::from(width)];
        let table = b.graph_mut().input(names.calibration, Fact { dtype: DType::Float, shape });
        let fillers = (rows * width - self.count) as f64;
        let s = b.reshape(score, &[samples, Dim::from(1)])?;
        let last = functions::slice(b, table, 1, width - 1, 1)?;
        let last = b.reshape(last, &[Dim::from(1), Dim::from(rows)])?;
        // 0 … 0 1 … 1: whether the largest of a row reaches the score. Its step is the row to look into.
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
        // All scores of later rows count, and fillers never do.
        let full = b.sum(reached, &[1])?;
        let full = b.scale(full, width as f64)?;
        let beyond = b.add(full, within)?;
        let beyond = b.offset(beyond, -(width as f64) - fillers)?;
        // A score that is NaN, or larger than every number, reaches no row: nothing lies beyond it.
        let any = functions::slice(b, reached, 1, rows - 1, 1)?;
        let beyond = b.mul(beyond, any)?;
        let more = b.offset(beyond, 1.0)?;
        let p = b.scale(more, 1.0 / (self.count as f64 + 1.0))?;
        b.reshape(p, &[samples])
    }
}

/// Scores from a table, where the largest number stands for what is larger than all numbers.
pub(crate) fn lifted(mut scores: Vec<f32>) -> Vec<f32> {
    scores.iter_mut().filter(|s| **s >= f32::MAX).for_each(|s| *s = f32::INFINITY);
    scores
}

/// Whether the score or the novelty lies beyond its threshold, or is no number: N.
pub(crate) fn flag(b: &mut Build<'_>, score: Id, novelty: Option<Id>) -> Result<Id, OpError> {
    let mut beyond = |names: Names, value: Id| {
        let fact = Fact { dtype: DType::Float, shape: vec![] };
        let threshold = b.graph_mut().input(names.threshold, fact);
        functions::exceeds(b, value, threshold)
    };
    let by_score = beyond(SCORE, score)?;
    let Some(novelty) = novelty else { return Ok(by_score) };
    let by_novelty = beyond(NOVELTY, novelty)?;
    functions::either(b, by_score, by_novelty)
}

/// 0 for every sample (N × 1), but NaN where an entry of it is not finite, whatever a model makes of that.
pub(crate) fn guard(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let flat = as_columns(b, x)?;
    let zeros = b.scale(flat, 0.0)?;
    b.sum(zeros, &[1])
}

/// 0 for every sample (N × 1), but NaN where all entries of it are missing.
pub(crate) fn guard_of_empty(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let flat = as_columns(b, x)?;
    let largest = b.graph_mut().constant(Tensor::floats(&[1, 1], vec![f64::from(f32::MAX)])?);
    let present = functions::at_most(b, flat, largest)?;
    let count = b.sum(present, &[1])?;
    // 0 · log 0.
    let log = functions::log(b, count)?;
    b.scale(log, 0.0)
}

/// 0 for every sample (N × 1), but NaN where one of some entries is missing.
pub(crate) fn guard_of_missing(b: &mut Build<'_>, x: Id, entries: &[bool]) -> Result<Id, OpError> {
    let flat = as_columns(b, x)?;
    let largest = b.graph_mut().constant(Tensor::floats(&[1, 1], vec![f64::from(f32::MAX)])?);
    let present = functions::at_most(b, flat, largest)?;
    let own = entries.iter().map(|e| f64::from(u8::from(*e))).collect();
    let own = b.graph_mut().stored(Tensor::floats(&[entries.len(), 1], own)?);
    let found = functions::matmul(b, present, own)?;
    let all = entries.iter().filter(|e| **e).count() as f64;
    // 1 if all are there; else 0 · log 0.
    let left = b.formula([found], |[found]| (found - all + 1.0).then(functions::relu))?;
    let log = functions::log(b, left)?;
    b.scale(log, 0.0)
}

/// A value with the guard added.
pub(crate) fn guarded(b: &mut Build<'_>, value: Id, guard: Id) -> Result<Id, OpError> {
    let shape = b.fact(value).shape.clone();
    let columns = as_columns(b, value)?;
    let sum = b.add(columns, guard)?;
    b.reshape(sum, &shape)
}

/// A value with a row for every sample, as N × columns.
pub(crate) fn as_columns(b: &mut Build<'_>, id: Id) -> Result<Id, OpError> {
    let shape = &b.fact(id).shape;
    let fixed = shape.iter().skip(1).filter_map(|d| d.as_fixed()).product();
    let rows = shape[0];
    b.reshape(id, &[rows, Dim { per_batch: 0, fixed }])
}
