//! A detector from end to end: fitted, and run in both engines.

use crate::common::{Scaled, Trial, baseline, engine, network, normal};
use ndarray::{Axis, Slice};
use taste_data::InMemory;
use taste_detector::{Detector, Scores};
use taste_engine::Backend;
use taste_stats::conformal::Calibration;
use taste_stein::Tail;

fn fit(aggregate: &str) -> Detector {
    let model = network(&[4, 16, 3], "Relu", 1);
    Trial::new(&model, Scaled(1.0))
        .aggregate(aggregate)
        .run(&normal(1200, 4, 0.0, 2))
        .expect("a detector")
}

fn scores(detector: &Detector, backend: &Backend, shift: f64) -> Scores {
    let scorer = detector.start(&engine(backend), detector.has_map()).expect("a scorer");
    scorer.score(normal(300, 4, shift, 9).values().view()).expect("scores")
}

fn residual(scores: &Scores) -> Vec<f32> {
    scores.column("residual").expect("residuals")
}

#[test]
fn every_aggregate_gives_scores_that_both_engines_agree_on() {
    for aggregate in ["l2", "max", "predicted", "class:1", "profile", "profile+score"] {
        let detector = fit(aggregate);
        let (a, b) =
            (scores(&detector, &Backend::RTEN, 0.3), scores(&detector, &Backend::REFERENCE, 0.3));
        let largest = b.score.iter().copied().fold(0.0, f32::max);
        for (x, y) in a.score.iter().zip(&b.score) {
            assert!((x - y).abs() <= 1e-4 * largest, "{aggregate}: {x} and {y}");
        }
        let (a, b) = (residual(&a), residual(&b));
        let largest = b.iter().map(|r| r.abs()).fold(0.0, f32::max);
        for (x, y) in a.iter().zip(&b) {
            assert!((x - y).abs() <= 1e-4 * largest, "{aggregate}: {x} and {y}");
        }
    }
}

#[test]
fn where_a_smooth_model_saturates_engines_still_agree() {
    let model = network(&[4, 16, 3], "Softplus", 1);
    let wide = |rows, seed| {
        let values = normal(rows, 4, 0.0, seed).values().mapv(|v| 12.0 * v);
        InMemory::new("wide", values)
    };
    for aggregate in ["profile", "l2"] {
        let detector = Trial::new(&model, Scaled(1.0 / 144.0))
            .aggregate(aggregate)
            .run(&wide(1200, 2))
            .expect("a detector");
        let found = [Backend::RTEN, Backend::REFERENCE].map(|backend| {
            let scorer = detector.start(&engine(&backend), false).expect("a scorer");
            scorer.score(wide(300, 9).values().view()).expect("scores")
        });
        let [a, b] = &found;
        let largest = b.score.iter().copied().fold(0.0, f32::max);
        for (x, y) in a.score.iter().zip(&b.score) {
            assert!((x - y).abs() <= 1e-4 * largest, "{aggregate}: {x} and {y}");
        }
        let apart = a.p_value.iter().zip(&b.p_value).map(|(x, y)| (x - y).abs());
        let most = apart.fold(0.0, f32::max);
        assert!(most < 0.01, "{aggregate}: p-values lie {most} apart");
        assert_eq!(a.flag, b.flag, "{aggregate}");
    }
}

#[test]
fn p_values_and_flags_are_those_of_the_calibration_scores() {
    for aggregate in ["l2", "predicted", "profile"] {
        let detector = fit(aggregate);
        let calibration = Calibration::new(detector.calibration().iter().map(|&s| f64::from(s)));
        let found = scores(&detector, &Backend::RTEN, 0.5);
        for ((&s, &p), &flag) in found.score.iter().zip(&found.p_value).zip(&found.flag) {
            let want = calibration.p_value(f64::from(s));
            assert!((f64::from(p) - want).abs() < 1e-6, "{aggregate}: {p} and {want} for {s}");
            assert_eq!(flag, want <= 0.05, "{aggregate}: p = {want}");
        }
        assert!(found.flag.iter().any(|f| *f) && !found.flag.iter().all(|f| *f));
        let exact: Vec<f32> = detector.calibration().to_vec();
        assert!(exact.is_sorted());
    }
}

