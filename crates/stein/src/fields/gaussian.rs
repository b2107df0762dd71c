//! One Gaussian: s(y) = −Σ⁻¹(y − μ), fitted in standardised coordinates.

use std::sync::Arc;

use ndarray::Array2;
use serde_json::{Value, json};
use taste_choice::{Arguments, Choice};
use taste_detector::{
    Described,
    passes::{Gather, Gathered, Watch},
    refused,
};
use taste_graph::{Build, Id};
use taste_ops::functions;
use taste_stats::linear;

use super::{
    Field, FieldFamily, FieldSpec, Learner, Learning,
    noise::Noise,
    rows,
    shrinkage::shrink,
    standard::Standard,
    summary::{self, SAMPLES, Summary},
};
use crate::Error;

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: "gaussian",
        usage: "gaussian[:diagonal | :shrinkage=0..1][,noise=SIGMA]",
        about: "one Gaussian with shrunk covariance, fitted in one pass",
    },
    read,
};

/// Samples of more entries have no full covariance.
const MOST_ENTRIES: usize = 4096;
/// Fewer samples are refused.
const LEAST_SAMPLES: usize = 10;

#[derive(Clone, Copy, Debug)]
struct Asked {
    form: Form,
    noise: Noise,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Diagonal,
    Full { shrinkage: Option<f64> },
}

fn read(mut arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    let diagonal = arguments.flag("diagonal");
    let shrinkage =
        arguments.number("shrinkage", "a number from 0 to 1", |v| (0.0..=1.0).contains(v))?;
    let noise = Noise::read(&mut arguments)?;
    arguments.finish()?;
    let form = match (diagonal, shrinkage) {
        (true, Some(_)) => {
            return Err(refused(
                "shrinkage pulls correlations towards zero, so it goes with a full covariance alone: leave out \
                 \"diagonal\" or \"shrinkage\"",
            ));
        }
        (true, None) => Form::Diagonal,
        (false, shrinkage) => Form::Full { shrinkage },
    };
    Ok(Arc::new(Asked { form, noise }))
}

impl FieldSpec for Asked {
    fn learns(&self) -> bool {
        true
    }

    fn begin(&self, learner: &Learner<'_>) -> Result<Learning, Error> {
        let data = learner.data.clone();
        summary::check(&data)?;
        let is_full = matches!(self.form, Form::Full { .. });
        if is_full && data.dimension() > MOST_ENTRIES {
            return Err(refused(format!(
                "{}: a full covariance of {} entries is too large (at most {MOST_ENTRIES}): use gaussian:diagonal",
                data.name,
                data.dimension()
            )));
        }
        let gather = if is_full { Gather::Covariance } else { Gather::Moments };
        let asked = *self;
        Ok(Learning::pass(vec![Watch::input(SAMPLES, gather)], move |seen| {
            Ok(Learning::done(Gaussian::fit(asked, &data, seen)?))
        }))
    }
}

#[derive(Clone, Debug)]
enum Precision {
    Identity,
    Full(Array2<f64>),
}

#[derive(Clone, Debug)]
struct Gaussian {
    standard: Standard,
    /// In standardised coordinates.
    precision: Precision,
    report: Value,
}

impl Gaussian {
    fn fit(asked: Asked, data: &Described, seen: &Gathered) -> Result<Self, Error> {
        let summary = match asked.form {
            Form::Full { .. } => Summary::of_covariance(seen, data, LEAST_SAMPLES)?,
            Form::Diagonal => Summary::of_moments(seen, data, LEAST_SAMPLES)?,
        };
        let spread = summary.spread(data)?;
        let mut report = summary.describe(&spread, data);
        report["family"] = json!("gaussian");
        let standard = Standard::new(&summary, &spread, data, asked.noise, &mut report);
        let precision = match asked.form {
            Form::Full { shrinkage } => {
                let covariance = seen.covariance(SAMPLES)?.matrix().unwrap_or_default();
                let (mut shrunk, intensity) =
                    shrink(&covariance, &spread, summary.count, shrinkage);
                let scale = &standard.scale;
                for ((i, j), c) in shrunk.indexed_iter_mut() {
                    *c = if i == j { 1.0 } else { *c / (scale[i] * scale[j]) };
                }
                report["covariance"] = json!("full");
                report["shrinkage"] = json!(intensity);
                report["shrinkage_by"] =
                    json!(if shrinkage.is_some() { "given" } else { "OAS, correlations" });
                Precision::Full(invert(&shrunk, summary.count, data)?)
            }
            Form::Diagonal => {
                report["covariance"] = json!("diagonal");
                Precision::Identity
            }
        };
        Ok(Self { standard, precision, report })
    }
}

