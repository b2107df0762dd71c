//! Gaussian kernels on drawn samples: s(y) = Σᵢ wᵢ(y)·(xᵢ − y)/h² with h a bandwidth for every entry.

use std::sync::Arc;

use ndarray::{Array1, Array2, Axis};
use serde_json::{Value, json};
use taste_choice::{Arguments, Choice};
use taste_detector::{
    Described, KeptRows,
    passes::{Gather, Gathered, Watch},
};
use taste_graph::{Build, Id};
use taste_ops::functions;
use taste_stats::linear;

use super::{
    Field, FieldFamily, FieldSpec, Learner, Learning,
    noise::Noise,
    rows,
    standard::Standard,
    summary::{self, SAMPLES, Summary},
};
use crate::Error;

pub(super) const FAMILY: FieldFamily = FieldFamily {
    choice: Choice {
        name: "kde",
        usage: "kde[:H][,noise=SIGMA]",
        about: "Gaussian kernels of H standard deviations on drawn samples, which stay in the file; H by leaving one \
                out if it is not given",
    },
    read,
};

/// The rows that kernels stand on.
const DRAWN: &str = "drawn";

/// Samples that are kept, and entries that they have together.
const KEPT: usize = 2000;
const KEPT_ENTRIES: usize = 1 << 23;
const LEAST_SAMPLES: usize = 10;
/// Bandwidths that are tried: powers of two, in quarters of a power, times Scott's rule.
const POWERS: std::ops::RangeInclusive<i32> = -16..=8;

#[derive(Clone, Copy, Debug)]
struct Asked {
    bandwidth: Option<f64>,
    noise: Noise,
}

fn read(mut arguments: Arguments<'_>) -> Result<Arc<dyn FieldSpec>, Error> {
    let bandwidth = match arguments.word() {
        Some(word) => {
            let fits = |h: &f64| *h > 0.0 && h.is_finite();
            Some(arguments.as_number("H", word, "a positive number", fits)?)
        }
        None => None,
    };
    let noise = Noise::read(&mut arguments)?;
    arguments.finish()?;
    Ok(Arc::new(Asked { bandwidth, noise }))
}

impl FieldSpec for Asked {
    fn learns(&self) -> bool {
        true
    }

    fn keeps(&self) -> Option<&'static str> {
        Some("training samples")
    }

    fn begin(&self, learner: &Learner<'_>) -> Result<Learning, Error> {
        let data = learner.data.clone();
        summary::check(&data)?;
        let (asked, watches) = (*self, watches(&data, learner.seed));
        Ok(Learning::pass(watches, move |seen| Ok(Learning::done(Kde::fit(asked, &data, seen)?))))
    }
}

/// What is gathered of the samples.
fn watches(data: &Described, seed: u64) -> Vec<Watch> {
    let most = KEPT.min(KEPT_ENTRIES / data.dimension()).max(LEAST_SAMPLES);
    vec![
        Watch::input(SAMPLES, Gather::Moments),
        Watch::input(DRAWN, Gather::Rows { most, seed, whole: false }),
    ]
}

/// Kernels of width 1 in coordinates that count bandwidths.
#[derive(Clone, Debug)]
struct Kde {
    standard: Standard,
    /// The samples that were kept, in these coordinates.
    points: Array2<f64>,
    report: Value,
}

impl Kde {
    fn fit(asked: Asked, data: &Described, seen: &Gathered) -> Result<Self, Error> {
        let summary = Summary::of_moments(seen, data, LEAST_SAMPLES)?;
        let spread = summary.spread(data)?;
        let drawn = seen.rows(DRAWN)?.values.mapv(f64::from);
        let mut report = summary.describe(&spread, data);
        let standard = Standard::new(&summary, &spread, data, asked.noise, &mut report);
        let standardised = standard.rows(&drawn);
        let bandwidth = asked.bandwidth.unwrap_or_else(|| leave_one_out(&standardised));
        report["family"] = json!("kde");
        report["kept"] = json!(standardised.nrows());
        report["bandwidth"] = json!(bandwidth);
        report["bandwidth_unit"] = json!("standard deviations of each entry, noise included");
        report["bandwidth_by"] =
            json!(if asked.bandwidth.is_some() { "given" } else { "likelihood, leaving one out" });
        let points = standardised / bandwidth;
        Ok(Self { standard: standard.widened(bandwidth), points, report })
    }

    /// log p(y) for every row, up to a constant.
    #[cfg(test)]
    fn log_density(&self, y: &Array2<f64>) -> Array1<f64> {
        let z = self.standard.rows(y);
        z.map_axis(Axis(1), |z| {
            let off = &self.points - &z;
            let sum: f64 = off.rows().into_iter().map(|o| (-0.5 * o.dot(&o)).exp()).sum();
            sum.ln()
        })
    }
}

/// The bandwidth under which every sample is likeliest given the others.
fn leave_one_out(points: &Array2<f64>) -> f64 {
    let (n, d) = (points.nrows(), points.ncols() as f64);
    let scott = (n as f64).powf(-1.0 / (d + 4.0));
    let squares = points.map_axis(Axis(1), |p| p.dot(&p));
    let products = linear::inner_products(points, points);
    let mut distances = Array2::from_shape_fn((n, n), |(i, j)| {
        (squares[i] + squares[j] - 2.0 * products[[i, j]]).max(0.0)
    });
    distances.diag_mut().fill(f64::INFINITY);
    let nearest: Array1<f64> =
        distances.map_axis(Axis(1), |row| row.iter().copied().fold(f64::INFINITY, f64::min));
    let likelihood = |h: f64| {
        let precision = 0.5 / (h * h);
        let terms = distances.rows().into_iter().zip(&nearest).map(|(row, near)| {
            let sum: f64 = row.iter().map(|v| ((near - v) * precision).exp()).sum();
            sum.ln() - near * precision
        });
        terms.sum::<f64>() - n as f64 * d * h.ln()
    };
    let candidates = POWERS.map(|quarter| scott * (f64::from(quarter) / 4.0).exp2());
    candidates
        .map(|h| (h, likelihood(h)))
        .fold((scott, f64::NEG_INFINITY), |best, c| if c.1 > best.1 { c } else { best })
        .0
}

