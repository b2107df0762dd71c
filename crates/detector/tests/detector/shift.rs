//! Tests of batches: their level, and what they count.

use std::sync::Arc;

use taste_data::InMemory;
use taste_detector::{
    Detector, Fit, Method,
    shift::{Batch, Session, Shift, TestSettings},
};
use taste_stats::binomial;

use crate::common::{Column, Distance, engine, fitted, halves, model, normal};

fn test(detector: &Detector, samples: &InMemory, permutations: usize) -> Shift {
    let scorer = detector.start(&engine(), detector.has_map()).expect("a scorer");
    let mut batch = Batch::new(detector, 3);
    batch.add(&scorer.score(samples.values().view()).expect("scores")).expect("rows");
    batch.test(permutations).expect("a test")
}

#[test]
fn batches_without_a_shift_keep_the_level() {
    let model = model();
    let methods: [Arc<dyn Method>; 2] = [Arc::new(Column), Arc::new(Distance)];
    for method in methods {
        let tests = 200;
        // A detector for every batch, so that the tests are independent.
        let rejected = (0..tests).filter(|round| {
            let fit = Fit::new(&model, Arc::clone(&method)).settings(halves()).engine(engine());
            let detector = fit.run(&normal(200, 0.0, 100 + round), None).expect("a detector");
            let shift = test(&detector, &normal(30, 0.0, 1000 + round), 99);
            assert!(shift.p_value > 0.0);
            shift.p_value <= 0.1
        });
        let (rejected, (low, high)) = (rejected.count() as u64, binomial::band(tests, 0.1, 1e-4));
        assert!((low..=high).contains(&rejected), "{method:?}: {rejected} of {tests}");
    }
}

#[test]
fn a_shift_is_found_and_placed() {
    let detector = fitted(Distance, halves(), 2000);
    let mut moved = normal(200, 0.0, 8).values().clone();
    for mut row in moved.outer_iter_mut() {
        row[1] += 1.5;
    }
    let shift = test(&detector, &InMemory::new("moved", moved), 999);
    assert!(shift.p_value <= 0.001 + 1e-12, "{}", shift.p_value);
    assert_eq!((shift.entries.len(), shift.entries[0].index), (4, 1));
    let names: Vec<&str> = shift.quantities.iter().map(|q| q.name.as_str()).collect();
    assert_eq!(names, ["score", "rank of score", "term 0", "term 1", "term 2", "term 3"]);
    assert!(shift.effect().abs() > 0.2 && shift.summaries == 2);
    let (low, high) = shift.quantities[0].interval.expect("an interval");
    assert!(low <= shift.quantities[0].difference && shift.quantities[0].difference <= high);
    let calm = test(&detector, &normal(200, 0.0, 9), 999);
    assert!(calm.p_value > 0.01, "{}", calm.p_value);
}

#[test]
fn rows_without_a_score_are_counted() {
    let detector = fitted(Distance, halves(), 1000);
    let mut values = normal(50, 0.0, 8).values().clone();
    values[[4, 0]] = f32::NAN;
    let shift = test(&detector, &InMemory::new("spoilt", values), 99);
    assert_eq!((shift.samples, shift.not_finite), (50, 1));
    assert!(shift.flagged >= 1);
    let nothing = ndarray::ArrayD::from_elem(vec![3, 4], f32::NAN);
    let scorer = detector.start(&engine(), true).expect("a scorer");
    let mut batch = Batch::new(&detector, 3);
    assert!(batch.test(99).expect_err("no samples").to_string().contains("no samples"));
    batch.add(&scorer.score(nothing.view()).expect("scores")).expect("rows");
    assert!(batch.test(99).expect_err("no rows").to_string().contains("none of the 3"));
}

#[test]
fn several_batches_are_tested_together() {
    let detector = fitted(Column, halves(), 1000);
    let scorer = detector.start(&engine(), false).expect("a scorer");
    let settings =
        TestSettings { batch_size: Some(40), permutations: 999, ..TestSettings::of(&detector) };
    let mut session = Session::new(&detector, settings.clone()).expect("a session");
    let go = |_: taste_detector::Stage<'_>| std::ops::ControlFlow::Continue(());
    session.add(&scorer, &normal(100, 0.0, 4), 7, &go).expect("tested");
    session.add(&scorer, &normal(40, 2.0, 5), 7, &go).expect("tested");
    let tested = session.finish();
    let firsts: Vec<(usize, usize)> = tested.iter().map(|t| (t.first, t.shift.samples)).collect();
    assert_eq!(firsts, [(0, 40), (40, 40), (80, 20), (0, 40)]);
    assert!(tested[..3].iter().all(|t| !t.shifted) && tested[3].shifted);
    for batch in &tested {
        assert!(batch.shift.adjusted_p_value >= batch.shift.p_value);
    }
    let few = TestSettings { permutations: 5, ..settings };
    let message = Session::new(&detector, few).expect_err("too few").to_string();
    assert!(message.contains("5 permutations"), "{message}");
}
