//! P-values and flags follow from the calibration scores.

use std::sync::Arc;

use taste_data::InMemory;
use taste_detector::{Detector, Fit, Scores, Settings};
use taste_stats::conformal::Calibration;

use crate::common::{Column, Distance, engine, fitted, halves, model, normal};

fn scores(detector: &Detector, samples: &InMemory) -> Scores {
    let scorer = detector.start(&engine(), detector.has_map()).expect("a scorer");
    scorer.score(samples.values().view()).expect("scores")
}

/// Samples whose entries are halves, so that many are equal.
fn coarse(rows: usize, shift: f64, seed: u64) -> InMemory {
    InMemory::new("coarse", normal(rows, shift, seed).values().mapv(|v| (2.0 * v).round() / 2.0))
}

fn on_coarse_data() -> Detector {
    let model = model();
    let fit = Fit::new(&model, Arc::new(Column)).settings(halves()).engine(engine());
    fit.run(&coarse(1200, 0.0, 2), None).expect("a detector")
}

#[test]
fn p_values_and_flags_are_those_of_the_calibration_scores() {
    for (detector, samples) in [
        (fitted(Column, halves(), 1200), normal(300, 0.5, 9)),
        (fitted(Distance, halves(), 1200), normal(300, 0.5, 9)),
        (on_coarse_data(), coarse(300, 0.5, 9)),
    ] {
        let calibration = Calibration::new(detector.calibration().iter().map(|&s| f64::from(s)));
        let found = scores(&detector, &samples);
        for ((&s, &p), &flag) in found.score.iter().zip(&found.p_value).zip(&found.flag) {
            let want = calibration.p_value(f64::from(s));
            assert!((f64::from(p) - want).abs() < 1e-6, "{p} and {want} for {s}");
            assert_eq!(flag, want <= 0.05, "p = {want}");
        }
        assert!(found.flag.iter().any(|f| *f) && !found.flag.iter().all(|f| *f));
        assert!(detector.calibration().is_sorted());
    }
}

#[test]
fn a_score_is_what_the_method_says_and_parts_are_beside_it() {
    let samples = normal(50, 0.0, 9);
    let found = scores(&fitted(Column, halves(), 400), &samples);
    for (row, score) in samples.values().outer_iter().zip(&found.score) {
        assert_eq!(row[0].to_bits(), score.to_bits());
    }
    assert!(found.parts.is_empty() && found.map.is_none());
    let detector = fitted(Distance, halves(), 400);
    let found = scores(&detector, &samples);
    let (terms, map) = (found.part("terms").expect("terms"), found.map.as_ref().expect("maps"));
    assert_eq!(terms.clone().into_dyn(), *map);
    let facts = &detector.manifest().parts[0];
    let means: f64 = facts.baseline.as_ref().expect("a baseline").means.iter().sum();
    for (row, score) in terms.outer_iter().zip(&found.score) {
        let sum = f64::from(row.sum()) + means;
        assert!((sum - f64::from(*score)).abs() < 1e-4, "{sum} and {score}");
    }
    assert_eq!(found.rows(10, 20).part("terms").expect("terms").nrows(), 10);
}

#[test]
fn the_model_answers_beside_the_scores_if_that_is_asked_for() {
    let (detector, samples) = (fitted(Distance, halves(), 400), normal(50, 0.0, 9));
    let plain = scores(&detector, &samples);
    assert!(plain.prediction.is_none());
    let scorer = detector.start_predicting(&engine()).expect("a scorer");
    let found = scorer.score(samples.values().view()).expect("scores");
    assert_eq!((&found.score, &found.flag), (&plain.score, &plain.flag));
    assert!(found.map.is_none());
    let prediction = found.prediction.as_ref().expect("predictions");
    for (row, answer) in samples.values().outer_iter().zip(prediction.outer_iter()) {
        for (k, (bias, answer)) in [0.1, 0.2, -0.3].into_iter().zip(answer).enumerate() {
            let terms = row.iter().enumerate().map(|(i, x)| (0.1 * (3 * i + k) as f32 - 0.5) * x);
            assert!((terms.sum::<f32>() + bias - answer).abs() < 1e-5);
        }
    }
    assert_eq!(found.rows(10, 20).prediction.expect("predictions").dim(), (10, 3));
}

#[test]
fn rows_that_are_not_finite_are_flagged_and_leave_others_alone() {
    for detector in [fitted(Column, halves(), 400), fitted(Distance, halves(), 400)] {
        let clean = normal(20, 0.0, 5);
        let mut spoilt = clean.values().clone();
        // The score of the first method does not look at this entry.
        spoilt[[3, 1]] = f32::NAN;
        spoilt[[7, 0]] = f32::INFINITY;
        let [a, b] = [clean, InMemory::new("spoilt", spoilt)].map(|x| scores(&detector, &x));
        let smallest = 1.0 / (detector.calibration().len() as f32 + 1.0);
        for i in 0..20 {
            if i == 3 || i == 7 {
                assert!(b.score[i].is_nan() && b.flag[i], "row {i}: {}", b.score[i]);
                assert!((b.p_value[i] - smallest).abs() < 1e-7, "row {i}");
            } else {
                assert_eq!(a.score[i].to_bits(), b.score[i].to_bits(), "row {i}");
            }
        }
    }
}

#[test]
fn false_alarms_are_as_many_as_asked_for() {
    for detector in [fitted(Column, halves(), 1200), fitted(Distance, halves(), 3000)] {
        let found = scores(&detector, &normal(4000, 0.0, 77));
        let share = found.flag.iter().filter(|f| **f).count() as f64 / 4000.0;
        // About 600 calibration samples: a standard error of 0.009 for the rate itself, 0.0035 for its count.
        assert!((share - 0.05).abs() < 4.0 * 0.0095, "{share}");
    }
}

#[test]
fn requests_that_do_not_fit_are_refused_in_a_sentence() {
    let model = model();
    let error = |settings: Settings, data: &InMemory| {
        let fit = Fit::new(&model, Arc::new(Column)).settings(settings).engine(engine());
        fit.run(data, None).expect_err("a refusal").to_string()
    };
    let text = error(Settings { alpha: 0.001, ..halves() }, &normal(100, 0.0, 1));
    assert!(text.contains("999") && text.contains("normal"), "{text}");
    let text = error(Settings { alpha: 1.5, ..halves() }, &normal(100, 0.0, 1));
    assert!(text.contains("between 0 and 1"), "{text}");
    let text = error(Settings { tails: 1.0, ..halves() }, &normal(100, 0.0, 1));
    assert!(text.contains("between 0 and 1"), "{text}");
    let text = error(halves(), &normal(0, 0.0, 1));
    assert!(text.contains("calibration samples"), "{text}");
    let wide = InMemory::new("wide", ndarray::ArrayD::zeros(vec![100, 5]));
    let text = error(halves(), &wide);
    assert!(text.contains("[5]") && text.contains("[4]"), "{text}");
}