/// The inverse of standardised covariances, if it is one that single precision can work with.
fn invert(covariance: &Array2<f64>, count: usize, data: &Described) -> Result<Array2<f64>, Error> {
    let least = |a: &Array2<f64>| {
        // 1/(Σ⁻¹)ᵢᵢ is the share of entry i that the others do not determine.
        a.diag().iter().all(|p| *p < 1e10)
    };
    linear::inverse(covariance).filter(least).ok_or_else(|| {
        refused(format!(
            "{}: the covariance of {count} samples of {} entries can't be inverted: use a shrinkage above 0, or \
             leave it to the program",
            data.name,
            covariance.nrows()
        ))
    })
}

impl Field for Gaussian {
    fn describe(&self) -> Value {
        self.report.clone()
    }

    fn noise(&self) -> Vec<f64> {
        self.standard.noise_deviations()
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let z = self.standard.forth(b, y)?;
        let below = b.neg(z)?;
        let score = match &self.precision {
            Precision::Identity => below,
            Precision::Full(precision) => {
                let (dimension, entries) = (precision.nrows(), precision.iter().copied().collect());
                let precision = rows::parameter(b, &[dimension, dimension], entries)?;
                functions::matmul(b, below, precision)?
            }
        };
        self.standard.back(b, score, y)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, ArrayD, Axis, arr1, arr2};
    use taste_data::InMemory;

    use super::*;
    use crate::fields::{fit, parse, testing};

    /// x = m + A·z with z standard normal.
    fn correlated(rows: usize, seed: u64) -> (ArrayD<f32>, Array1<f64>, Array2<f64>) {
        let a = arr2(&[[2.0, 0.0, 0.0], [0.5, 0.3, 0.0], [-1.0, 0.1, 0.7]]);
        let mean = arr1(&[10.0, -1.0, 0.5]);
        let data = testing::affine(&testing::normal_samples(rows, 3, seed), &a, &mean);
        (data, mean, a.dot(&a.t()))
    }

    #[test]
    fn the_score_of_a_gaussian_is_recovered() {
        let (data, mean, covariance) = correlated(40_000, 5);
        let samples = InMemory::new("data", data);
        let model = fit(&*parse("gaussian").expect("read"), &samples, 0).expect("fitted");
        let points = correlated(50, 6).0;
        let got = testing::scores(&*model, &points);
        let precision = linear::inverse(&covariance).expect("definite");
        for (x, s) in points.axis_iter(Axis(0)).zip(got.axis_iter(Axis(0))) {
            let off: Array1<f64> = x.iter().zip(&mean).map(|(x, m)| m - f64::from(*x)).collect();
            let exact = precision.dot(&off);
            // The precision has relative errors of about √(2/n); the mean is off by √(Σ/n).
            for (i, (s, e)) in s.iter().zip(&exact).enumerate() {
                let terms = &precision.row(i) * &off;
                let size = terms.mapv(f64::abs).sum() + precision[[i, i]].sqrt() * 2.0;
                assert!((s - e).abs() < 5.0 * size * (2.0f64 / 40_000.0).sqrt(), "{s} for {e}");
            }
        }
        let report = model.describe();
        assert_eq!(report["samples"], 40_000);
        assert!(report["shrinkage"].as_f64().is_some_and(|s| s > 0.0 && s < 1e-3), "{report}");
    }

