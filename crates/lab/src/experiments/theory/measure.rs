//! What the propositions speak of, as means with errors.

use serde::{Deserialize, Serialize};
use taste_engine::Model;
use taste_stats::{moments::Summary, random::Random};

use super::{
    density::Mixture,
    smooth::{Row, derivatives},
};
use crate::{Error, Run, error::refused, experiments::plane::Point};

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Mean {
    pub(super) mean: f64,
    pub(super) error: f64,
}

impl Mean {
    fn of(values: impl Iterator<Item = f64>) -> Result<Self, Error> {
        let values: Vec<f64> = values.collect();
        let summary = Summary::of(&values).ok_or_else(|| refused("too few draws"))?;
        Ok(Self { mean: summary.mean, error: summary.standard_error() })
    }

    /// Two errors to either side.
    pub(super) fn reach(self) -> (f64, f64) {
        (self.mean - 2.0 * self.error, self.mean + 2.0 * self.error)
    }
}

/// Means of residuals under p.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) count: usize,
    pub(super) whole: Mean,
    pub(super) entries: [Mean; 2],
}

/// Two sides that should be equal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) left: Mean,
    pub(super) right: Mean,
    /// Differences by their errors: of the whole, and of coordinates where there are such.
    pub(super) distances: Vec<f64>,
}

/// Changes of mean and variance under a tilt, each with its first order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tilted {
    pub(super) size: f64,
    pub(super) mean: (f64, f64),
    pub(super) variance: (f64, f64),
}

/// An error and its bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bounded {
    pub(super) share: f64,
    pub(super) value: f64,
    pub(super) bound: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Theory {
    pub(super) identity: Vec<Identity>,
    pub(super) projection: Vec<Compared>,
    pub(super) tilt: Vec<Tilted>,
    pub(super) decomposition: Vec<Compared>,
    pub(super) bound: Vec<Bounded>,
}

/// A changed p.
struct Changed {
    name: String,
    q: Mixture,
    rows: Vec<Row>,
}

pub(super) fn measure(
    run: &Run<'_>,
    model: &Model,
    p: &Mixture,
    count: usize,
) -> Result<Theory, Error> {
    let stream = |number: u64| Random::stream(run.seed_value(), number);
    let rows = derivatives(run, model, &p.draw(count, &mut stream(1)))?;
    let mut changed = Vec::new();
    let moves = [0, 45, 90, 135, 180, 225, 270, 315];
    for (k, degrees) in moves.into_iter().enumerate() {
        for (j, length) in [0.3, 0.6].into_iter().enumerate() {
            let angle = f64::from(degrees).to_radians();
            let q = p.changed([length * angle.cos(), length * angle.sin()], 1.0);
            let draws = q.draw(count / 4, &mut stream(10 + (2 * k + j) as u64));
            let name = format!("moved by {length} at {degrees}°");
            changed.push(Changed { name, q, rows: derivatives(run, model, &draws)? });
            run.tell("changes of p", changed.len(), 2 * moves.len() + 2)?;
        }
    }
    for (j, stretch) in [0.8, 1.1].into_iter().enumerate() {
        let q = p.changed([0.0; 2], stretch);
        let draws = q.draw(count / 4, &mut stream(40 + j as u64));
        let name = format!("stretched by {stretch}");
        changed.push(Changed { name, q, rows: derivatives(run, model, &draws)? });
    }
    let wrong = Mixture::blurred(p);
    Ok(Theory {
        identity: identity(&rows, p)?,
        projection: changed.iter().map(|c| projection(c, p)).collect::<Result<_, _>>()?,
        tilt: tilts(&rows, p),
        decomposition: changed
            .iter()
            .filter(|c| !c.name.starts_with("stretched by 1"))
            .map(|c| decomposition(c, &rows, p, &wrong))
            .collect::<Result<_, _>>()?,
        bound: bounds(&rows, p, &wrong, &p.changed([0.5, 0.0], 1.0)),
    })
}

fn identity(rows: &[Row], p: &Mixture) -> Result<Vec<Identity>, Error> {
    let mut counts = vec![rows.len()];
    while counts[counts.len() - 1] > 1000 {
        counts.push(counts[counts.len() - 1] / 4);
    }
    counts.reverse();
    let at = |count: usize| {
        let own = || rows[..count].iter();
        let entry = |i: usize| Mean::of(own().map(|r| r.entry(i, p.score(r.x))));
        let whole = Mean::of(own().map(|r| r.residual(p.score(r.x))))?;
        Ok(Identity { count, whole, entries: [entry(0)?, entry(1)?] })
    };
    counts.into_iter().map(at).collect()
}

