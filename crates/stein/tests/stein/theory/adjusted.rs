//! Adjusted residuals have mean zero without a shift, whatever the operator and however wrong the score (section 4.3).

use taste_data::InMemory;
use taste_engine::Backend;
use taste_stein::{Detector, Fit, Operator};

use super::{density::Mixture, estimate::Estimate};
use crate::common::{Scaled, network};

const ROWS: usize = 8192;

fn operators() -> Vec<Operator> {
    let texts =
        ["langevin", "no-laplacian", "score-only", "first-order-norm", "first-order:1,-0.5,0.2"];
    texts.iter().map(|t| t.parse().expect("an operator")).collect()
}

/// Adjusted means on samples, with the error of the baseline: of every class, then of every entry of the map.
fn adjusted(detector: &Detector, of: &Mixture, seed: u64) -> Vec<Estimate> {
    let mut scorer = detector.start(&Backend::RTEN, 1, true).expect("a scorer");
    let found = scorer.score(&of.rows(ROWS, seed)).expect("scores");
    let classes = match found.residuals {
        Some(all) => Estimate::of_entries(&all.into_dyn()),
        None => Estimate::of_entries(&ndarray::Array1::from(found.residual).into_dyn()),
    };
    let rows = (detector.manifest().data.adjusted as f64).sqrt();
    let map = Estimate::of_entries(&found.map.expect("a map"));
    let spread = &detector.maps().expect("maps").deviations;
    let errors = detector.manifest().baseline.standard_errors.iter().copied();
    let errors = errors.chain(spread.iter().map(|&d| f64::from(d) / rows));
    classes
        .into_iter()
        .chain(map)
        .zip(errors)
        .map(|(fresh, error)| Estimate { mean: fresh.mean, error: fresh.error.hypot(error) })
        .collect()
}

fn largest(means: &[Estimate]) -> Estimate {
    *means.iter().max_by(|a, b| a.surprise().total_cmp(&b.surprise())).expect("means")
}

#[test]
fn no_shift_raises_no_alarm_even_with_a_wrong_score() {
    let p = Mixture::random(2, 3, 101);
    let q = p.moved(&[1.2, -0.8, 0.6]);
    let model = network(&[3, 16, 3], "Tanh", 102);
    let wrong = Mixture::gaussian(&[0.8, -0.8, 0.5], &[0.7, 1.3, 0.8]);
    for operator in operators() {
        for (name, is_right) in [("right", true), ("wrong", false), ("scaled", false)] {
            let what = format!("{operator}, {name} score");
            let fit = match name {
                "right" => Fit::new(&model, Box::new(p.clone())),
                "wrong" => Fit::new(&model, Box::new(wrong.clone())),
                _ => Fit::new(&model, Box::new(Scaled(0.4))),
            };
            let detector = fit
                .operator(operator.clone())
                .map(true)
                .backend(Backend::RTEN, 1)
                .run(&InMemory::new("p", p.rows(ROWS, 103)), None)
                .expect("a detector");
            let baseline = &detector.manifest().baseline;
            let raw: Vec<Estimate> = baseline
                .means
                .iter()
                .zip(&baseline.standard_errors)
                .map(|(&mean, &error)| Estimate { mean, error })
                .collect();
            if is_right && operator.is_stein() {
                largest(&raw).assert_vanishes(&format!("{what}, before the adjustment"));
            } else {
                largest(&raw).assert_stands_out(&format!("{what}, before the adjustment"));
            }
            for (i, mean) in adjusted(&detector, &p, 104).into_iter().enumerate() {
                mean.assert_vanishes(&format!("{what}, mean {i}"));
            }
            largest(&adjusted(&detector, &q, 105)).assert_stands_out(&format!("{what}, shifted"));
        }
    }
}
