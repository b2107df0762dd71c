//! The one-class rule of the Stein profile: a distance to the mean of the predicted class.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use taste_graph::{Build, Id, OpError, Tensor};
use taste_ops::functions;
use taste_stats::{
    linear::Cholesky,
    quantile::{Quantile, median},
};

use super::features::{ENERGY_DRIFT, TINY};
use crate::{Error, refused};

/// The features whose logarithms reach down to rounding: those of residuals and of drifts of probabilities.
const ROUNDED: usize = 2;
/// Where probabilities saturate, residuals of a smooth model are differences that rounding leaves at about 1e-7 of
/// what residuals are elsewhere. Below this share of them, their logarithm is not looked at.
const LEAST_SHARE: f64 = 3e-3;

/// The one-class rule: class-conditional means, one covariance for all classes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    /// What the energy drift is divided by before asinh.
    pub(super) drift_scale: f64,
    /// The least values of the features that reach down to rounding, if the residuals are such.
    pub(super) floors: Option<[f64; ROUNDED]>,
    /// What every feature is centred and divided by.
    pub(super) centre: Array1<f64>,
    pub(super) scale: Array1<f64>,
    /// The mean of the standardised features by predicted class: K × F.
    pub(super) means: Array2<f64>,
    /// W with W·Wᵀ = Σ⁻¹, so that the squared distance is ‖(z − μ)W‖²: F × F.
    pub(super) whitening: Array2<f64>,
}

impl Rule {
    /// Fits the rule to raw features (n × F) with the predicted class of each row.
    pub(super) fn fit(
        raw: &ArrayView2<'_, f64>,
        classes: &[usize],
        class_count: usize,
        rounded: bool,
    ) -> Result<Self, Error> {
        let (n, f) = raw.dim();
        if n < 2 * f {
            return Err(refused(format!(
                "the profile needs at least {} samples besides those of the calibration, and there are {n}",
                2 * f
            )));
        }
        let sizes = raw.column(ENERGY_DRIFT).mapv(f64::abs).to_vec();
        let drift_scale = median(&sizes).unwrap_or(0.0).max(f64::from(f32::MIN_POSITIVE));
        let mut z = raw.to_owned();
        let floors = rounded.then(|| {
            [0, 1].map(|at| {
                let top = Quantile::Linear.of(&raw.column(at).to_vec(), 0.99);
                top.unwrap_or(0.0) + LEAST_SHARE.ln()
            })
        });
        for (at, floor) in floors.iter().flatten().enumerate() {
            z.column_mut(at).mapv_inplace(|v| v.max(*floor));
        }
        z.column_mut(ENERGY_DRIFT).mapv_inplace(|v| (v / drift_scale).asinh());
        let centre: Array1<f64> =
            z.axis_iter(Axis(1)).map(|c| median(&c.to_vec()).unwrap_or(0.0)).collect();
        let scale = z.std_axis(Axis(0), 1.0).mapv(|s| if s > 1e-12 { s } else { 1.0 });
        z = (z - &centre) / &scale;
        // A class that is hardly ever predicted borrows from the mean of all: shrink towards it.
        let overall = z.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(f));
        let mut means = Array2::zeros((class_count, f));
        let mut counts = vec![0.0; class_count];
        for (row, &k) in z.outer_iter().zip(classes) {
            means.row_mut(k).scaled_add(1.0, &row);
            counts[k] += 1.0;
        }
        for (mut mean, count) in means.outer_iter_mut().zip(&counts) {
            mean.scaled_add(BORROWED, &overall);
            mean /= count + BORROWED;
        }
        let mut covariance = Array2::<f64>::eye(f) * RIDGE;
        for (row, &k) in z.outer_iter().zip(classes) {
            let off = (&row - &means.row(k)).insert_axis(Axis(1));
            covariance.scaled_add(1.0 / n as f64, &off.dot(&off.t()));
        }
        let whitening = Cholesky::new(&covariance)
            .map(|factor| factor.whitening())
            .ok_or_else(|| refused("the features of the profile are not finite on the data"))?;
        Ok(Self { drift_scale, floors, centre, scale, means, whitening })
    }
}

