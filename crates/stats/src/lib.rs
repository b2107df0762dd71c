//! Statistics that know nothing of models: random numbers, moments, quantiles, distributions, permutation tests,
//! intervals, ranks, conformal p-values, the evidence of batches, and the few factorisations of matrices that they need.
//!
//! Whatever is drawn at random depends on the seed alone: not on the platform, nor on the number of threads.

mod beta;
pub mod beta_binomial;
pub mod binomial;
mod bisect;
pub mod conformal;
pub mod covariance;
mod error;
pub mod evidence;
pub mod groups;
pub mod interval;
pub mod kolmogorov;
pub mod linear;
pub mod logistic;
pub mod moments;
pub mod multiple;
pub mod normal;
pub mod permutation;
pub mod quantile;
pub mod random;
pub mod rank;
pub mod student;
pub mod tally;

pub use error::Error;
use error::refused;

/// The most permutations or resamples that are taken: beyond, nothing is gained but time and memory are lost.
const MOST_DRAWS: usize = 1_000_000;

/// A share such as a confidence level or α, strictly between 0 and 1.
fn within_unit(name: &str, value: f64) -> Result<f64, Error> {
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(refused(format!("{name} must lie between 0 and 1, but is {value}")))
    }
}

/// A number of permutations or resamples.
fn draws(name: &str, count: usize) -> Result<usize, Error> {
    if (1..=MOST_DRAWS).contains(&count) {
        Ok(count)
    } else {
        Err(refused(format!("the number of {name} must be 1 to {MOST_DRAWS}, but is {count}")))
    }
}

/// NaN as +∞: a score that can't be computed is as far out as any.
fn nan_is_far(score: f64) -> f64 {
    if score.is_nan() { f64::INFINITY } else { score }
}

/// The program in the readme runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