#[test]
fn a_map_sums_to_the_residual() {
    for (operator, aggregate) in [
        ("langevin", "l2"),
        ("langevin", "predicted"),
        ("no-laplacian", "l2"),
        ("score-only", ""),
        ("first-order-norm", "predicted"),
        ("first-order:1,0,-2,0.5", "predicted"),
    ] {
        let model = network(&[4, 16, 3], "Tanh", 1);
        let mut trial = Trial::new(&model, Scaled(1.0)).operator(operator);
        if !aggregate.is_empty() {
            trial = trial.aggregate(aggregate);
        }
        let detector =
            trial.on(&Backend::REFERENCE).run(&normal(200, 4, 0.0, 2)).expect("a detector");
        let found = scores(&detector, &Backend::REFERENCE, 0.2);
        let map = found.map.as_ref().expect("a map of four entries");
        for (row, residual) in map.axis_iter(Axis(0)).zip(&residual(&found)) {
            let sum: f32 = row.sum();
            assert!(
                (sum - residual).abs() < 1e-4 * (1.0 + residual.abs()),
                "{operator} {aggregate}: {sum} and {residual}"
            );
        }
    }
}

#[test]
fn rows_that_are_not_finite_are_flagged_and_leave_others_alone() {
    for aggregate in ["l2", "max", "predicted", "profile"] {
        let detector = fit(aggregate);
        let clean = normal(20, 4, 0.0, 5).values().clone();
        let mut spoilt = clean.clone();
        spoilt[[3, 1]] = f32::NAN;
        spoilt[[7, 0]] = f32::INFINITY;
        for backend in [Backend::RTEN, Backend::REFERENCE] {
            let scorer = detector.start(&engine(&backend), false).expect("a scorer");
            let [a, b] = [&clean, &spoilt].map(|x| scorer.score(x.view()).expect("scores"));
            let smallest = 1.0 / (detector.calibration().len() as f32 + 1.0);
            for i in 0..20 {
                if i == 3 || i == 7 {
                    assert!(
                        b.score[i].is_nan() && b.flag[i],
                        "{aggregate} row {i}: {}",
                        b.score[i]
                    );
                    assert!((b.p_value[i] - smallest).abs() < 1e-7, "{aggregate} row {i}");
                } else {
                    assert_eq!(a.score[i].to_bits(), b.score[i].to_bits(), "{aggregate} row {i}");
                }
            }
        }
    }
}

#[test]
fn scores_do_not_depend_on_the_batch() {
    let detector = fit("profile");
    let samples = normal(65, 4, 0.1, 6).values().clone();
    let scorer = detector.start(&engine(&Backend::RTEN), true).expect("a scorer");
    let whole = scorer.score(samples.view()).expect("scores");
    for size in [1, 7, 64] {
        let mut parts = Vec::new();
        for start in (0..65).step_by(size) {
            let end = 65.min(start + size);
            let part = samples.slice_axis(Axis(0), Slice::from(start..end));
            parts.extend(scorer.score(part).expect("scores").score);
        }
        for (a, b) in parts.iter().zip(&whole.score) {
            assert!((a - b).abs() <= 1e-5 * b.abs(), "batch {size}: {a} and {b}");
        }
    }
}

#[test]
fn two_tails_of_a_length_reach_both_ways() {
    let model = network(&[4, 16, 3], "Relu", 1);
    let detector = Trial::new(&model, Scaled(1.0))
        .tail(Tail::TwoSided)
        .run(&normal(1200, 4, 0.0, 2))
        .expect("a detector");
    // Far out a softmax is saturated and its residuals vanish: below all of the calibration data.
    let scorer = detector.start(&engine(&Backend::RTEN), false).expect("a scorer");
    let far = scorer.score(normal(50, 4, 300.0, 3).values().view()).expect("scores");
    assert!(far.p_value.iter().all(|p| *p < 0.5), "{:?}", far.p_value);
}

