//! Tests of batches: level, power, and where a shift lies.

use taste_data::InMemory;
use taste_engine::Backend;
use taste_stein::{
    Aggregate, Detector, Fit,
    shift::{Batch, Shift},
    stats::binomial,
};

use crate::common::{Scaled, network, normal};

fn detector(aggregate: Aggregate) -> Detector {
    let model = network(&[4, 16, 3], "Tanh", 1);
    Fit::new(&model, Box::new(Scaled(1.0)))
        .aggregate(aggregate)
        .backend(Backend::RTEN, 1)
        .run(&normal(1000, 4, 0.0, 2), None)
        .expect("a detector")
}

fn test(detector: &Detector, samples: &InMemory, permutations: usize) -> Shift {
    let mut scorer = detector.start(&Backend::RTEN, 1, true).expect("a scorer");
    let mut batch = Batch::new(detector, 3);
    batch.add(&scorer.score(samples.values()).expect("scores")).expect("rows");
    batch.test(permutations).expect("a test")
}

#[test]
fn batches_without_a_shift_keep_the_level() {
    let model = network(&[4, 8, 3], "Tanh", 1);
    for aggregate in [Aggregate::L2, Aggregate::Predicted] {
        let tests = 200;
        // A detector for every batch, so that the tests are independent, and with a wrong score.
        let rejected = (0..tests).filter(|round| {
            let detector = Fit::new(&model, Box::new(Scaled(0.5)))
                .aggregate(aggregate)
                .backend(Backend::RTEN, 1)
                .run(&normal(200, 4, 0.0, 100 + round), None)
                .expect("a detector");
            let shift = test(&detector, &normal(30, 4, 0.0, 1000 + round), 99);
            assert!(shift.p_value > 0.0);
            shift.p_value <= 0.1
        });
        let (rejected, (low, high)) = (rejected.count() as u64, binomial::band(tests, 0.1, 1e-4));
        assert!((low..=high).contains(&rejected), "{aggregate}: {rejected} of {tests}");
    }
}

#[test]
fn a_shift_is_found_and_placed() {
    let detector = detector(Aggregate::L2);
    let mut moved = normal(200, 4, 0.0, 8).values().clone();
    for mut row in moved.outer_iter_mut() {
        row[1] += 1.5;
    }
    let shift = test(&detector, &InMemory::new("moved", moved), 999);
    assert!(shift.p_value <= 0.001 + 1e-12, "{}", shift.p_value);
    assert_eq!(shift.entries.len(), 4);
    assert_eq!(shift.entries[0].index, 1);
    assert!(shift.quantities[shift.clearest].effect.abs() > 0.2);
    let residual = &shift.quantities[0];
    let (low, high) = residual.interval.expect("an interval");
    assert!(low <= residual.difference && residual.difference <= high);
    let calm = test(&detector, &normal(200, 4, 0.0, 9), 999);
    assert!(calm.p_value > 0.01, "{}", calm.p_value);
}

#[test]
fn rows_without_a_score_are_counted() {
    let detector = detector(Aggregate::Predicted);
    let mut values = normal(50, 4, 0.0, 8).values().clone();
    values[[4, 0]] = f32::NAN;
    let shift = test(&detector, &InMemory::new("spoilt", values), 99);
    assert_eq!((shift.samples, shift.not_finite), (50, 1));
    assert!(shift.flagged >= 1);
    let nothing = InMemory::new("spoilt", ndarray::ArrayD::from_elem(vec![3, 4], f32::NAN));
    let mut scorer = detector.start(&Backend::RTEN, 1, true).expect("a scorer");
    let mut batch = Batch::new(&detector, 3);
    assert!(batch.test(99).expect_err("no samples").to_string().contains("no samples"));
    batch.add(&scorer.score(nothing.values()).expect("scores")).expect("rows");
    assert!(batch.test(99).expect_err("no rows").to_string().contains("none of the 3"));
}