    #[test]
    fn engines_agree_and_images_keep_their_shape() {
        let data = correlated(300, 2).0.into_shape_with_order(vec![300, 3, 1, 1]).expect("images");
        let samples = InMemory::new("data", data.clone());
        for text in ["gaussian", "gaussian:diagonal", "gaussian:shrinkage=0.2", "standard-normal"] {
            let model = fit(&*parse(text).expect("read"), &samples, 0).expect("fitted");
            testing::engines_agree(&*model, &data);
        }
    }

    #[test]
    fn entries_that_do_not_vary_are_named_and_do_no_harm() {
        let mut data = correlated(100, 1).0;
        data.index_axis_mut(Axis(1), 1).fill(7.0);
        data[[4, 0]] = f32::NAN;
        let samples = InMemory::new("data", data.clone());
        for text in ["gaussian", "gaussian:diagonal"] {
            let model = fit(&*parse(text).expect("read"), &samples, 0).expect("fitted");
            let report = model.describe();
            assert_eq!(report["skipped"], 1, "{report}");
            assert_eq!(report["constant_entries"]["first"][0], 1, "{report}");
            let scores = testing::scores(&*model, &testing::normal_samples(5, 3, 2));
            assert!(scores.iter().all(|s| s.is_finite()));
        }
    }

    #[test]
    fn what_can_not_be_fitted_is_said_in_a_sentence() {
        let says = |text: &str, data: ArrayD<f32>, part: &str| {
            let samples = InMemory::new("d.npy", data);
            let fitted = fit(&*parse(text).expect("read"), &samples, 0);
            let message = fitted.map(|_| ()).expect_err("refused").to_string();
            assert!(message.contains(part) && message.contains("d.npy"), "{message}");
        };
        says("gaussian", ArrayD::zeros(vec![20, 3]), "all samples are equal");
        says("gaussian", testing::normal_samples(9, 3, 0), "at least 10 samples");
        says("gaussian", ArrayD::zeros(vec![20, 5000]), "use gaussian:diagonal");
        says("gaussian:shrinkage=0", testing::normal_samples(12, 30, 0), "can't be inverted");
        says("gaussian", ArrayD::zeros(vec![20, 0]), "no entries");
        let samples = InMemory::new("d.npy", testing::normal_samples(30, 3, 0));
        let model = fit(&*parse("gaussian").expect("read"), &samples, 0).expect("fitted");
        let message = testing::try_scores(&*model, &testing::normal_samples(2, 4, 0));
        let message = message.expect_err("4 for 3").to_string();
        assert!(message.contains("fitted to samples of 3 entries"), "{message}");
    }

    #[test]
    fn noise_adds_to_the_variance_and_images_have_some() {
        // Two by two pixels of which the last never varies.
        let mut values = crate::fields::testing::normal_samples(4000, 4, 5);
        values.index_axis_mut(Axis(1), 3).fill(0.5);
        let images = values.into_shape_with_order(vec![4000, 2, 2]).expect("2 × 2");
        let images = InMemory::new("images", images);
        let model = crate::fields::parse("gaussian:diagonal,noise=0.5").expect("read");
        let model = fit(&*model, &images, 0).expect("fitted");
        let at = ArrayD::from_elem(vec![1, 2, 2], 1.0f32);
        let scores = crate::fields::testing::scores(&*model, &at);
        // −(1 − 0)/(1 + 0.25), and −(1 − 0.5)/0.25 where there is noise alone.
        assert!((scores[[0, 0, 0]] + 0.8).abs() < 0.1, "{scores}");
        assert!((scores[[0, 1, 1]] + 2.0).abs() < 1e-3, "{scores}");
        let own =
            crate::fields::fit(&*parse("gaussian").expect("read"), &images, 0).expect("fitted");
        let noise = own.describe()["noise"].as_f64().expect("a number");
        // Three of four entries have variance one.
        assert!((noise - 0.2 * 0.75f64.sqrt()).abs() < 0.01, "{noise}");
    }
}
