//! The columns of a table as one Gaussian, in deviations from their means: no unit decides.

use ndarray::{Array1, Array2, Axis};
use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::functions;
use taste_stats::{
    covariance::ledoit_wolf,
    linear::{self, Cholesky},
    normal,
};

use super::density::stored;
use crate::{Error, refused};

/// The noise of the step toward the training data, in deviations of a column: between power and quiet.
const NOISE: f64 = 0.2;
/// Above this many columns they are taken as independent: a covariance would be too large.
const MOST_CORRELATED: usize = 2048;
/// Ranks of a column are read off a curve through at most so many points.
const KNOTS: usize = 32;
/// What a constant column that changed counts as, in deviations.
const CHANGED: f64 = 10.0;

/// What is learnt of the columns.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    mean: Array1<f64>,
    /// One where a column does not vary.
    deviation: Array1<f64>,
    /// One where a column varies, zero where not.
    varies: Array1<f64>,
    low: Array1<f64>,
    high: Array1<f64>,
    /// R of the columns that vary, as W with W·Wᵀ = R⁻¹; one row a column.
    whitening: Array2<f64>,
    /// R(R + σ²I)⁻¹.
    filter: Array2<f64>,
    /// R⁻¹.
    precision: Array2<f64>,
    copula: Copula,
}

/// Normal scores of the ranks of every column.
#[derive(Clone, Debug)]
struct Copula {
    /// At the left end of the curve.
    start: Array1<f64>,
    /// Pieces of the curves, one row a column.
    from: Array2<f64>,
    length: Array2<f64>,
    slope: Array2<f64>,
    whitening: Array2<f64>,
}

/// What a graph computes of the columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Built {
    /// x′, the sample moved toward the training data.
    pub(super) moved: Id,
    /// log ‖s‖: N × 1.
    pub(super) sx: Id,
    /// log uᵀR⁻¹u.
    pub(super) q: Id,
    /// The same of ranks.
    pub(super) qcop: Id,
    /// log(1 + largest excess over the range).
    pub(super) range: Id,
}

impl Columns {
    /// From rows of training samples, and the range of every column over all of them.
    pub(super) fn fit(rows: &Array2<f64>, ranges: &[(f32, f32)]) -> Result<Self, Error> {
        let (count, width) = rows.dim();
        if count < 10 {
            return Err(refused(format!(
                "a density of the columns wants at least 10 training rows, and {count} have finite entries"
            )));
        }
        let mean = rows.mean_axis(Axis(0)).unwrap_or_default();
        let centred = rows - &mean;
        let variance = centred.map_axis(Axis(0), |c| c.dot(&c) / count as f64);
        let varies = Array1::from_shape_fn(width, |j| {
            let moves = variance[j] > 1e-14 * mean[j].powi(2) && variance[j] > 1e-60;
            f64::from(u8::from(moves))
        });
        let deviation =
            Array1::from_shape_fn(
                width,
                |j| if varies[j] > 0.0 { variance[j].sqrt() } else { 1.0 },
            );
        let u = centred / &deviation * &varies;
        let copula = Copula::fit(&u)?;
        let (whitening, precision, filter) = gaussian(&u, &varies)?;
        let end = |of: fn(&(f32, f32)) -> f32| ranges.iter().map(|r| f64::from(of(r))).collect();
        Ok(Self {
            low: end(|r| r.0),
            high: end(|r| r.1),
            mean,
            deviation,
            varies,
            whitening,
            filter,
            precision,
            copula,
        })
    }

    /// Adds everything to a graph, for samples N × D.
    pub(super) fn build(&self, b: &mut Build<'_>, x: Id) -> Result<Built, OpError> {
        let mut row = |of: &Array1<f64>| stored(b, &of.clone().insert_axis(Axis(0)));
        let (mean, varies) = (row(&self.mean)?, row(&self.varies)?);
        let (deviation, inverse) = (row(&self.deviation)?, row(&(&self.varies / &self.deviation))?);
        let (low, high) = (row(&self.low)?, row(&self.high)?);
        let u = b.formula([x, mean, inverse], |[x, mean, inverse]| (x - mean) * inverse)?;
        let filter = stored(b, &self.filter)?;
        let moved = self.moved(b, x, [mean, deviation, varies, low, high], filter)?;
        let precision = stored(b, &self.precision)?;
        let s = functions::matmul(b, u, precision)?;
        let sx = log_length(b, s)?;
        let whitening = stored(b, &self.whitening)?;
        let white = functions::matmul(b, u, whitening)?;
        let q = log_square(b, white)?;
        let qcop = self.copula.build(b, u)?;
        let range = excess(b, x, [low, high, inverse, varies])?;
        Ok(Built { moved, sx, q, qcop, range })
    }