fn error(trial: &Trial<'_>, data: &InMemory) -> String {
    trial.run(data).expect_err("a refusal").to_string()
}

#[test]
fn requests_that_do_not_fit_are_refused_in_a_sentence() {
    let classifier = network(&[4, 8, 3], "Relu", 1);
    let regressor = network(&[4, 8, 1], "Relu", 1);
    let data = normal(100, 4, 0.0, 1);
    let plain = || Trial::new(&classifier, Scaled(1.0));
    let text = error(&plain().alpha(0.001), &data);
    assert!(text.contains("999") && text.contains("normal"), "{text}");
    let text = error(&plain().alpha(1.5), &data);
    assert!(text.contains("between 0 and 1"), "{text}");
    let text = error(&plain(), &normal(100, 5, 0.0, 1));
    assert!(text.contains("[5]") && text.contains("[4]"), "{text}");
    let text = error(&Trial::new(&regressor, Scaled(1.0)).aggregate("l2"), &data);
    assert!(text.contains("classifier"), "{text}");
    let text = error(&plain().aggregate("class:7"), &data);
    assert!(text.contains('7'), "{text}");
    let text = error(&plain(), &normal(0, 4, 0.0, 1));
    assert!(text.contains("calibration samples"), "{text}");
}

#[test]
fn baselines_are_what_is_taken_off() {
    let model = network(&[4, 16, 3], "Tanh", 1);
    let samples = normal(50, 4, 0.3, 6).values().clone();
    let residuals = |rule: &str| {
        let trial = Trial::new(&model, Scaled(1.0)).baseline(rule).map(true);
        let detector = trial.run(&normal(1200, 4, 0.0, 2)).expect("a detector");
        assert_eq!(detector.manifest().method.facts["baseline"], rule);
        let scorer = detector.start(&engine(&Backend::RTEN), true).expect("a scorer");
        let found = scorer.score(samples.view()).expect("scores");
        let part = found.part("residuals").expect("residuals").clone();
        let map = found.map.expect("a map").into_dimensionality().expect("a table");
        (part, map, baseline(&detector).clone())
    };
    let (raw, raw_map, varied) = residuals("none");
    for rule in ["mean", "median"] {
        let (adjusted, map, _) = residuals(rule);
        for (raw, adjusted) in [(&raw, &adjusted), (&raw_map, &map)] {
            let taken = raw - adjusted;
            for column in taken.columns() {
                let first = column[0];
                assert!(column.iter().all(|t| (t - first).abs() < 1e-4), "{rule}: {column}");
            }
        }
        for (class, column) in (&raw - &adjusted).columns().into_iter().enumerate() {
            let (taken, mean) = (f64::from(column[0]), varied.means[class]);
            let deviation = varied.deviations[class];
            match rule {
                "mean" => assert!((taken - mean).abs() < 1e-4, "{taken} and {mean}"),
                _ => assert!((taken - mean).abs() < deviation, "{taken} and {mean}"),
            }
        }
    }
}

#[test]
fn residuals_on_tables_have_two_tails_unless_one_is_asked_for() {
    let model = network(&[4, 16, 3], "Relu", 1);
    let data = normal(1200, 4, 0.0, 2);
    let tail = |trial: Trial<'_>| {
        let detector = trial.run(&data).expect("a detector");
        detector.manifest().method.facts["tail"].as_str().expect("a tail").to_owned()
    };
    let plain = || Trial::new(&model, Scaled(1.0));
    assert_eq!(tail(plain()), "two-sided");
    assert_eq!(tail(plain().tail(Tail::Upper)), "upper");
    assert_eq!(tail(plain().aggregate("profile")), "upper");
    assert_eq!(tail(plain().operator("first-order-norm")), "two-sided");
}