/// How many samples the mean of all classes counts as.
const BORROWED: f64 = 10.0;
/// What is added to the diagonal of the covariance of standardised features.
const RIDGE: f64 = 0.01;

impl Rule {
    /// The parameters as constants.
    pub(super) fn constants(&self, b: &mut Build<'_>) -> Result<RuleIds, OpError> {
        let mut matrix = |rows: usize, values: Vec<f64>| -> Result<Id, OpError> {
            let shape = [rows, values.len() / rows];
            Ok(b.graph_mut().constant(Tensor::floats(&shape, values)?))
        };
        Ok(RuleIds {
            drift_scale: matrix(1, vec![self.drift_scale])?,
            floors: self.floors.map(|floors| matrix(1, floors.to_vec())).transpose()?,
            centre: matrix(1, self.centre.to_vec())?,
            scale: matrix(1, self.scale.to_vec())?,
            means: matrix(self.means.nrows(), self.means.iter().copied().collect())?,
            whitening: matrix(self.whitening.nrows(), self.whitening.iter().copied().collect())?,
        })
    }
}

/// Parameters of the rule in the graph.
pub(super) struct RuleIds {
    pub(super) drift_scale: Id,
    pub(super) floors: Option<Id>,
    pub(super) centre: Id,
    pub(super) scale: Id,
    pub(super) means: Id,
    pub(super) whitening: Id,
}

/// The squared Mahalanobis distance to the mean of the predicted class: N.
pub(super) fn distance(
    b: &mut Build<'_>,
    raw: Id,
    predicted: Id,
    rule: &RuleIds,
) -> Result<Id, OpError> {
    let (rows, count) = (b.fact(raw).shape[0], b.fact(raw).shape[1]);
    let count = count.as_fixed().and_then(|c| usize::try_from(c).ok()).unwrap_or(0);
    let mut before = functions::slice(b, raw, 1, 0, ENERGY_DRIFT)?;
    if let Some(floors) = rule.floors {
        let rounded = functions::slice(b, raw, 1, 0, ROUNDED)?;
        let above = b.sub(rounded, floors)?;
        let above = functions::relu(b, above)?;
        let floored = b.add(above, floors)?;
        let others = functions::slice(b, raw, 1, ROUNDED, ENERGY_DRIFT - ROUNDED)?;
        before = functions::concat(b, &[floored, others], 1)?;
    }
    let drift = functions::slice(b, raw, 1, ENERGY_DRIFT, 1)?;
    let after = functions::slice(b, raw, 1, ENERGY_DRIFT + 1, count - ENERGY_DRIFT - 1)?;
    let inverse = functions::reciprocal(b, rule.drift_scale)?;
    let relative = b.mul(drift, inverse)?;
    let bent = asinh(b, relative)?;
    let joined = functions::concat(b, &[before, bent, after], 1)?;
    let centred = b.sub(joined, rule.centre)?;
    let inverse = functions::reciprocal(b, rule.scale)?;
    let z = b.mul(centred, inverse)?;
    let mean = functions::matmul(b, predicted, rule.means)?;
    let off = b.sub(z, mean)?;
    let white = functions::matmul(b, off, rule.whitening)?;
    let square = functions::square_sum(b, white, 1)?;
    b.reshape(square, &[rows])
}

/// asinh(x) = sign(x)·log(|x| + √(x² + 1)).
fn asinh(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let size = functions::abs(b, x)?;
    let square = b.square(x)?;
    let root = b.offset(square, 1.0)?;
    let root = functions::sqrt(b, root)?;
    let sum = b.add(size, root)?;
    let log = functions::log(b, sum)?;
    let floored = b.offset(size, TINY)?;
    let inverse = functions::reciprocal(b, floored)?;
    let sign = b.mul(x, inverse)?;
    b.mul(log, sign)
}
