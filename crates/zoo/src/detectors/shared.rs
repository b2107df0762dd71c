//! What several detectors have in common.

use ndarray::{Array1, Array2, ArrayRef2, s};
use taste_choice::Arguments;
use taste_detector::{Error, Job, refused};
use taste_engine::{Feature, LinearHead};
use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::functions;
use taste_stats::groups::GroupMeans;

/// Numbers of training samples that a method keeps, in the file or while it is fitted, at most: 512 MiB.
pub(super) const MOST_ENTRIES: usize = 1 << 27;
/// Lengths are at least this.
const TINY: f64 = 1e-12;

/// What softmax makes the answer of: N × classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logits {
    pub(super) id: Id,
    pub(super) classes: usize,
}

impl Logits {
    /// Those of a classifier.
    pub(super) fn of(job: &Job<'_>) -> Self {
        Self { id: job.draft.logits(), classes: job.draft.width() }
    }

    /// The number of the likeliest class, N × 1.
    pub(super) fn answer(self, b: &mut Build<'_>) -> Result<Id, OpError> {
        let first = functions::first_max(b, self.id, 1)?;
        let numbers = (0..self.classes).map(|k| k as f64).collect();
        let numbers = stored(b, &[self.classes, 1], numbers)?;
        functions::matmul(b, first, numbers)
    }

    /// The entry of the likeliest class in every row of a matrix, N × 1. No derivative follows the choice.
    pub(super) fn of_answer(self, b: &mut Build<'_>, matrix: Id) -> Result<Id, OpError> {
        let first = functions::first_max(b, self.id, 1)?;
        let picked = b.mul(matrix, first)?;
        b.sum(picked, &[1])
    }
}

/// The last layer of a classifier.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) logits: Logits,
    pub(super) feature: Feature,
    /// One row a feature, one column a class.
    pub(super) weights: Array2<f64>,
    pub(super) bias: Array1<f64>,
}

impl Head {
    /// That of the model, for a method that needs a linear one.
    pub(super) fn of(job: &mut Job<'_>, method: &str) -> Result<Self, Error> {
        let logits = Logits::of(job);
        let feature = job.draft.features(job.settings.features.as_deref())?;
        let engine = job.engine;
        let found = job.draft.linear_head(&feature, logits.id, &engine.backend, engine.threads)?;
        let Some(LinearHead { weights, bias }) = found else {
            return Err(refused(format!(
                "the method {method} needs a linear layer from features to logits, and output {:?} is no linear \
                 function of tensor {:?}",
                job.draft.output_name(),
                feature.name
            )));
        };
        Ok(Self { logits, feature, weights, bias })
    }
}

/// A constant.
pub(super) fn stored(b: &mut Build<'_>, shape: &[usize], values: Vec<f64>) -> Result<Id, OpError> {
    Ok(b.graph_mut().stored(Tensor::floats(shape, values)?))
}

/// A matrix as a constant.
pub(super) fn stored_matrix(b: &mut Build<'_>, matrix: &ArrayRef2<f64>) -> Result<Id, OpError> {
    stored(b, &[matrix.nrows(), matrix.ncols()], row_by_row(matrix))
}

/// The entries of a matrix, row by row. A large one that was turned is copied in squares: taken one by one, every entry would
/// be far from the last in memory.
fn row_by_row(matrix: &ArrayRef2<f64>) -> Vec<f64> {
    const SIDE: usize = 32;
    let (rows, columns) = matrix.dim();
    let mut whole = Array2::zeros((rows, columns));
    for top in (0..rows).step_by(SIDE) {
        for left in (0..columns).step_by(SIDE) {
            let square = s![top..rows.min(top + SIDE), left..columns.min(left + SIDE)];
            whole.slice_mut(square).assign(&matrix.slice(square));
        }
    }
    whole.into_raw_vec_and_offset().0
}

/// A row as a constant, 1 × width.
pub(super) fn stored_row(b: &mut Build<'_>, row: &[f64]) -> Result<Id, OpError> {
    stored(b, &[1, row.len()], row.to_vec())
}

/// −log Σ exp(z), N × 1.
pub(super) fn energy(b: &mut Build<'_>, logits: Id) -> Result<Id, OpError> {
    let sum = functions::log_sum_exp(b, logits, 1)?;
    b.neg(sum)
}

/// x/max(‖x‖, tiny) for every row.
pub(super) fn unit_length(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let square = functions::square_sum(b, x, 1)?;
    let floored = b.offset(square, TINY * TINY)?;
    let length = functions::sqrt(b, floored)?;
    let inverse = functions::reciprocal(b, length)?;
    b.mul(x, inverse)
}

/// A tensor as one row a sample.
pub(super) fn as_rows(job: &mut Job<'_>, tensor: Id) -> Result<(Id, usize), Error> {
    let rows = job.draft.rows();
    let mut b = job.draft.build();
    let width = b.fact(tensor).shape.iter().skip(1).map(|d| d.at(1)).product::<usize>();
    Ok((b.reshape(tensor, &[rows, Dim::from(width)])?, width))
}

