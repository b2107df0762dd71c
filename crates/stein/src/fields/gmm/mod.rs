//! A mixture of Gaussians: s(y) = Σₖ γₖ(y)·Σₖ⁻¹(μₖ − y).

mod clusters;
mod em;
mod mixture;

use std::sync::Arc;

use ndarray::Array2;
use serde_json::{Value, json};
use taste_choice::{Arguments, Choice};
use taste_detector::{
    Described,
    passes::{Gather, Gathered, Watch},
    refused,
};
use taste_graph::{Build, Dim, Id};
use taste_ops::functions;
use taste_stats::random::Random;

use super::{
    Field, FieldFamily, FieldSpec, Learner, Learning,
    noise::Noise,
    rows,
    standard::Standard,
    summary::{self, SAMPLES, Summary},
};
use crate::Error;
use em::Fit;
use mixture::{Form, Mixture, Roots};

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: "gmm",
        usage: "gmm[:K][,diagonal][,noise=SIGMA]",
        about: "a mixture of K Gaussians by expectation maximisation; K by BIC if it is not given",
    },
    read,
};

/// The rows that the mixture is fitted to, and those that the number of components is chosen on.
const DRAWN_ROWS: &str = "drawn";
const CHOOSING_ROWS: &str = "drawn to choose";

/// Samples that are drawn to fit, and entries that they have together.
const DRAWN: usize = 10_000;
const DRAWN_ENTRIES: usize = 1 << 25;
/// Samples that are drawn to choose the number of components.
const DRAWN_TO_CHOOSE: usize = 5_000;
/// Samples of more entries have no full covariances.
const MOST_ENTRIES: usize = 1024;
const MOST_COMPONENTS: usize = 256;
/// Numbers of components to choose from.
const CHOICES: std::ops::RangeInclusive<usize> = 1..=10;
/// The search ends when so many numbers of components in a row were worse than the best.
const PATIENCE: usize = 2;
const LEAST_SAMPLES_EACH: usize = 10;

#[derive(Clone, Copy, Debug)]
struct Asked {
    components: Option<usize>,
    form: Form,
    noise: Noise,
}

fn read(mut arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    let form = if arguments.flag("diagonal") { Form::Diagonal } else { Form::Full };
    let noise = Noise::read(&mut arguments)?;
    let components = match arguments.word() {
        Some(word) => {
            let wanted = format!("a whole number from 1 to {MOST_COMPONENTS}");
            let fits = |k: &usize| (1..=MOST_COMPONENTS).contains(k);
            Some(arguments.as_number("K", word, &wanted, fits)?)
        }
        None => None,
    };
    arguments.finish()?;
    Ok(Arc::new(Asked { components, form, noise }))
}

impl FieldSpec for Asked {
    fn learns(&self) -> bool {
        true
    }

    fn begin(&self, learner: &Learner<'_>) -> Result<Learning, Error> {
        let (data, seed) = (learner.data.clone(), learner.seed);
        summary::check(&data)?;
        let dimension = data.dimension();
        if self.form == Form::Full && dimension > MOST_ENTRIES {
            return Err(refused(format!(
                "{}: full covariances of {dimension} entries are too large for a mixture (at most {MOST_ENTRIES}): use \
                 gmm:{}diagonal",
                data.name,
                self.components.map_or_else(String::new, |k| format!("{k},"))
            )));
        }
        let asked = *self;
        Ok(Learning::pass(self.watches(&data, seed), move |seen| {
            Ok(Learning::done(Gmm::fit(asked, &data, seen, seed)?))
        }))
    }
}

impl Asked {
    /// What is gathered of the samples.
    fn watches(&self, data: &Described, seed: u64) -> Vec<Watch> {
        let rows = |most: usize, seed: u64| {
            let most = most.min(DRAWN_ENTRIES / data.dimension()).max(self.least());
            Gather::Rows { most, seed, whole: false }
        };
        let mut watches = vec![
            Watch::input(SAMPLES, Gather::Moments),
            Watch::input(DRAWN_ROWS, rows(DRAWN, seed)),
        ];
        if self.components.is_none() {
            let gather = rows(DRAWN_TO_CHOOSE, seed.wrapping_add(1));
            watches.push(Watch::input(CHOOSING_ROWS, gather));
        }
        watches
    }

    /// Samples that are needed at least.
    fn least(&self) -> usize {
        LEAST_SAMPLES_EACH * self.components.unwrap_or(1)
    }
}

/// A fitted mixture. It lives in standardised coordinates.
#[derive(Clone, Debug)]
struct Gmm {
    standard: Standard,
    mixture: Mixture,
    roots: Roots,
    report: Value,
}

