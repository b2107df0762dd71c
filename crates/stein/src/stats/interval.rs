//! Intervals for a difference of means: a batch against calibration data, both known from samples only.

use rayon::prelude::*;

use super::{draws, moments::Summary, random::Random, robust::Quantile, student, within_unit};
use crate::{Error, error::request};

/// An estimate and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether a value lies within, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Welch's interval for the mean of the batch less that of the reference.
pub fn welch(batch: Summary, reference: Summary, level: f64) -> Result<Interval, Error> {
    within_unit("the confidence level", level)?;
    if batch.count < 2 || reference.count < 2 {
        return Err(too_few(batch.count, reference.count));
    }
    let estimate = batch.mean - reference.mean;
    let [own, other] = [batch, reference].map(|s| s.variance / s.count as f64);
    let square = own + other;
    let margin = if square > 0.0 {
        // Shares of the variance, so that nothing overflows.
        let [a, b] = [(own / square, batch.count), (other / square, reference.count)]
            .map(|(share, count)| share * share / (count - 1) as f64);
        student::quantile(0.5 + level / 2.0, 1.0 / (a + b)) * square.sqrt()
    } else {
        0.0
    };
    Ok(Interval { estimate, low: estimate - margin, high: estimate + margin })
}

/// The studentised bootstrap interval for the same difference: both sides are drawn again with replacement,
/// `resamples` times, and the studentised differences take the place of Student's distribution. Values must be
/// finite.
pub fn bootstrap(
    batch: &[f64],
    reference: &[f64],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Result<Interval, Error> {
    within_unit("the confidence level", level)?;
    draws("resamples", resamples)?;
    let (own, other) = summaries(batch, reference)?;
    let error = own.standard_error().hypot(other.standard_error());
    let centred = |values: &[f64], mean| values.iter().map(|v| v - mean).collect::<Vec<f64>>();
    let (batch, reference) = (centred(batch, own.mean), centred(reference, other.mean));
    let mut studentised: Vec<f64> = (0..resamples as u64)
        .into_par_iter()
        .map(|number| {
            let mut random = Random::stream(seed, number);
            let (own, other) = (drawn(&batch, &mut random), drawn(&reference, &mut random));
            let difference = own.mean - other.mean;
            let error = own.standard_error().hypot(other.standard_error());
            if difference.abs() > 0.0 { difference / error } else { 0.0 }
        })
        .collect();
    studentised.sort_unstable_by(f64::total_cmp);
    // Outwards on both sides, as the ranks of a permutation test.
    let outside = (1.0 - level) / 2.0;
    let end = |share: f64| Quantile::InverseCdf.of_sorted(&studentised, share).unwrap_or(f64::NAN);
    let estimate = own.mean - other.mean;
    let (low, high) = (end(outside), end(1.0 - outside));
    Ok(Interval { estimate, low: estimate - high * error, high: estimate - low * error })
}

fn drawn(values: &[f64], random: &mut Random) -> Summary {
    let count = values.len() as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..values.len() {
        let value = values[random.below(values.len())];
        sum += value;
        squares += value * value;
    }
    let variance = ((squares - sum * sum / count) / (count - 1.0)).max(0.0);
    Summary { mean: sum / count, variance, count: values.len() as u64 }
}

fn summaries(batch: &[f64], reference: &[f64]) -> Result<(Summary, Summary), Error> {
    Summary::of(batch)
        .zip(Summary::of(reference))
        .ok_or_else(|| too_few(batch.len() as u64, reference.len() as u64))
}

fn too_few(batch: u64, reference: u64) -> Error {
    request(format!(
        "an interval for a difference of means needs two samples on each side, but the batch has \
         {batch} and the reference {reference}"
    ))
}
