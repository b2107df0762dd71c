//! Tests of batches: where a shift lies. Their level and what they count are tested with the crate of detectors.

use taste_data::InMemory;
use taste_detector::{
    Detector,
    shift::{Batch, Shift},
};
use taste_engine::Backend;

use crate::common::{Scaled, Trial, engine, network, normal};

fn test(detector: &Detector, samples: &InMemory, permutations: usize) -> Shift {
    let scorer = detector.start(&engine(&Backend::RTEN), true).expect("a scorer");
    let mut batch = Batch::new(detector, 3);
    batch.add(&scorer.score(samples.values().view()).expect("scores")).expect("rows");
    batch.test(permutations).expect("a test")
}

#[test]
fn a_shift_is_found_and_placed() {
    let model = network(&[4, 16, 3], "Tanh", 1);
    let detector = Trial::new(&model, Scaled(1.0))
        .aggregate("l2")
        .run(&normal(1000, 4, 0.0, 2))
        .expect("a detector");
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
