//! A mixture of Gaussians: s(y) = Σₖ γₖ(y)·Σₖ⁻¹(μₖ − y).

mod clusters;
mod em;
mod mixture;

use ndarray::{Array1, Array2};
use serde_json::{Value, json};
use taste_data::{Samples, draw};
use taste_graph::{Build, Dim, Id};
use taste_ops::functions;

use super::{
    ScoreModel, Specification,
    arguments::Arguments,
    moments::Moments,
    noise::{Noise, smoothed},
    rows,
};
use crate::{Error, error::request, stats::random::Random};
use em::Fit;
use mixture::{Form, Mixture, Roots};

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

pub(super) fn read(mut arguments: Arguments<'_>) -> Result<Box<dyn Specification>, Error> {
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
    Ok(Box::new(Asked { components, form, noise }))
}

impl Specification for Asked {
    fn learns(&self) -> bool {
        true
    }

    fn fit(&self, samples: &dyn Samples, seed: u64) -> Result<Box<dyn ScoreModel>, Error> {
        Ok(Box::new(Gmm::fit(*self, samples, seed)?))
    }
}

/// A fitted mixture. It lives in standardised coordinates z = (y − centre)/scale.
#[derive(Clone, Debug)]
struct Gmm {
    centre: Array1<f64>,
    scale: Array1<f64>,
    mixture: Mixture,
    roots: Roots,
    noise: f64,
    report: Value,
}

impl Gmm {
    fn fit(asked: Asked, samples: &dyn Samples, seed: u64) -> Result<Self, Error> {
        let dimension: usize = samples.sample_shape().iter().product();
        if asked.form == Form::Full && dimension > MOST_ENTRIES {
            return Err(request(format!(
                "{}: full covariances of {dimension} entries are too large for a mixture (at most \
                 {MOST_ENTRIES}): use gmm:{}diagonal",
                samples.name(),
                asked.components.map_or_else(String::new, |k| format!("{k},"))
            )));
        }
        let least = LEAST_SAMPLES_EACH * asked.components.unwrap_or(1);
        let moments = Moments::of(samples, false, least)?;
        let spread = moments.spread(samples)?;
        let mut report = moments.describe(&spread, samples.columns());
        report["family"] = json!("gmm");
        let noise = asked.noise.variance(samples, &spread, &mut report);
        let (centre, scale) = (moments.mean.clone(), smoothed(&spread, noise).mapv(f64::sqrt));
        let standardised = |most: usize, seed: u64| -> Result<Array2<f64>, Error> {
            let most = most.min(DRAWN_ENTRIES / dimension).max(least);
            let drawn = rows::matrix(&draw(samples, most, seed)?, dimension);
            Ok((drawn - &centre) / &scale)
        };
        let z = standardised(DRAWN, seed)?;
        let components = if let Some(k) = asked.components {
            k
        } else {
            let some = standardised(DRAWN_TO_CHOOSE, seed.wrapping_add(1))?;
            let (best, table) = choose(&some, asked.form, seed)?;
            report["chosen_by"] = json!({ "bic": table, "samples": some.nrows() });
            best
        };
        let fit = em::fit(&z, components, asked.form, &mut Random::new(seed))
            .ok_or_else(|| degenerate(samples))?;
        describe(&mut report, &fit, z.nrows());
        let mixture = if noise > 0.0 {
            // The noise of y in the coordinates of z.
            let own = scale.mapv(|s| noise / (s * s));
            fit.mixture.smoothed(&own).ok_or_else(|| degenerate(samples))?
        } else {
            fit.mixture
        };
        let roots = mixture.roots().ok_or_else(|| degenerate(samples))?;
        Ok(Self { centre, scale, mixture, roots, noise: noise.sqrt(), report })
    }

    /// log p(y) for every row.
    #[cfg(test)]
    fn log_density(&self, y: &Array2<f64>) -> Array1<f64> {
        let z = (y - &self.centre) / &self.scale;
        self.mixture.log_density(&z) - self.scale.mapv(f64::ln).sum()
    }
}

fn degenerate(samples: &dyn Samples) -> Error {
    request(format!(
        "{}: the mixture has a component without extent; use fewer components or gmm:K,diagonal",
        samples.name()
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
        return Err(request("no mixture could be fitted: the samples have no extent"));
    }
    Ok((best, table))
}

impl ScoreModel for Gmm {
    fn describe(&self) -> Value {
        self.report.clone()
    }

    fn noise(&self) -> Vec<f64> {
        vec![self.noise]
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let (k, d) = (self.mixture.len(), self.centre.len());
        let flat = rows::flat(b, y, d)?;
        let n = b.fact(flat).shape[0];
        let centre = rows::parameter(b, &[1, d], self.centre.to_vec())?;
        let inverse_scale = rows::parameter(b, &[1, d], self.scale.mapv(f64::recip).to_vec())?;
        let centred = b.sub(flat, centre)?;
        let z = b.mul(centred, inverse_scale)?;
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
        let rows = b.reshape(sum, &[n, Dim::from(d)])?;
        let score = b.mul(rows, inverse_scale)?;
        rows::like(b, score, y)
    }
}

#[cfg(test)]
mod tests;
