//! Expectation maximisation.
//!
//! Every covariance has an inverse Wishart prior about the pooled covariance of the clusters that the search
//! starts from, worth a few samples. It keeps components from collapsing, and what is maximised, the likelihood
//! times the prior, never decreases.

use ndarray::{Array1, Array2, Axis};

use super::{
    clusters::clusters,
    mixture::{Covariance, Form, Mixture, log_sum_exp},
};
use taste_stats::{linear, random::Random};

use crate::fields::shrinkage::{Spread, shrink};

/// The search ends when an iteration gains less than this a sample.
const GAIN: f64 = 1e-5;
const MOST_ITERATIONS: usize = 300;
const LEAST_ITERATIONS: usize = 10;
const MOST_STARTS: usize = 4;
/// Multiplications that the iterations of one start, and those of all starts, should stay below.
const WORK_PER_START: f64 = 2e12;
const WORK: f64 = 1e11;
/// Samples with a smaller share of a component do not count there.
const LEAST_SHARE: f64 = 1e-12;

/// A mixture and how it came about.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    pub(super) mixture: Mixture,
    /// What is maximised, after every iteration.
    pub(super) objective: Vec<f64>,
    pub(super) log_likelihood: f64,
    pub(super) converged: bool,
    pub(super) starts: usize,
    /// How many samples the prior is worth.
    pub(super) prior_samples: f64,
}

/// The best mixture from several starts; nothing if the rows have no extent.
pub(super) fn fit(rows: &Array2<f64>, k: usize, form: Form, random: &mut Random) -> Option<Fit> {
    let d = rows.ncols() as f64;
    let width = if form == Form::Full { d * d } else { d };
    let iteration = rows.nrows() as f64 * k as f64 * width;
    let starts = if k == 1 { 1 } else { whole(WORK / (50.0 * iteration), 1, MOST_STARTS) };
    let most = whole(WORK_PER_START / iteration, LEAST_ITERATIONS, MOST_ITERATIONS);
    let mut best: Option<Fit> = None;
    for _ in 0..starts {
        let labels = clusters(rows, k, random);
        let Some(found) = Search::new(rows, &labels, k, form).and_then(|s| s.run(most)) else {
            continue;
        };
        if best.as_ref().is_none_or(|b| found.objective.last() > b.objective.last()) {
            best = Some(found);
        }
    }
    best.map(|fit| Fit { starts, ..fit })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within bounds")]
fn whole(value: f64, least: usize, most: usize) -> usize {
    value.clamp(least as f64, most as f64) as usize
}

struct Search<'a> {
    rows: &'a Array2<f64>,
    prior: Covariance,
    /// How many samples the prior is worth.
    strength: f64,
    /// N × K.
    shares: Array2<f64>,
    means: Array2<f64>,
}

impl<'a> Search<'a> {
    fn new(rows: &'a Array2<f64>, labels: &[usize], k: usize, form: Form) -> Option<Self> {
        let mut shares = Array2::zeros((rows.nrows(), k));
        for (mut row, &label) in shares.rows_mut().into_iter().zip(labels) {
            row[label] = 1.0;
        }
        let means = weighted_means(rows, &shares, &Array2::zeros((k, rows.ncols())));
        let prior = pooled(rows, labels, &means, form)?;
        let strength = match form {
            Form::Full => rows.ncols() as f64 + 2.0,
            Form::Diagonal => 3.0,
        };
        Some(Self { rows, prior, strength, shares, means })
    }

    fn run(mut self, most: usize) -> Option<Fit> {
        let count = self.rows.nrows() as f64;
        let mut objective: Vec<f64> = Vec::new();
        let mut converged = false;
        let mut mixture = self.maximise()?;
        let mut log_likelihood = self.expect(&mixture);
        while objective.len() < most {
            let value = log_likelihood + self.log_prior(&mixture);
            converged = objective.last().is_some_and(|last| value - last < GAIN * count);
            objective.push(value);
            if converged {
                break;
            }
            mixture = self.maximise()?;
            log_likelihood = self.expect(&mixture);
        }
        let prior_samples = self.strength;
        Some(Fit { mixture, objective, log_likelihood, converged, starts: 1, prior_samples })
    }

