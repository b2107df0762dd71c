use ndarray::{Array1, ArrayD, Axis, arr1, arr2, concatenate};
use taste_data::InMemory;

use super::*;
use taste_stats::linear;

use crate::fields::{fit, parse, testing};

/// Samples of a mixture in the plane, and the exact score.
struct Plane {
    weights: [f64; 3],
    means: [[f64; 2]; 3],
    roots: [Array2<f64>; 3],
}

fn plane() -> Plane {
    Plane {
        weights: [0.5, 0.3, 0.2],
        means: [[0.0, 50.0], [6.0, 20.0], [-5.0, -40.0]],
        roots: [
            arr2(&[[1.0, 0.0], [4.0, 8.0]]),
            arr2(&[[0.5, 0.0], [0.0, 10.0]]),
            arr2(&[[1.5, 0.0], [-9.0, 6.0]]),
        ],
    }
}

impl Plane {
    fn draw(&self, rows: usize, seed: u64) -> ArrayD<f32> {
        let mut parts = Vec::new();
        for k in 0..3 {
            let share = testing::single(self.weights[k] * rows as f64).round();
            let count = (0..rows).take_while(|&i| (i as f32) < share).count();
            let z = testing::normal_samples(count, 2, seed * 3 + k as u64);
            parts.push(testing::affine(&z, &self.roots[k], &arr1(&self.means[k])));
        }
        let views: Vec<_> = parts.iter().map(|p| p.view()).collect();
        concatenate(Axis(0), &views).expect("columns of the plane")
    }

    fn score(&self, y: &Array1<f64>) -> Array1<f64> {
        let mut top = f64::NEG_INFINITY;
        let mut terms = Vec::new();
        for k in 0..3 {
            let covariance = self.roots[k].dot(&self.roots[k].t());
            let precision = linear::inverse(&covariance).expect("definite");
            let off = arr1(&self.means[k]) - y;
            let pull = precision.dot(&off);
            let determinant = covariance[[0, 0]] * covariance[[1, 1]] - covariance[[0, 1]].powi(2);
            let log = self.weights[k].ln() - 0.5 * off.dot(&pull) - 0.5 * determinant.ln();
            top = f64::max(top, log);
            terms.push((log, pull));
        }
        let total: f64 = terms.iter().map(|t| (t.0 - top).exp()).sum();
        terms.iter().fold(Array1::zeros(2), |s, t| s + &t.1 * ((t.0 - top).exp() / total))
    }
}

fn fitted(text: &str, data: ArrayD<f32>) -> Box<dyn Field> {
    fit(&*parse(text).expect("read"), &InMemory::new("data", data), 3).expect("fitted")
}

#[test]
fn the_score_of_a_mixture_is_recovered() {
    let plane = plane();
    let model = fitted("gmm:3", plane.draw(10_000, 1));
    let points = plane.draw(200, 2);
    let got = testing::scores(&*model, &points);
    let scale = [1.5, 10.0];
    let (mut error, mut size) = (0.0, 0.0);
    for (x, s) in points.axis_iter(Axis(0)).zip(got.axis_iter(Axis(0))) {
        let exact = plane.score(&x.iter().map(|&v| f64::from(v)).collect());
        for i in 0..2 {
            error += ((s[i] - exact[i]) * scale[i]).powi(2);
            size += (exact[i] * scale[i]).powi(2);
        }
    }
    // The smallest component has 2,000 samples: parameters are known to about √(2/2000) = 3 %.
    assert!((error / size).sqrt() < 0.1, "relative error {}", (error / size).sqrt());
    let report = model.describe();
    assert_eq!(report["converged"], true, "{report}");
    let mut weights: Vec<f64> = serde_json::from_value(report["weights"].clone()).expect("weights");
    weights.sort_by(f64::total_cmp);
    for (got, want) in weights.iter().zip([0.2, 0.3, 0.5]) {
        assert!((got - want).abs() < 4.0 * (want * (1.0 - want) / 10_000.0f64).sqrt() + 0.01);
    }
}

#[test]
fn the_score_is_the_gradient_of_the_log_density_and_engines_agree() {
    let data = plane().draw(600, 4);
    let points = testing::matrix(&plane().draw(40, 5), 2);
    for (components, form) in
        [(Some(3), Form::Full), (Some(4), Form::Diagonal), (Some(1), Form::Full)]
    {
        let samples = InMemory::new("data", data.clone());
        let (asked, data) =
            (Asked { components, form, noise: Noise::none() }, Described::of(&samples));
        let seen = testing::gathered(&samples, &asked.watches(&data, 1));
        let gmm = Gmm::fit(asked, &data, &seen, 1).expect("fitted");
        testing::is_gradient(&gmm, |y| gmm.log_density(y), &points);
        testing::engines_agree(&gmm, &plane().draw(50, 6));
        // Far out, where every density underflows, the score still points back.
        let far = ArrayD::from_elem(vec![1, 2], 1e4f32);
        testing::engines_agree(&gmm, &far);
        assert!(testing::scores(&gmm, &far).sum() < 0.0);
    }
}

#[test]
fn what_is_maximised_never_decreases() {
    let z = testing::matrix(&plane().draw(500, 8), 2) / 10.0;
    for form in [Form::Full, Form::Diagonal] {
        for k in [1, 3, 6] {
            let fit = em::fit(&z, k, form, &mut Random::new(2)).expect("fitted");
            let falls = fit.objective.windows(2).find(|w| w[1] < w[0] - 1e-8 * w[0].abs());
            assert_eq!(falls, None, "{:?}", fit.objective);
        }
    }
}

#[test]
fn the_criterion_finds_the_number_of_separated_clusters() {
    let report = fitted("gmm", plane().draw(3000, 11)).describe();
    assert_eq!(report["components"], 3, "{report}");
    let one = testing::normal_samples(2000, 4, 1);
    assert_eq!(fitted("gmm", one).describe()["components"], 1);
}

#[test]
fn awkward_data_are_fitted_or_refused_in_a_sentence() {
    // A column that does not vary, two equal columns, all samples in two places.
    let mut data = testing::normal_samples(400, 4, 2);
    data.index_axis_mut(Axis(1), 1).fill(3.0);
    let copy = data.index_axis(Axis(1), 0).to_owned();
    data.index_axis_mut(Axis(1), 2).assign(&copy);
    let two = ArrayD::from_shape_fn(vec![100, 2], |i| if i[0] % 2 == 0 { 1.0 } else { -1.0 });
    for text in ["gmm:2", "gmm:2,diagonal", "gmm"] {
        for data in [&data, &two] {
            let model = fit(&*parse(text).expect("read"), &InMemory::new("d.npy", data.clone()), 0);
            match model {
                Ok(model) => {
                    let scores = testing::scores(&*model, data);
                    assert!(scores.iter().all(|s| s.is_finite()), "{text}");
                }
                Err(e) => assert!(e.to_string().contains("d.npy"), "{text}: {e}"),
            }
        }
    }
    let refused = |text: &str, data: ArrayD<f32>| {
        let fitted = fit(&*parse(text).expect("read"), &InMemory::new("d.npy", data), 0);
        fitted.map(|_| ()).expect_err("refused").to_string()
    };
    let message = refused("gmm:5", testing::normal_samples(49, 2, 0));
    assert!(message.contains("at least 50 samples"), "{message}");
    let message = refused("gmm:5", ArrayD::zeros(vec![60, 2000]));
    assert!(message.contains("use gmm:5,diagonal"), "{message}");
}
