//! Tests of batches: where a shift lies. Their level and what they count are tested with the crate of detectors.

use taste_data::InMemory;
use taste_detector::{
    Detector,
    shift::{Batch, EntriesOf, Kind, Shift},
};
use taste_engine::Backend;

use crate::common::{Scaled, Trial, engine, network, normal};

fn test(detector: &Detector, samples: &InMemory, permutations: usize) -> Shift {
    let scorer = detector.start(&engine(&Backend::RTEN), true).expect("a scorer");
    let mut batch = Batch::new(detector, 3);
    let values = samples.values().view();
    batch.add(&values, &scorer.score(values.view()).expect("scores")).expect("rows");
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
    // A two-sided score does not tell: some residuals grow, others shrink as the softmax saturates. Their means do.
    let entries = shift.information.entries.as_ref().expect("maps");
    assert_eq!((entries.list.len(), entries.of), (4, EntriesOf::Residual));
    assert_eq!(entries.list[0].index, 1);
    let tests = &shift.information.tests;
    assert_eq!(tests.len(), 2);
    assert!(
        tests.iter().all(|t| t.kind == Kind::Residual && t.adjusted_p_value <= 0.01),
        "{tests:?}"
    );
    let calm = test(&detector, &normal(200, 4, 0.0, 9), 999);
    assert!(calm.p_value > 0.01, "{}", calm.p_value);
}