    /// x′ = mean + σ·clip(F·clip(u)), clipped to the range of the training data before and after; columns that do not vary
    /// are set back.
    fn moved(
        &self,
        b: &mut Build<'_>,
        x: Id,
        [mean, deviation, varies, low, high]: [Id; 5],
        filter: Id,
    ) -> Result<Id, OpError> {
        let inside = clip(b, x, low, high)?;
        let u = b.formula([inside, mean], |[x, mean]| x - mean)?;
        let inverse = stored(b, &(&self.varies / &self.deviation).insert_axis(Axis(0)))?;
        let u = b.mul(u, inverse)?;
        let filtered = functions::matmul(b, u, filter)?;
        let back = b
            .formula([filtered, deviation, varies, mean], |[u, deviation, varies, mean]| {
                u * deviation * varies + mean
            })?;
        clip(b, back, low, high)
    }
}

/// R of standardised columns: a whitening, the inverse and the filter R(R + σ²I)⁻¹, all zero where a column does not vary.
fn gaussian(
    u: &Array2<f64>,
    varies: &Array1<f64>,
) -> Result<(Array2<f64>, Array2<f64>, Array2<f64>), Error> {
    let width = u.ncols();
    let kept: Vec<usize> = (0..width).filter(|&j| varies[j] > 0.0).collect();
    if kept.is_empty() {
        return Err(refused("all training rows are equal, so there is no density to fit"));
    }
    let wiener = |r: f64| r / (r + NOISE * NOISE);
    if kept.len() > MOST_CORRELATED {
        let own = Array2::from_diag(varies);
        return Ok((own.clone(), own.clone(), own * wiener(1.0)));
    }
    let (covariance, _) = ledoit_wolf(&u.select(Axis(1), &kept));
    let singular = || refused("the covariance of the columns has no inverse");
    let white = Cholesky::new(&covariance).ok_or_else(singular)?.whitening();
    let precision = linear::inverse(&covariance).ok_or_else(singular)?;
    let mut noisy = covariance.clone();
    noisy.diag_mut().mapv_inplace(|v| v + NOISE * NOISE);
    let filter = covariance.dot(&linear::inverse(&noisy).ok_or_else(singular)?);
    Ok((spread(&white, &kept, width, false), spread(&precision, &kept, width, true), {
        spread(&filter, &kept, width, true)
    }))
}

/// A matrix of the columns that vary, with zeros for the others: in its rows, and in its columns if these stand for columns
/// as well.
fn spread(of: &Array2<f64>, kept: &[usize], width: usize, both: bool) -> Array2<f64> {
    let columns = if both { width } else { of.ncols() };
    let mut all = Array2::zeros((width, columns));
    for (i, &row) in kept.iter().enumerate() {
        for j in 0..of.ncols() {
            all[[row, if both { kept[j] } else { j }]] = of[[i, j]];
        }
    }
    all
}

impl Copula {
    /// From standardised rows.
    fn fit(u: &Array2<f64>) -> Result<Self, Error> {
        let width = u.ncols();
        let mut found = Self {
            start: Array1::zeros(width),
            from: Array2::zeros((width, KNOTS)),
            length: Array2::zeros((width, KNOTS)),
            slope: Array2::zeros((width, KNOTS)),
            whitening: Array2::zeros((0, 0)),
        };
        for (j, column) in u.axis_iter(Axis(1)).enumerate() {
            let knots = normal_scores(&column.to_vec());
            found.start[j] = knots.first().map_or(0.0, |k| k.1);
            for (i, pair) in knots.windows(2).enumerate() {
                let length = pair[1].0 - pair[0].0;
                found.from[[j, i]] = pair[0].0;
                found.length[[j, i]] = length;
                found.slope[[j, i]] = (pair[1].1 - pair[0].1) / length;
            }
        }
        let scores = Array2::from_shape_fn(u.dim(), |(i, j)| found.at(j, u[[i, j]]));
        let deviation = scores.map_axis(Axis(0), |c| (c.dot(&c) / c.len() as f64).sqrt());
        let varies = deviation.mapv(|d| f64::from(u8::from(d > 1e-9)));
        let standard = &scores / &deviation.mapv(|d| d.max(1e-9));
        let (mut whitening, ..) = gaussian(&standard, &varies)?;
        for (mut row, d) in whitening.outer_iter_mut().zip(&deviation) {
            row /= d.max(1e-9);
        }
        Ok(Self { whitening, ..found })
    }

