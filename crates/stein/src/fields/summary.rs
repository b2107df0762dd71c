//! Means and variances of the samples that a score model is fitted to.

use ndarray::Array1;
use serde_json::{Value, json};
use taste_detector::{Described, passes::Gathered, refused};

use super::shrinkage::Spread;
use crate::Error;

/// The name that samples have in passes.
pub(super) const SAMPLES: &str = "samples";

/// What one pass over the samples gives.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    /// Samples with finite entries.
    pub(super) count: usize,
    /// Samples with other entries.
    pub(super) skipped: usize,
    pub(super) mean: Array1<f64>,
    /// Sums of squares about the mean, over the number of samples.
    variances: Array1<f64>,
}

impl Summary {
    /// From moments; at least `least` samples must have finite entries.
    pub(super) fn of_moments(
        seen: &Gathered,
        data: &Described,
        least: usize,
    ) -> Result<Self, Error> {
        enough(seen, data, least)?;
        let moments = seen.moments(SAMPLES)?;
        let count = moments.count() as f64;
        let unbiased = moments.variance().unwrap_or_else(|| vec![0.0; moments.width()]);
        Ok(Self {
            count: seen.used(),
            skipped: seen.bad_inputs(),
            mean: moments.mean().unwrap_or_default().iter().copied().collect(),
            variances: unbiased.iter().map(|v| v * (count - 1.0) / count).collect(),
        })
    }

    /// From a covariance; at least `least` samples must have finite entries.
    pub(super) fn of_covariance(
        seen: &Gathered,
        data: &Described,
        least: usize,
    ) -> Result<Self, Error> {
        enough(seen, data, least)?;
        let covariance = seen.covariance(SAMPLES)?;
        let variances = covariance.matrix().map(|m| m.diag().to_owned()).unwrap_or_default();
        let mean = covariance.mean();
        Ok(Self { count: seen.used(), skipped: seen.bad_inputs(), mean, variances })
    }

    /// The variance of every entry; an error if none varies.
    pub(super) fn spread(&self, data: &Described) -> Result<Spread, Error> {
        Spread::new(&self.variances, &self.mean).ok_or_else(|| {
            refused(format!("{}: all samples are equal, so there is no density to fit", data.name))
        })
    }

    /// The numbers that every fitted family reports.
    pub(super) fn describe(&self, spread: &Spread, data: &Described) -> Value {
        const SHOWN: usize = 20;
        let mut report = json!({
            "dimension": self.mean.len(),
            "samples": self.count,
            "skipped": self.skipped,
        });
        if !spread.constant.is_empty() {
            let name = |&i: &usize| match data.columns.as_ref().and_then(|c| c.get(i)) {
                Some(name) => json!(name),
                None => json!(i),
            };
            report["constant_entries"] = json!({
                "count": spread.constant.len(),
                "first": spread.constant.iter().take(SHOWN).map(name).collect::<Vec<_>>(),
            });
            if data.sample_shape.len() > 1 {
                report["constant_entries"]["variance_used"] = json!(spread.stand_in);
            }
        }
        report
    }
}

/// Samples that there is a density of.
pub(super) fn check(data: &Described) -> Result<(), Error> {
    if data.dimension() == 0 {
        return Err(refused(format!("{}: the samples have no entries", data.name)));
    }
    Ok(())
}

fn enough(seen: &Gathered, data: &Described, least: usize) -> Result<(), Error> {
    if seen.used() >= least {
        return Ok(());
    }
    Err(refused(format!(
        "{}: the score model wants at least {least} samples with finite entries, got {} ({} more had entries that are \
         not finite)",
        data.name,
        seen.used(),
        seen.bad_inputs()
    )))
}

#[cfg(test)]
mod tests {
    use taste_data::InMemory;
    use taste_detector::passes::{Gather, Watch};

    use super::*;
    use crate::fields::testing::{gathered, normal_samples};

    #[test]
    fn moments_are_the_diagonal_of_the_covariance() {
        let samples = InMemory::new("data", normal_samples(3000, 4, 3));
        let data = Described::of(&samples);
        let seen = |gather| gathered(&samples, &[Watch::input(SAMPLES, gather)]);
        let full = Summary::of_covariance(&seen(Gather::Covariance), &data, 2).expect("full");
        let diagonal = Summary::of_moments(&seen(Gather::Moments), &data, 2).expect("diagonal");
        let near = |a: &Array1<f64>, b: &Array1<f64>| (a - b).iter().all(|d| d.abs() < 1e-11);
        assert!(near(&full.mean, &diagonal.mean) && near(&full.variances, &diagonal.variances));
        assert_eq!((full.count, diagonal.count), (3000, 3000));
    }

    #[test]
    fn rows_that_are_not_finite_are_counted_and_too_few_rows_refused() {
        let mut data = normal_samples(12, 2, 0);
        data[[3, 1]] = f32::NAN;
        data[[5, 0]] = f32::INFINITY;
        let samples = InMemory::new("small.npy", data);
        let data = Described::of(&samples);
        let seen = gathered(&samples, &[Watch::input(SAMPLES, Gather::Moments)]);
        let summary = Summary::of_moments(&seen, &data, 10).expect("ten are left");
        assert_eq!((summary.count, summary.skipped), (10, 2));
        let message = Summary::of_moments(&seen, &data, 11).expect_err("too few").to_string();
        assert!(message.contains("small.npy: the score model wants at least 11"), "{message}");
    }
}