/// What activations are changed at: the tensor that is named, else what the global pooling takes, else the features.
pub(super) fn activations(job: &mut Job<'_>) -> Result<(Id, String), Error> {
    let named = job.settings.features.as_deref();
    let feature = job.draft.features(named)?;
    let pooled = job.draft.before_pooling(&feature).filter(|_| named.is_none());
    Ok(match pooled {
        Some(map) => (map, "the input of the global pooling".to_owned()),
        None => (feature.raw, feature.name),
    })
}

/// Fails where labels are missing, are none of the model's classes, or leave a class out; `counted` says which samples
/// count, if not all do.
pub(super) fn check_labels(
    job: &Job<'_>,
    method: &str,
    means: &GroupMeans,
    counted: &str,
) -> Result<(), Error> {
    let data = &job.data.name;
    if means.without() > 0 {
        return Err(Error::NoLabels { method: method.to_owned(), data: data.clone() });
    }
    let last = means.len().saturating_sub(1);
    if let Some(label) = means.stray() {
        return Err(refused(format!(
            "{data}: there is a label {label}, and the model's classes are 0 to {last}"
        )));
    }
    match means.absent() {
        None => Ok(()),
        Some(class) => Err(refused(format!(
            "{data}: the method {method} learns from samples of every class, 0 to {last}, and none{counted} is of class {class}"
        ))),
    }
}

/// A number of neighbours or the like.
pub(super) fn count(
    arguments: &mut Arguments<'_>,
    key: &str,
    what: &str,
) -> Result<Option<usize>, Error> {
    Ok(arguments.number(key, &format!("a number of {what} from 1 on"), |n| *n > 0)?)
}

/// A temperature.
pub(super) fn temperature(arguments: &mut Arguments<'_>) -> Result<Option<f64>, Error> {
    let fits = |t: &f64| *t > 0.0 && t.is_finite();
    Ok(arguments.number("t", "a temperature above 0", fits)?)
}

/// A share of all entries.
pub(super) fn share(arguments: &mut Arguments<'_>, key: &str) -> Result<Option<f64>, Error> {
    Ok(arguments.number(key, "a share from 0 to below 1", |p| (0.0..1.0).contains(p))?)
}

/// The size of a step.
pub(super) fn step(arguments: &mut Arguments<'_>) -> Result<Option<f64>, Error> {
    let fits = |e: &f64| *e >= 0.0 && e.is_finite();
    Ok(arguments.number("eps", "a step from 0 on", fits)?)
}

/// x − eps·sign(∇f) for one f a sample: toward smaller f.
pub(super) fn stepped(job: &mut Job<'_>, f: Id, eps: f64) -> Result<Id, Error> {
    let x = job.draft.input();
    let mut b = job.draft.build();
    let gradient = taste_graph::diff::gradient(&mut b, f, x)?;
    let Some(gradient) = gradient else { return Ok(x) };
    let sign = functions::sign(&mut b, gradient)?;
    let step = b.scale(sign, eps)?;
    Ok(b.sub(x, step)?)
}

/// What is left of the activations of a sample without the smallest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pruned {
    /// All of them, one row a sample.
    pub(super) flat: Id,
    /// The smallest that is left, N × 1.
    pub(super) least: Id,
    /// exp(sum of all / sum of those that are left), N × 1.
    pub(super) scale: Id,
}

impl Pruned {
    /// Without a share p.
    pub(super) fn of(job: &mut Job<'_>, tensor: Id, p: f64) -> Result<Self, Error> {
        let (flat, width) = as_rows(job, tensor)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let left = width - (width as f64 * p).round_ties_even() as usize;
        let left = left.max(1);
        let mut b = job.draft.build();
        let [largest, _] = functions::top_k(&mut b, flat, 1, left)?;
        let least = functions::slice(&mut b, largest, 1, left - 1, 1)?;
        let (all, kept) = (b.sum(flat, &[1])?, b.sum(largest, &[1])?);
        // Where nothing is left all are zero, and stay so.
        let zero = b.zeros_like(kept)?;
        let none = functions::equal(&mut b, kept, zero)?;
        let ratio = b.add(kept, none)?;
        let ratio = functions::reciprocal(&mut b, ratio)?;
        let ratio = b.mul(all, ratio)?;
        Ok(Self { flat, least, scale: functions::exp(&mut b, ratio)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_matrix_is_stored_row_by_row() {
        let matrix = Array2::from_shape_fn((70, 33), |(i, j)| (100 * i + j) as f64);
        let entries: Vec<f64> = matrix.t().iter().copied().collect();
        assert_eq!(row_by_row(&matrix.t()), entries);
        assert_eq!(row_by_row(&matrix), matrix.iter().copied().collect::<Vec<_>>());
    }
}