impl Field for Kde {
    fn describe(&self) -> Value {
        self.report.clone()
    }

    fn noise(&self) -> Vec<f64> {
        let finite = |w: &f64| if w.is_finite() { *w } else { 0.0 };
        self.standard.scale.iter().map(finite).collect()
    }

    fn rows(&self) -> Option<KeptRows> {
        let (count, width) = self.points.dim();
        Some(KeptRows { what: "training samples, standardised".to_owned(), count, width })
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let (n, d) = (self.points.nrows(), self.points.ncols());
        let z = self.standard.forth(b, y)?;
        // −½‖z − x‖² without ‖z‖², which is the same for every x.
        let points = rows::parameter(b, &[n, d], self.points.iter().copied().collect())?;
        let turned = b.transpose(points, &[1, 0])?;
        let products = functions::matmul(b, z, turned)?;
        let halves = self.points.map_axis(Axis(1), |p| -0.5 * p.dot(&p));
        let halves = rows::parameter(b, &[1, n], halves.to_vec())?;
        let logits = b.add(products, halves)?;
        let weights = functions::softmax(b, logits, 1)?;
        let mean = functions::matmul(b, weights, points)?;
        let off = b.sub(mean, z)?;
        self.standard.back(b, off, y)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, arr1, arr2};
    use taste_data::InMemory;

    use super::*;
    use crate::fields::{fit, parse, testing};

    fn plane(rows: usize, seed: u64) -> ArrayD<f32> {
        let a = arr2(&[[3.0, 0.0], [1.0, 0.5]]);
        testing::affine(&testing::normal_samples(rows, 2, seed), &a, &arr1(&[100.0, -7.0]))
    }

    #[test]
    fn the_score_is_the_gradient_of_the_log_density_and_engines_agree() {
        let samples = InMemory::new("data", plane(300, 1));
        let data = Described::of(&samples);
        let seen = testing::gathered(&samples, &watches(&data, 0));
        for bandwidth in [None, Some(0.15)] {
            let asked = Asked { bandwidth, noise: Noise::none() };
            let kde = Kde::fit(asked, &data, &seen).expect("fitted");
            testing::is_gradient(&kde, |y| kde.log_density(y), &testing::matrix(&plane(20, 2), 2));
            testing::engines_agree(&kde, &plane(50, 3));
            let far = ArrayD::from_elem(vec![1, 2], 1e4f32);
            testing::engines_agree(&kde, &far);
            assert!(testing::scores(&kde, &far).iter().all(|s| *s < 0.0));
        }
    }

    #[test]
    fn the_bandwidth_of_normal_data_is_about_that_of_scotts_rule() {
        let fit = |rows| {
            let samples = InMemory::new("data", plane(rows, 4));
            let report =
                fit(&*parse("kde").expect("read"), &samples, 0).expect("fitted").describe();
            report["bandwidth"].as_f64().expect("a number")
        };
        let (few, many) = (fit(60), fit(1500));
        // Correlated entries want a little less than the rule for independent ones.
        for (h, n) in [(few, 60f64), (many, 1500.0)] {
            let scott = n.powf(-1.0 / 6.0);
            assert!(h > 0.4 * scott && h < 1.6 * scott, "{h} for {scott}");
        }
        assert!(many < few);
    }

    #[test]
    fn the_score_of_normal_data_is_recovered_up_to_smoothing() {
        // With bandwidth h the score is that of a normal of variance 1 + h².
        let samples = InMemory::new("data", testing::normal_samples(4000, 1, 6));
        let model = fit(&*parse("kde:0.4").expect("read"), &samples, 0).expect("fitted");
        let report = model.describe();
        assert_eq!((&report["kept"], &report["samples"]), (&json!(2000), &json!(4000)));
        let points = ArrayD::from_shape_fn(vec![5, 1], |i| i[0] as f32 * 0.5 - 1.0);
        let scores = testing::scores(&*model, &points);
        for (x, s) in points.iter().zip(&scores) {
            let exact = -f64::from(*x) / 1.16;
            // The gradient of 2000 kernels at this bandwidth has a standard error of about 0.06.
            assert!((s - exact).abs() < 0.24, "{s} for {exact}");
        }
    }

    #[test]
    fn equal_samples_do_not_make_the_bandwidth_vanish() {
        let data = ArrayD::from_shape_fn(vec![100, 1], |i| (i[0] % 3) as f32);
        let samples = InMemory::new("data", data);
        let model = fit(&*parse("kde").expect("read"), &samples, 0).expect("fitted");
        let bandwidth = model.describe()["bandwidth"].as_f64().expect("a number");
        assert!(bandwidth > 0.02, "{bandwidth}");
        let message = parse("kde").expect("read");
        let few = InMemory::new("d.npy", testing::normal_samples(5, 1, 0));
        let message = fit(&*message, &few, 0).map(|_| ()).expect_err("too few").to_string();
        assert!(message.contains("at least 10 samples"), "{message}");
    }
}