    /// Shares of every component in every sample; returns the log likelihood.
    fn expect(&mut self, mixture: &Mixture) -> f64 {
        self.shares = mixture.log_joint(self.rows);
        let mut total = 0.0;
        for mut row in self.shares.rows_mut() {
            let sum = log_sum_exp(&row.view());
            row.mapv_inplace(|v| (v - sum).exp());
            total += sum;
        }
        total
    }

    /// The likeliest mixture for the shares, with the prior.
    fn maximise(&mut self) -> Option<Mixture> {
        self.means = weighted_means(self.rows, &self.shares, &self.means);
        let counts = self.shares.sum_axis(Axis(0));
        let total = self.rows.nrows() as f64;
        let log_weights = counts.mapv(|c| (c / total).max(f64::MIN_POSITIVE).ln());
        let covariances: Option<Vec<Covariance>> =
            (0..counts.len()).map(|k| self.covariance(k, counts[k])).collect();
        Some(Mixture::new(log_weights, self.means.clone(), covariances?))
    }

    fn covariance(&self, k: usize, count: f64) -> Option<Covariance> {
        let shares = self.shares.column(k);
        let chosen: Vec<usize> = (0..shares.len()).filter(|&i| shares[i] > LEAST_SHARE).collect();
        let mut off = self.rows.select(Axis(0), &chosen) - self.means.row(k);
        for (mut row, &i) in off.rows_mut().into_iter().zip(&chosen) {
            row *= shares[i].sqrt();
        }
        let weight = count + self.strength;
        match &self.prior {
            Covariance::Full(prior, _) => {
                Covariance::full((linear::gram(&off) + prior * self.strength) / weight)
            }
            Covariance::Diagonal(prior) => {
                let sums = off.map_axis(Axis(0), |c| c.dot(&c));
                Covariance::diagonal((sums + prior * self.strength) / weight)
            }
        }
    }

    /// The logarithm of the prior, up to a constant.
    fn log_prior(&self, mixture: &Mixture) -> f64 {
        let each = |c: &Covariance| c.log_determinant() + c.trace_of_quotient(&self.prior);
        -0.5 * self.strength * mixture.covariances().iter().map(each).sum::<f64>()
    }
}

/// The mean of every component; one without samples stays where it was.
fn weighted_means(rows: &Array2<f64>, shares: &Array2<f64>, old: &Array2<f64>) -> Array2<f64> {
    let counts = shares.sum_axis(Axis(0));
    let mut means = shares.t().dot(rows);
    for (k, mut mean) in means.rows_mut().into_iter().enumerate() {
        if counts[k] > LEAST_SHARE {
            mean /= counts[k];
        } else {
            mean.assign(&old.row(k));
        }
    }
    means
}

/// The covariance within clusters, shrunk so that it can be inverted.
fn pooled(
    rows: &Array2<f64>,
    labels: &[usize],
    means: &Array2<f64>,
    form: Form,
) -> Option<Covariance> {
    let mut off = rows.clone();
    for (mut row, &label) in off.rows_mut().into_iter().zip(labels) {
        row -= &means.row(label);
    }
    let count = rows.nrows();
    let variances: Array1<f64> = off.map_axis(Axis(0), |c| c.dot(&c)) / count as f64;
    // Entries of standardised rows that hardly vary within clusters still need some extent.
    let spread = Spread::new(&variances, &Array1::ones(variances.len()))?;
    match form {
        Form::Diagonal => Covariance::diagonal(spread.variances),
        Form::Full => {
            let covariance = linear::gram(&off) / count as f64;
            Covariance::full(shrink(&covariance, &spread, count, None).0)
        }
    }
}
