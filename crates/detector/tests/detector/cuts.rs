//! The result does not depend on how the data were cut, and parts that are lost or come twice are noticed.

use std::sync::Arc;

use taste_data::InMemory;
use taste_detector::{
    Described, Detector, Error, ErrorKind, Fit, Fitting, Next, Settings,
    passes::{Plan, State},
};
use taste_engine::Model;
use taste_stats::random::Random;

use crate::{
    common::{Distance, engine, model, normal},
    parts::{at_blocks, fit_in_parts, merged, state},
};

const ROWS: usize = 1500;

/// Small chunks make small blocks.
fn fit(model: &Model) -> Fit<'_> {
    let settings = Settings { batch: Some(2), ..Settings::default() };
    Fit::new(model, Arc::new(Distance)).settings(settings).engine(engine())
}

/// Training data of which some rows are not finite.
fn data() -> InMemory {
    let mut values = normal(ROWS, 0.0, 5).values().clone();
    (0..ROWS).step_by(97).for_each(|row| values[[row, row % 4]] = f32::NAN);
    InMemory::new("data", values)
}

fn scores(detector: &Detector) -> Vec<f32> {
    let scorer = detector.start(&engine(), false).expect("a scorer");
    scorer.score(normal(200, 0.3, 6).values().view()).expect("scores").score
}

#[test]
fn cuts_at_the_borders_of_blocks_change_no_bit() {
    let (model, data) = (model(), data());
    let fit = fit(&model);
    let whole = fit.run(&data, None).expect("a detector");
    assert!(whole.manifest().data.left_out > 0 && whole.manifest().data.not_finite > 0);
    let bytes = whole.to_bytes().expect("bytes");
    for parts in [1, 2, 7, 100] {
        let mut random = Random::new(parts as u64);
        let cut = fit_in_parts(&fit, &data, &engine(), &mut random, |plan, random| {
            assert!(plan.block() < 200, "{} rows a block", plan.block());
            at_blocks(plan, random, ROWS, parts)
        });
        let cut = cut.expect("a detector");
        assert_eq!(cut.manifest(), whole.manifest(), "{parts} parts");
        assert!(cut.to_bytes().expect("bytes") == bytes, "{parts} parts");
    }
}

#[test]
fn other_cuts_change_no_more_than_rounding() {
    let (model, data) = (model(), data());
    let fit = fit(&model);
    let whole = scores(&fit.run(&data, None).expect("a detector"));
    for parts in [2u64, 7, 100] {
        let mut random = Random::new(parts);
        let cut = fit_in_parts(&fit, &data, &engine(), &mut random, |_, random| {
            (1..parts).map(|_| random.below(ROWS + 1)).collect()
        });
        let cut = cut.expect("a detector");
        for (a, b) in scores(&cut).iter().zip(&whole) {
            assert!((a - b).abs() <= 1e-6 * b.abs(), "{parts} parts: {a} and {b}");
        }
    }
}

fn plan(fitting: &mut Fitting<'_>) -> Plan {
    match fitting.next().expect("a step") {
        Next::Pass(plan) => plan,
        _ => panic!("no pass"),
    }
}

/// The states of ten parts of equal size.
fn tenths(plan: &Plan, data: &InMemory) -> Vec<State> {
    (0..10).map(|i| state(plan, data, i * ROWS / 10..(i + 1) * ROWS / 10, &engine())).collect()
}

#[track_caller]
fn says(result: Result<(), Error>, part: &str) {
    let error = result.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn a_part_that_is_lost_is_an_error_and_the_fit_goes_on() {
    let (model, data) = (model(), data());
    let (fit, described) = (fit(&model), Described::of(&data));
    let mut fitting = fit.start(&described, None).expect("a fit");
    let mut random = Random::new(1);
    for _ in 0..3 {
        let plan = plan(&mut fitting);
        let mut states = tenths(&plan, &data);
        let last = states.split_off(9);
        let mut some = merged(states, &mut random).expect("nine parts");
        says(
            fitting.take(&plan, some.clone()),
            "a pass saw 1350 rows of the training data, which have 1500",
        );
        for state in last {
            some.merge(state).expect("the tenth");
        }
        fitting.take(&plan, some).expect("all parts");
    }
    assert!(matches!(fitting.next(), Ok(Next::Done(_))));
}

#[test]
fn a_part_that_comes_twice_is_an_error() {
    let (model, data) = (model(), data());
    let (fit, described) = (fit(&model), Described::of(&data));
    let mut fitting = fit.start(&described, None).expect("a fit");
    let mut random = Random::new(1);
    for _ in 0..3 {
        let plan = plan(&mut fitting);
        let states = tenths(&plan, &data);
        let mut twice = states.clone();
        // In place of another of the same size, so that rows alone do not tell.
        twice[8] = twice[1].clone();
        says(merged(twice, &mut random).map(|_| ()), "counted twice");
        let all = merged(states, &mut random).expect("all parts");
        let mut doubled = all.clone();
        says(doubled.merge(all.clone()), "counted twice");
        fitting.take(&plan, all).expect("all parts");
    }
}

#[test]
fn passes_over_data_of_unknown_length_must_agree() {
    let (model, data) = (model(), data());
    let fit = fit(&model);
    let described = Described { count: None, ..Described::of(&data) };
    let mut fitting = fit.start(&described, None).expect("a fit");
    let count = plan(&mut fitting);
    fitting.take(&count, state(&count, &data, 0..ROWS - 1, &engine())).expect("a count");
    let first = plan(&mut fitting);
    let all = state(&first, &data, 0..ROWS, &engine());
    says(fitting.take(&first, all), "a pass saw 1500 rows of the training data, and an earlier");
    let others = state(&first, &data, 1..ROWS, &engine());
    says(fitting.take(&first, others), "an earlier one 1499 others");
}

#[test]
fn states_and_plans_of_other_passes_are_refused() {
    let (model, data) = (model(), data());
    let (fit, described) = (fit(&model), Described::of(&data));
    let mut fitting = fit.start(&described, None).expect("a fit");
    let first = plan(&mut fitting);
    let of_first = state(&first, &data, 0..ROWS, &engine());
    fitting.take(&first, of_first.clone()).expect("all rows");
    let second = plan(&mut fitting);
    let mut of_second = state(&second, &data, 0..ROWS, &engine());
    says(of_second.merge(of_first.clone()), "states of different passes");
    says(fitting.take(&second, of_first.clone()), "the state of another pass");
    says(fitting.take(&first, of_first), "the plan of another pass");
    fitting.take(&second, of_second).expect("the right state");
    assert!(Plan::from_bytes(b"no plan").is_err() && State::from_bytes(&[7; 5]).is_err());
}

#[test]
fn the_same_pass_of_another_fit_is_another_pass() {
    let (model, data, other) = (model(), data(), normal(ROWS, 0.0, 9));
    let fit = fit(&model);
    let described = Described::of(&data);
    // The second pass runs a graph with what the first one learnt.
    let second = |data: &InMemory| {
        let mut fitting = fit.start(&described, None).expect("a fit");
        let first = plan(&mut fitting);
        fitting.take(&first, state(&first, data, 0..ROWS, &engine())).expect("all rows");
        plan(&mut fitting)
    };
    let mut own = state(&second(&data), &data, 0..ROWS / 2, &engine());
    let foreign = state(&second(&other), &data, ROWS / 2..ROWS, &engine());
    says(own.merge(foreign), "states of different passes");
    own.merge(state(&second(&data), &data, ROWS / 2..ROWS, &engine())).expect("the same pass");
}