/// ∇ log(q/p).
fn ratio_score(p: &Mixture, q: &Mixture, x: Point) -> Point {
    let (p, q) = (p.score(x), q.score(x));
    [q[0] - p[0], q[1] - p[1]]
}

fn projection(of: &Changed, p: &Mixture) -> Result<Compared, Error> {
    let rows = || of.rows.iter();
    let project = |r: &Row| -r.along(ratio_score(p, &of.q, r.x));
    let left = Mean::of(rows().map(|r| r.residual(p.score(r.x))))?;
    let right = Mean::of(rows().map(project))?;
    let whole = Mean::of(rows().map(|r| r.residual(p.score(r.x)) - project(r)))?;
    let mut distances = vec![whole.mean / whole.error];
    for i in [0, 1] {
        let difference =
            |r: &Row| r.entry(i, p.score(r.x)) + r.gradient[i] * ratio_score(p, &of.q, r.x)[i];
        let mean = Mean::of(rows().map(difference))?;
        distances.push(mean.mean / mean.error);
    }
    Ok(Compared { name: of.name.clone(), left, right, distances })
}

/// The potential of the tilt.
fn potential(x: Point) -> f64 {
    x[0].sin() + 0.5 * x[1].tanh()
}

fn tilts(rows: &[Row], p: &Mixture) -> Vec<Tilted> {
    let count = rows.len() as f64;
    let residuals: Vec<f64> = rows.iter().map(|r| r.residual(p.score(r.x))).collect();
    // The identity holds for the draws themselves once their mean is taken off.
    let mean = residuals.iter().sum::<f64>() / count;
    let values: Vec<(f64, f64)> =
        rows.iter().zip(&residuals).map(|(row, r)| (r - mean, potential(row.x))).collect();
    let covariance = |of: fn(f64) -> f64| {
        let h = values.iter().map(|v| v.1).sum::<f64>() / count;
        values.iter().map(|(r, own)| of(*r) * (own - h)).sum::<f64>() / count
    };
    let variance = values.iter().map(|v| v.0 * v.0).sum::<f64>() / count;
    let at = |size: f64| {
        let weights = || values.iter().map(move |(_, h)| (size * h).exp());
        let total: f64 = weights().sum();
        let under = |power: i32| {
            values.iter().zip(weights()).map(|((r, _), w)| w * r.powi(power)).sum::<f64>() / total
        };
        let moved = under(1);
        Tilted {
            size,
            mean: (moved, size * covariance(|r| r)),
            variance: (under(2) - moved * moved - variance, size * covariance(|r| r * r)),
        }
    };
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8].into_iter().map(at).collect()
}

fn decomposition(
    of: &Changed,
    rows: &[Row],
    p: &Mixture,
    wrong: &Mixture,
) -> Result<Compared, Error> {
    let error = |r: &Row| {
        let (s, wrong) = (p.score(r.x), wrong.score(r.x));
        r.along([wrong[0] - s[0], wrong[1] - s[1]])
    };
    let ratio = |x: Point| of.q.density(x) / p.density(x);
    let left = Mean::of(of.rows.iter().map(|r| r.residual(wrong.score(r.x))))?;
    let functional = Mean::of(of.rows.iter().map(|r| r.residual(p.score(r.x))))?;
    let rest = |r: &Row| r.residual(wrong.score(r.x)) + error(r) * (ratio(r.x) - 1.0);
    let under_p = Mean::of(rows.iter().map(rest))?;
    let under_q = Mean::of(of.rows.iter().map(error))?;
    let right =
        Mean { mean: functional.mean + under_p.mean, error: functional.error.hypot(under_p.error) };
    let distance = (under_q.mean - under_p.mean) / under_q.error.hypot(under_p.error);
    Ok(Compared { name: of.name.clone(), left, right, distances: vec![distance] })
}

fn bounds(rows: &[Row], p: &Mixture, wrong: &Mixture, q: &Mixture) -> Vec<Bounded> {
    let mean = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
    let ratio = |x: Point| q.density(x) / p.density(x) - 1.0;
    let slopes = mean(&|r| r.along(r.gradient).powi(2)).powf(0.25);
    let change = mean(&|r| ratio(r.x).powi(4)).powf(0.25);
    let at = |share: f64| {
        let error = |r: &Row| {
            let (s, wrong) = (p.score(r.x), wrong.score(r.x));
            [share * (wrong[0] - s[0]), share * (wrong[1] - s[1])]
        };
        let divergence = mean(&|r| error(r).iter().map(|e| e * e).sum());
        Bounded {
            share,
            value: mean(&|r| r.along(error(r)) * ratio(r.x)),
            bound: divergence.sqrt() * slopes * change,
        }
    };
    [0.05, 0.1, 0.2, 0.5, 1.0].into_iter().map(at).collect()
}
