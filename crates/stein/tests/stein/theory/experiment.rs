//! The experiment of section 6.1: a standard normal in the plane, the task x₂ − x₁, test data moved by ε = 10 in a
//! direction that turns. The functional goes with the error of the prediction, the likelihood does not.
//!
//! The model is a 2-64-1 network with `Relu` that is right where the training data are and flattens out beyond:
//! f = h − Σ cⱼ(h − tⱼ)₊ + Σ cⱼ(−h − tⱼ)₊ with h = x₂ − x₁.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2, TAU};

use ndarray::ArrayD;
use taste_data::InMemory;
use taste_detector::Detector;
use taste_engine::{Backend, Model};
use taste_stats::normal;

use super::{
    density::{Mixture, double_rows},
    estimate::Estimate,
    models::one_hidden,
};
use crate::common::{Scaled, Trial, baseline, engine};

const SIZE: f64 = 10.0;
const ROWS: usize = 1000;
const ANGLES: usize = 24;
const HINGES: usize = 31;

/// The places tⱼ of the hinges, from three standard deviations of h on, and the slope each takes away.
fn hinges() -> impl Iterator<Item = (f64, f64)> {
    (0..HINGES).map(|j| (3.0 * SQRT_2 + 0.1 * j as f64, 0.5 / HINGES as f64))
}

fn regressor() -> Model {
    let (up, down) = (vec![-1.0, 1.0], vec![1.0, -1.0]);
    let mut units = vec![(up.clone(), 0.0, 1.0), (down.clone(), 0.0, -1.0)];
    for (t, c) in hinges() {
        units.push((up.clone(), -t, -c));
        units.push((down.clone(), -t, c));
    }
    assert_eq!(units.len(), 64);
    let weights: Vec<Vec<f64>> = units.iter().map(|u| u.0.clone()).collect();
    let biases: Vec<f64> = units.iter().map(|u| u.1).collect();
    let outs: Vec<f64> = units.iter().map(|u| u.2).collect();
    one_hidden(&weights, &biases, &outs, "Relu")
}

fn prediction(x: &[f64]) -> f64 {
    let h = x[1] - x[0];
    h - hinges().map(|(t, c)| c * ((h - t).max(0.0) - (-h - t).max(0.0))).sum::<f64>()
}

/// E[−x·∇f] = E[−h(1 − Σ cⱼ·[|h| > tⱼ])] where h is normal with this mean and a variance of 2.
fn closed_form(mean: f64) -> f64 {
    let bell = |z: f64| (-0.5 * z * z).exp() / TAU.sqrt();
    let beyond = |t: f64| {
        let (above, below) = ((t - mean) / SQRT_2, (-t - mean) / SQRT_2);
        mean * (normal::upper(above) + normal::cdf(below)) + SQRT_2 * (bell(above) - bell(below))
    };
    -mean + hinges().map(|(t, c)| c * beyond(t)).sum::<f64>()
}

fn detector(operator: &str) -> Detector {
    Trial::new(&regressor(), Scaled(1.0))
        .precondition("none")
        .operator(operator)
        .run(&InMemory::new("p", Mixture::unit(&[0.0, 0.0]).rows(8192, 121)))
        .expect("a detector")
}

/// The angle of (1, 1), turned by a part of a full turn.
fn shifted(step: usize) -> (f64, ArrayD<f32>) {
    let turn = TAU * step as f64 / ANGLES as f64;
    let u = [FRAC_1_SQRT_2 * (turn.cos() - turn.sin()), FRAC_1_SQRT_2 * (turn.cos() + turn.sin())];
    let q = Mixture::unit(&[SIZE * u[0], SIZE * u[1]]);
    (SIZE * (u[1] - u[0]), q.rows(ROWS, 122 + step as u64))
}

fn mean_residual(detector: &Detector, samples: &ArrayD<f32>) -> Estimate {
    let fresh = Estimate::of(&residual(detector, samples));
    Estimate { mean: fresh.mean, error: fresh.error.hypot(baseline(detector).errors[0]) }
}

fn residual(detector: &Detector, samples: &ArrayD<f32>) -> Vec<f64> {
    let scorer = detector.start(&engine(&Backend::RTEN), false).expect("a scorer");
    let found = scorer.score(samples.view()).expect("scores");
    found.column("residual").expect("residuals").into_iter().map(f64::from).collect()
}

#[test]
fn the_functional_is_its_closed_form_at_every_angle() {
    let detector = detector("langevin");
    for step in 0..ANGLES {
        let (mean, samples) = shifted(step);
        let closed = closed_form(mean) - closed_form(0.0);
        let found = mean_residual(&detector, &samples);
        found.assert_is(Estimate::exactly(closed), &format!("step {step}"));
    }
}

#[test]
fn it_follows_the_error_of_the_prediction_and_vanishes_where_the_task_does_not_change() {
    let detector = detector("langevin");
    let mut found = Vec::new();
    for step in 0..ANGLES {
        let (_, samples) = shifted(step);
        let errors: Vec<f64> =
            double_rows(&samples).iter().map(|x| (prediction(x) - (x[1] - x[0])).abs()).collect();
        found.push((mean_residual(&detector, &samples), Estimate::of(&errors)));
    }
    let quarter = ANGLES / 4;
    for harmless in [0, 2 * quarter] {
        let (functional, error) = found[harmless];
        functional.assert_vanishes("the functional along (1, 1)");
        assert!(error.mean < 0.01, "the error along (1, 1): {error:?}");
    }
    for harmful in [quarter, 3 * quarter] {
        let (functional, error) = found[harmful];
        functional.assert_stands_out("the functional along (−1, 1)");
        for (other, its_error) in &found {
            assert!(other.mean.abs() < functional.mean.abs() + 4.5 * functional.error);
            assert!(its_error.mean < error.mean + 4.5 * error.error);
        }
    }
    assert!(found[quarter].0.mean < 0.0 && found[3 * quarter].0.mean > 0.0);
    // Over each quarter turn away from (1, 1) both grow.
    for (start, sign) in [(0, 1), (0, -1), (2 * quarter, 1), (2 * quarter, -1)] {
        let at = |step: i64| {
            let angles = ANGLES as i64;
            found[usize::try_from((start as i64 + sign * step).rem_euclid(angles))
                .expect("an angle")]
        };
        for step in 0..quarter as i64 {
            let (near, far) = (at(step), at(step + 1));
            assert!(far.0.mean.abs() > near.0.mean.abs(), "{near:?} and {far:?}");
            assert!(far.1.mean > near.1.mean - 4.5 * near.1.error, "{near:?} and {far:?}");
        }
    }
}

#[test]
fn the_likelihood_and_the_score_alone_do_not_tell_angles_apart() {
    let alone = detector("score-only");
    let p = Mixture::unit(&[0.0, 0.0]);
    let mut lengths = Vec::new();
    for step in 0..ANGLES {
        let (_, samples) = shifted(step);
        let logs: Vec<f64> = double_rows(&samples).iter().map(|x| p.log_density(x)).collect();
        let closed = -TAU.ln() - 1.0 - SIZE * SIZE / 2.0;
        Estimate::of(&logs).assert_is(Estimate::exactly(closed), &format!("step {step}"));
        lengths.push(Estimate::of(&residual(&alone, &samples)));
    }
    for (step, length) in lengths.iter().enumerate() {
        length.assert_stands_out("the shift itself");
        length.assert_is(lengths[(step + ANGLES / 4) % ANGLES], &format!("step {step}, turned"));
    }
}
