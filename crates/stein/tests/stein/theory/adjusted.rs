//! Adjusted residuals have mean zero without a shift, whatever the operator and however wrong the score (section 4.3).

use taste_data::InMemory;
use taste_detector::Detector;
use taste_engine::Backend;
use taste_stein::operators;

use super::{density::Mixture, estimate::Estimate};
use crate::common::{Scaled, Trial, baseline, engine, network};

const ROWS: usize = 8192;

const OPERATORS: [&str; 5] =
    ["langevin", "no-laplacian", "score-only", "first-order-norm", "first-order:1,-0.5,0.2"];

/// Adjusted means on samples, with the error of the baseline: of every class, then of every entry of the map.
fn adjusted(detector: &Detector, of: &Mixture, seed: u64) -> Vec<Estimate> {
    let scorer = detector.start(&engine(&Backend::RTEN), true).expect("a scorer");
    let found = scorer.score(of.rows(ROWS, seed).view()).expect("scores");
    let classes = found.part("residuals").or(found.part("residual")).expect("residuals");
    let classes = Estimate::of_entries(&classes.clone().into_dyn());
    let rows = (detector.manifest().data.tails as f64).sqrt();
    let map = Estimate::of_entries(&found.map.expect("a map"));
    let spread = &detector.maps().expect("maps").deviations;
    let errors = baseline(detector).errors.iter().copied();
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
    for operator in OPERATORS {
        for (name, is_right) in [("right", true), ("wrong", false), ("scaled", false)] {
            let what = format!("{operator}, {name} score");
            let trial = match name {
                "right" => Trial::new(&model, p.clone()),
                "wrong" => Trial::new(&model, wrong.clone()),
                _ => Trial::new(&model, Scaled(0.4)),
            };
            let detector = trial
                .operator(operator)
                .map(true)
                .run(&InMemory::new("p", p.rows(ROWS, 103)))
                .expect("a detector");
            let baseline = baseline(&detector);
            let raw: Vec<Estimate> = baseline
                .means
                .iter()
                .zip(&baseline.errors)
                .map(|(&mean, &error)| Estimate { mean, error })
                .collect();
            if is_right && operators::parse(operator).expect("an operator").is_stein() {
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
