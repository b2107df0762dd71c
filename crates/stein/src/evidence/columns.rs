//! The columns of a table as one Gaussian, in deviations from their means: no unit decides.

use ndarray::{Array1, Array2, Axis};
use taste_graph::{Build, Dim, Id, OpError, Tensor};
use taste_ops::functions;
use taste_stats::{
    covariance::ledoit_wolf,
    linear::{self, Cholesky},
    normal,
};

use super::{curve::passed, density::stored};
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
        let [whitening, precision, filter] = gaussian(&u, &varies)?;
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
fn gaussian(u: &Array2<f64>, varies: &Array1<f64>) -> Result<[Array2<f64>; 3], Error> {
    let width = u.ncols();
    let kept: Vec<usize> = (0..width).filter(|&j| varies[j] > 0.0).collect();
    if kept.is_empty() {
        return Err(refused("all training rows are equal, so there is no density to fit"));
    }
    let wiener = |r: f64| r / (r + NOISE * NOISE);
    if kept.len() > MOST_CORRELATED {
        let own = Array2::from_diag(varies);
        return Ok([own.clone(), own.clone(), own * wiener(1.0)]);
    }
    let (covariance, _) = ledoit_wolf(&u.select(Axis(1), &kept));
    let singular = || refused("the covariance of the columns has no inverse");
    let white = Cholesky::new(&covariance).ok_or_else(singular)?.whitening();
    let precision = linear::inverse(&covariance).ok_or_else(singular)?;
    let mut noisy = covariance.clone();
    noisy.diag_mut().mapv_inplace(|v| v + NOISE * NOISE);
    let filter = covariance.dot(&linear::inverse(&noisy).ok_or_else(singular)?);
    let square = |of: &Array2<f64>| spread(of, &kept, width, true);
    Ok([spread(&white, &kept, width, false), square(&precision), square(&filter)])
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
        let [mut whitening, ..] = gaussian(&standard, &varies)?;
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
            (passed(u - from, length) * slope).sum(&[2])
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
        // Exact at both ends, however far x is from them.
        let raised = (x - low).then(functions::relu) + low;
        high - (high - raised).then(functions::relu)
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use taste_graph::{Fact, Graph};
    use taste_stats::random::Random;

    use super::*;

    const WIDTH: usize = 3;

    /// Two columns that go together, and one that does not vary between them.
    fn rows(count: usize) -> Array2<f64> {
        let mut random = Random::new(11);
        let mut rows = Array2::zeros((count, WIDTH));
        for mut row in rows.outer_iter_mut() {
            let (a, e) = (random.normal(), random.normal());
            row.assign(&ndarray::arr1(&[40.0 + 2.0 * a, 7.0, 0.01 * (0.9 * a + 0.5 * e)]));
        }
        rows
    }

    #[expect(clippy::cast_possible_truncation, reason = "ranges are single precision")]
    fn ranges(rows: &Array2<f64>) -> Vec<(f32, f32)> {
        let end = |c: ndarray::ArrayView1<'_, f64>, f: fn(f64, f64) -> f64| {
            c.iter().copied().reduce(f).unwrap_or_default() as f32
        };
        rows.axis_iter(Axis(1)).map(|c| (end(c, f64::min), end(c, f64::max))).collect()
    }

    /// Samples moved toward the data, and sx, q, qcop and range of each.
    fn run(columns: &Columns, samples: &[[f64; WIDTH]]) -> (Array2<f64>, Vec<[f64; 4]>) {
        let mut graph = Graph::new();
        let x = graph.input("x", Fact::float(vec![Dim::BATCH, Dim::from(WIDTH)]));
        let built = columns.build(&mut Build::new(&mut graph), x).expect("builds");
        let count = samples.len();
        let values = Tensor::floats(&[count, WIDTH], samples.concat()).expect("samples");
        let wanted = [built.moved, built.sx, built.q, built.qcop, built.range];
        let found = graph.eval(&wanted, &HashMap::from([(x, values)]), count).expect("runs");
        let all = |i: usize| -> Vec<f64> {
            found[i].as_float().expect("floats").iter().copied().collect()
        };
        let moved = Array2::from_shape_vec((count, WIDTH), all(0)).expect("a row a sample");
        let each = [all(1), all(2), all(3), all(4)];
        (moved, (0..count).map(|i| [each[0][i], each[1][i], each[2][i], each[3][i]]).collect())
    }

    /// A sample within the data, one beyond their range, one with another constant, one beyond all precision.
    const SAMPLES: [[f64; WIDTH]; 4] =
        [[41.0, 7.0, 0.002], [70.0, 7.0, -0.03], [41.0, 8.0, 0.002], [41.0, 7.0, 1e30]];

    #[test]
    fn numbers_of_a_sample_are_those_of_the_formulas() {
        let rows = rows(2000);
        let ranges = ranges(&rows);
        let columns = Columns::fit(&rows, &ranges).expect("fits");
        let (moved, found) = run(&columns, &SAMPLES);
        // The two columns that vary, in deviations.
        let kept = rows.select(Axis(1), &[0, 2]);
        let mean = kept.mean_axis(Axis(0)).expect("rows");
        let deviation = kept.std_axis(Axis(0), 0.0);
        let (r, _) = ledoit_wolf(&((&kept - &mean) / &deviation));
        let inverse = linear::inverse(&r).expect("an inverse");
        let noisy = &r + &(Array2::<f64>::eye(2) * NOISE * NOISE);
        let filter = r.dot(&linear::inverse(&noisy).expect("an inverse"));
        let bounds: Vec<(f64, f64)> =
            [0, 2].map(|j: usize| (f64::from(ranges[j].0), f64::from(ranges[j].1))).to_vec();
        for (i, sample) in SAMPLES.iter().enumerate() {
            let x = ndarray::arr1(&[sample[0], sample[2]]);
            let u = (&x - &mean) / &deviation;
            let s = inverse.dot(&u);
            let close = |got: f64, want: f64| (got - want).abs() < 1e-6 * (1.0 + want.abs());
            assert!(close(found[i][0], s.dot(&s).sqrt().ln()), "sx of {sample:?}");
            assert!(close(found[i][1], u.dot(&s).ln()), "q of {sample:?}");
            let clip = |x: &Array1<f64>| {
                Array1::from_shape_fn(2, |j| x[j].clamp(bounds[j].0, bounds[j].1))
            };
            let inside = (clip(&x) - &mean) / &deviation;
            let want = clip(&(filter.dot(&inside) * &deviation + &mean));
            assert!(close(moved[[i, 0]], want[0]) && close(moved[[i, 2]], want[1]), "{moved}");
            assert!(close(moved[[i, 1]], 7.0), "{moved}");
            let beyond = (0..2)
                .map(|j| (bounds[j].0 - x[j]).max(x[j] - bounds[j].1).max(0.0) / deviation[j]);
            let changed = if sample[1] > 7.0 { CHANGED } else { 0.0 };
            let want = beyond.fold(changed, f64::max).ln_1p();
            assert!(close(found[i][3], want), "range of {sample:?}: {} {want}", found[i][3]);
        }
    }

    #[test]
    fn ranks_beyond_the_data_are_those_of_their_ends() {
        let rows = rows(2000);
        let ranges = ranges(&rows);
        let columns = Columns::fit(&rows, &ranges).expect("fits");
        let top = f64::from(ranges[2].1);
        let (_, found) = run(&columns, &[[41.0, 7.0, top], [41.0, 7.0, 1.0], [41.0, 7.0, 1e30]]);
        let qcop: Vec<f64> = found.iter().map(|f| f[2]).collect();
        assert!((qcop[0] - qcop[1]).abs() < 1e-3 && (qcop[1] - qcop[2]).abs() < 1e-9, "{qcop:?}");
    }

    #[test]
    fn no_unit_decides() {
        let rows = rows(500);
        let units = ndarray::arr1(&[1e4, 1e-3, 1e-4]);
        let plain = Columns::fit(&rows, &ranges(&rows)).expect("fits");
        let other = &rows * &units;
        let scaled = Columns::fit(&other, &ranges(&other)).expect("fits");
        let samples = SAMPLES.map(|s| [s[0] * units[0], s[1] * units[1], s[2] * units[2]]);
        let (_, one) = run(&plain, &SAMPLES);
        let (_, two) = run(&scaled, &samples);
        for (a, b) in one.iter().flatten().zip(two.iter().flatten()) {
            assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{one:?} {two:?}");
        }
    }
}