impl Gmm {
    fn fit(asked: Asked, data: &Described, seen: &Gathered, seed: u64) -> Result<Self, Error> {
        let summary = Summary::of_moments(seen, data, asked.least())?;
        let spread = summary.spread(data)?;
        let mut report = summary.describe(&spread, data);
        report["family"] = json!("gmm");
        let standard = Standard::new(&summary, &spread, data, asked.noise, &mut report);
        let standardised = |name: &str| -> Result<Array2<f64>, Error> {
            Ok(standard.rows(&seen.rows(name)?.values.mapv(f64::from)))
        };
        let z = standardised(DRAWN_ROWS)?;
        let components = if let Some(k) = asked.components {
            k
        } else {
            let some = standardised(CHOOSING_ROWS)?;
            let (best, table) = choose(&some, asked.form, seed)?;
            report["chosen_by"] = json!({ "bic": table, "samples": some.nrows() });
            best
        };
        let fit = em::fit(&z, components, asked.form, &mut Random::new(seed))
            .ok_or_else(|| degenerate(data))?;
        describe(&mut report, &fit, z.nrows());
        let mixture = match standard.noise() {
            Some(own) => fit.mixture.smoothed(&own).ok_or_else(|| degenerate(data))?,
            None => fit.mixture,
        };
        let roots = mixture.roots().ok_or_else(|| degenerate(data))?;
        Ok(Self { standard, mixture, roots, report })
    }

    /// log p(y) for every row.
    #[cfg(test)]
    fn log_density(&self, y: &Array2<f64>) -> ndarray::Array1<f64> {
        let z = self.standard.rows(y);
        self.mixture.log_density(&z) - self.standard.scale.mapv(f64::ln).sum()
    }
}

fn degenerate(data: &Described) -> Error {
    refused(format!(
        "{}: the mixture has a component without extent; use fewer components or gmm:K,diagonal",
        data.name
    ))
}

fn describe(report: &mut Value, fit: &Fit, drawn: usize) {
    report["components"] = json!(fit.mixture.len());
    report["covariance"] = json!(match fit.mixture.form() {
        Form::Full => "full",
        Form::Diagonal => "diagonal",
    });
    report["weights"] = json!(fit.mixture.weights());
    report["drawn"] = json!(drawn);
    report["starts"] = json!(fit.starts);
    report["iterations"] = json!(fit.objective.len());
    report["converged"] = json!(fit.converged);
    report["log_likelihood"] = json!(fit.log_likelihood / drawn as f64);
    report["prior_samples"] = json!(fit.prior_samples);
}

/// The number of components with the least Bayesian information criterion, and the criterion of all tried.
fn choose(z: &Array2<f64>, form: Form, seed: u64) -> Result<(usize, Vec<f64>), Error> {
    let mut table: Vec<f64> = Vec::new();
    let (mut best, mut least) = (1, f64::INFINITY);
    for k in CHOICES {
        let enough = k == 1 || z.nrows() >= k * LEAST_SAMPLES_EACH;
        if !enough || k - best > PATIENCE {
            break;
        }
        let Some(fit) = em::fit(z, k, form, &mut Random::new(seed)) else { break };
        let n = z.nrows() as f64;
        let criterion = fit.mixture.parameters() as f64 * n.ln() - 2.0 * fit.log_likelihood;
        if criterion < least {
            (best, least) = (k, criterion);
        }
        table.push(criterion);
    }
    if table.is_empty() {
        return Err(refused("no mixture could be fitted: the samples have no extent"));
    }
    Ok((best, table))
}

impl Field for Gmm {
    fn describe(&self) -> Value {
        self.report.clone()
    }

    fn noise(&self) -> Vec<f64> {
        self.standard.noise_deviations()
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let z = self.standard.forth(b, y)?;
        let (k, d, n) = (self.mixture.len(), self.mixture.means().ncols(), b.fact(z).shape[0]);
        let z = b.reshape(z, &[Dim::from(1), n, Dim::from(d)])?;
        let means = rows::parameter(b, &[k, 1, d], self.mixture.means().iter().copied().collect())?;
        let off = b.sub(means, z)?;
        // Σₖ^(−1/2) once for the density and once more for its gradient.
        let (white, pull) = match &self.roots {
            Roots::Diagonal(roots) => {
                let roots = rows::parameter(b, &[k, 1, d], roots.iter().copied().collect())?;
                let white = b.mul(off, roots)?;
                (white, b.mul(white, roots)?)
            }
            Roots::Full(roots) => {
                let entries = roots.iter().flat_map(|r| r.iter().copied()).collect();
                let roots = rows::parameter(b, &[k, d, d], entries)?;
                let white = functions::matmul(b, off, roots)?;
                (white, functions::matmul(b, white, roots)?)
            }
        };
        let length = functions::square_sum(b, white, 2)?;
        let half = b.scale(length, -0.5)?;
        let heights = rows::parameter(b, &[k, 1, 1], self.mixture.log_heights().to_vec())?;
        let logits = b.add(half, heights)?;
        let shares = functions::softmax(b, logits, 0)?;
        let weighted = b.mul(pull, shares)?;
        let sum = b.sum(weighted, &[0])?;
        let score = b.reshape(sum, &[n, Dim::from(d)])?;
        self.standard.back(b, score, y)
    }
}

#[cfg(test)]
mod tests;
