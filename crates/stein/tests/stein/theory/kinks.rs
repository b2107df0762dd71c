//! Where the slope of f jumps, f has curvature that shows at no sample, and the mean residual is no longer zero: it
//! lacks the jump of the slope across the kink, integrated over the kink with the density. On a hyperplane at distance
//! t from the middle of a standard normal, that is −(jump)·φ(t).

use std::f64::consts::TAU;

use taste_data::InMemory;
use taste_detector::Level;
use taste_engine::Target;
use taste_stats::random::Random;

use super::{
    density::Mixture,
    estimate::Estimate,
    models::{linear, mean_residual, one_hidden},
};
use crate::common::{Trial, network};

const ROWS: usize = 40_000;

fn length(w: &[f64]) -> f64 {
    w.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The standard normal density.
fn bell(t: f64) -> f64 {
    (-0.5 * t * t).exp() / TAU.sqrt()
}

#[test]
fn a_relu_regression_lacks_the_curvature_of_its_kinks() {
    for dimension in [1, 2] {
        let mut random = Random::new(51);
        let hidden = 6;
        let mut draw = |scale: f64| random.normal() * scale;
        let weights: Vec<Vec<f64>> =
            (0..hidden).map(|_| (0..dimension).map(|_| draw(1.0)).collect()).collect();
        let biases: Vec<f64> = (0..hidden).map(|_| draw(0.7)).collect();
        let outs: Vec<f64> = (0..hidden).map(|_| 0.5 + draw(0.3)).collect();
        let boundary: f64 = weights
            .iter()
            .zip(&biases)
            .zip(&outs)
            .map(|((w, b), a)| a * length(w) * bell(b / length(w)))
            .sum();
        let p = Mixture::unit(&vec![0.0; dimension]);
        let samples = p.rows(ROWS, 52);
        let mean = |activation: &str| {
            let model = one_hidden(&weights, &biases, &outs, activation);
            mean_residual(&model, &p, "langevin", Target::output(0), &samples)
        };
        let kinked = mean("Relu");
        kinked.assert_stands_out("the mean residual of a network with kinks");
        kinked.assert_is(Estimate::exactly(-boundary), &format!("{dimension} dimensions"));
        mean("Softplus").assert_vanishes("the same network without kinks");
    }
}

#[test]
fn the_predicted_class_has_a_kink_where_the_prediction_changes() {
    let (w, bias) = (vec![1.2, -0.9], 0.4);
    let model = linear(&[vec![0.0, 0.0], w.clone()], &[0.0, bias]);
    let p = Mixture::unit(&[0.0, 0.0]);
    let samples = p.rows(ROWS, 53);
    let mean = |class| mean_residual(&model, &p, "langevin", Target::prob(class), &samples);
    // max(σ(h), 1 − σ(h)) has slopes of ±¼ in h where h = 0.
    let boundary = 0.5 * length(&w) * bell(bias / length(&w));
    mean(None).assert_stands_out("the mean residual of the predicted class");
    mean(None).assert_is(Estimate::exactly(-boundary), "the predicted class");
    mean(Some(0)).assert_vanishes("class 0");
    mean(Some(1)).assert_vanishes("class 1");
}

/// A mean residual that kinks leave is worth a note; one that a wrong score leaves is worth a warning.
#[test]
fn a_wrong_score_is_not_taken_for_kinks() {
    let model = network(&[3, 24, 1], "Relu", 4);
    let data = InMemory::new("p", Mixture::unit(&[0.0; 3]).rows(4000, 53));
    for (mean, level) in [(0.0, Level::Note), (1.5, Level::Warning)] {
        let score = Mixture::unit(&[mean, -mean, mean]);
        let detector = Trial::new(&model, score).run(&data).expect("a detector");
        let findings = &detector.manifest().findings;
        let found = findings.iter().find(|f| f.check == "stein identity").expect("the check");
        assert_eq!(found.level, level, "{}", found.message);
    }
}

/// A saturated network leaves hardly a residual, and no mean of it tells that the score is wrong; the score's own does.
#[test]
fn a_wrong_score_is_seen_where_the_model_hides_it() {
    let model = linear(&[vec![60.0, -45.0], vec![0.0, 0.0]], &[3.0, 0.0]);
    let data = InMemory::new("p", Mixture::unit(&[0.0; 2]).rows(1000, 54));
    for (mean, level) in [(0.0, Level::Good), (1.0, Level::Warning)] {
        let detector =
            Trial::new(&model, Mixture::unit(&[0.0, mean])).run(&data).expect("a detector");
        let findings = &detector.manifest().findings;
        let found = findings.iter().find(|f| f.check == "stein identity").expect("the check");
        assert_eq!(found.level, level, "{}", found.message);
        let is_named = found.message.contains("for 1 of 2 entries; for entry 1 ");
        assert_eq!(is_named, level == Level::Warning, "{}", found.message);
    }
}