    fn at(&self, column: usize, u: f64) -> f64 {
        let pieces = (0..KNOTS).map(|i| {
            let place = [column, i];
            self.slope[place] * (u - self.from[place]).clamp(0.0, self.length[place])
        });
        self.start[column] + pieces.sum::<f64>()
    }

    fn build(&self, b: &mut Build<'_>, u: Id) -> Result<Id, OpError> {
        let (rows, width) = (b.fact(u).shape[0], self.start.len());
        let mut curves = |of: &Array2<f64>| -> Result<Id, OpError> {
            let values = of.iter().copied().collect();
            Ok(b.graph_mut().stored(Tensor::floats(&[1, width, KNOTS], values)?))
        };
        let (from, length) = (curves(&self.from)?, curves(&self.length)?);
        let slope = curves(&self.slope)?;
        let start = stored(b, &self.start.clone().insert_axis(Axis(0)))?;
        let column = b.reshape(u, &[rows, width.into(), Dim::from(1)])?;
        let risen = b.formula([column, from, length, slope], |[u, from, length, slope]| {
            let reached = (u - from).then(functions::relu);
            ((reached - (reached - length).then(functions::relu)) * slope).sum(&[2])
        })?;
        let risen = b.reshape(risen, &[rows, width.into()])?;
        let scores = b.add(risen, start)?;
        let whitening = stored(b, &self.whitening)?;
        let white = functions::matmul(b, scores, whitening)?;
        log_square(b, white)
    }
}

/// Points of a curve from the values of a column to the normal scores of their middle ranks.
fn normal_scores(values: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut at = 0;
    while at < sorted.len() {
        let end = sorted.partition_point(|v| *v <= sorted[at]);
        let middle = f64::midpoint(at as f64, end as f64);
        points.push((sorted[at], normal::quantile((middle / n).clamp(0.25 / n, 1.0 - 0.25 / n))));
        at = end;
    }
    if points.len() > KNOTS {
        // Evenly spaced in their scores, so that tails keep their points.
        let (low, high) = (points[0].1, points[points.len() - 1].1);
        let mut kept = vec![points[0]];
        for k in 1..KNOTS - 1 {
            let wanted = low + (high - low) * k as f64 / (KNOTS - 1) as f64;
            let place = points.partition_point(|p| p.1 < wanted);
            if points[place].0 > kept[kept.len() - 1].0 && place + 1 < points.len() {
                kept.push(points[place]);
            }
        }
        kept.push(points[points.len() - 1]);
        return kept;
    }
    points
}

/// log(1 + largest excess over the range in deviations); a column that does not vary counts as [`CHANGED`] if it changed.
fn excess(b: &mut Build<'_>, x: Id, [low, high, inverse, varies]: [Id; 4]) -> Result<Id, OpError> {
    let beyond = b.formula([x, low, high], |[x, low, high]| {
        (low - x).then(functions::relu) + (x - high).then(functions::relu)
    })?;
    // Rounding of a constant is no change.
    let slack = b.formula([high], |[high]| high.then(functions::abs) * 1e-5 + 1e-30)?;
    let same = functions::at_most(b, beyond, slack)?;
    let all = b.formula([beyond, inverse, varies, same], |[beyond, inverse, varies, same]| {
        beyond * inverse + (1.0 - varies) * (1.0 - same) * CHANGED
    })?;
    let first = functions::first_max(b, all, 1)?;
    b.formula([all, first], |[all, first]| ((all * first).sum(&[1]) + 1.0).then(functions::log))
}

fn clip(b: &mut Build<'_>, x: Id, low: Id, high: Id) -> Result<Id, OpError> {
    b.formula([x, low, high], |[x, low, high]| {
        let raised = (x - low).then(functions::relu) + low;
        raised - (raised - high).then(functions::relu)
    })
}

/// log(max(‖x‖², 10⁻¹²)) over the columns: N × 1.
pub(super) fn log_square(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let squares = functions::square_sum(b, x, 1)?;
    log_of(b, squares)
}

/// log(max(‖x‖, 10⁻¹²)) over the columns: N × 1.
pub(super) fn log_length(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let squares = functions::square_sum(b, x, 1)?;
    let log = log_at_least(b, squares, LEAST * LEAST)?;
    b.scale(log, 0.5)
}

/// log(max(x, 10⁻¹²)).
pub(super) fn log_of(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    log_at_least(b, x, LEAST)
}

/// What logarithms are taken of is at least this.
const LEAST: f64 = 1e-12;

fn log_at_least(b: &mut Build<'_>, x: Id, least: f64) -> Result<Id, OpError> {
    b.formula([x], |[x]| ((x - least).then(functions::relu) + least).then(functions::log))
}
