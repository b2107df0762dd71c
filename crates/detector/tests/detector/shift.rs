//! Tests of batches: their level, what decides, and what is said beside it.

use std::{ops::ControlFlow, sync::Arc};

use taste_data::{Borrowed, InMemory, Mapped, Samples};
use taste_detector::{
    Detector, Error, Fit, Job, Method, Needs, Part, Role, Statistic, Step,
    shift::{Batch, By, Kind, MovedColumn, Note, Session, Shift, TestSettings, Tests, Verdict},
};
use taste_ops::functions;
use taste_stats::binomial;

use crate::common::{
    Column, Distance, WIDTH, engine, fitted, halves, imputing, lacking, model, normal,
};

/// The sum of squares of a sample is its score, its squares are the terms, its entries residuals and drifts, and its first
/// entry is the novelty.
#[derive(Debug)]
struct Squares;

impl Method for Squares {
    fn name(&self) -> &'static str {
        "squares"
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let (x, rows) = (job.draft.input(), job.draft.rows());
        let mut b = job.draft.build();
        let squares = b.mul(x, x)?;
        let sum = b.sum(squares, &[1])?;
        let mut statistic = Statistic::new(b.reshape(sum, &[rows])?);
        let first = functions::slice(&mut b, x, 1, 0, 1)?;
        statistic.novelty = Some(b.reshape(first, &[rows])?);
        for (name, id, role) in [
            ("terms", squares, Role::Evidence),
            ("residuals", x, Role::Residual),
            ("drifts", x, Role::Drift),
        ] {
            let columns = (0..WIDTH).map(|i| format!("{name} {i}")).collect();
            statistic.parts.push(Part { name: name.into(), id, role, columns, baseline: None });
        }
        Ok(statistic.into())
    }
}

fn batch<'d>(detector: &'d Detector, samples: &InMemory) -> Batch<'d> {
    let scorer = detector.start(&engine(), detector.has_map()).expect("a scorer");
    let mut batch = Batch::new(detector, 3);
    let values = samples.values().view();
    batch.add(&values, &scorer.score(values.view()).expect("scores")).expect("rows");
    batch
}

/// One batch, judged by itself.
fn test(detector: &Detector, samples: &InMemory, permutations: usize) -> Shift {
    let settings = TestSettings { permutations, ..TestSettings::of(detector) };
    let mut session = Session::new(detector, settings).expect("a session");
    session.test("batch", 0, &batch(detector, samples)).expect("a test");
    session.finish().expect("tests").batches.remove(0).shift
}

/// Normal samples with one column moved.
fn moved(rows: usize, column: usize, by: f32, seed: u64) -> InMemory {
    let mut values = normal(rows, 0.0, seed).values().clone();
    for mut row in values.outer_iter_mut() {
        row[column] += by;
    }
    InMemory::new("moved", values)
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
    let shift = test(&detector, &moved(200, 1, 1.5, 8), 999);
    assert!(shift.p_value <= 0.001 + 1e-12, "{}", shift.p_value);
    assert_eq!(shift.verdict, Verdict::Shift);
    let entries = shift.information.entries.as_ref().expect("maps");
    assert_eq!((entries.list.len(), entries.list[0].index), (4, 1));
    let (low, high) = shift.interval.expect("an interval");
    assert!(0.2 < low && low < shift.effect && shift.effect < high, "{shift:?}");
    let columns = &shift.information.columns;
    assert_eq!((columns.len(), columns[0].name.as_str()), (4, "entry 1"));
    assert!(columns[0].distance > 0.4 && columns[0].adjusted_p_value < 1e-6);
    assert!(columns[1].adjusted_p_value > 0.001, "{columns:?}");
    let calm = test(&detector, &normal(200, 0.0, 9), 999);
    assert!(calm.p_value > 0.01 && !calm.is_shift(), "{}", calm.p_value);
}

#[test]
fn terms_are_reasons_of_a_shift_and_add_up_to_its_effect() {
    let detector = fitted(Squares, halves(), 3000);
    let shift = test(&detector, &moved(300, 2, 1.5, 8), 999);
    assert_eq!(shift.verdict, Verdict::Shift);
    assert_eq!(shift.reasons[0].name, "terms 2");
    let sum: f64 = shift.reasons.iter().map(|r| r.effect).sum();
    assert!((sum - shift.effect).abs() < 1e-9, "{sum} {}", shift.effect);
    assert!(shift.information.terms.is_empty());
    let kinds: Vec<Kind> = shift.information.tests.iter().map(|t| t.kind).collect();
    assert_eq!(kinds, [Kind::Residual, Kind::Drift, Kind::Novelty]);
    let [residual, drift, novelty] = &shift.information.tests[..] else { panic!("three") };
    assert_eq!(residual.name, "residuals 2");
    assert!((residual.effect - 1.5).abs() < 0.3 && residual.adjusted_p_value < 0.01);
    assert!((drift.effect - 2.25).abs() < 0.7 && drift.adjusted_p_value < 0.01);
    assert!(novelty.adjusted_p_value > 0.01);
    let calm = test(&detector, &normal(300, 0.0, 9), 999);
    assert!(calm.reasons.is_empty() && calm.information.terms.len() == 4, "{calm:?}");
    // Novelty alone does not decide: the first entry moves, and the score hardly.
    let mut values = normal(300, 0.0, 10).values().clone();
    for mut row in values.outer_iter_mut() {
        row[0] = row[0].abs();
    }
    let new = test(&detector, &InMemory::new("new", values), 999);
    let found = new.information.tests.iter().find(|t| t.kind == Kind::Novelty).expect("one");
    assert!(found.adjusted_p_value <= 0.003 && new.verdict == Verdict::None, "{new:?}");
}

#[test]
fn samples_without_a_score_are_furthest_out() {
    let detector = fitted(Distance, halves(), 1000);
    let mut values = normal(1000, 0.0, 8).values().clone();
    values[[4, 0]] = f32::NAN;
    let one = test(&detector, &InMemory::new("spoilt", values.clone()), 199);
    assert_eq!((one.samples, one.not_finite, one.verdict), (1000, 1, Verdict::None));
    assert!(one.flagged >= 1 && one.notes.contains(&Note::NoScore), "{one:?}");
    values.slice_mut(ndarray::s![10.., ..]).fill(f32::NAN);
    let most = test(&detector, &InMemory::new("spoilt", values.clone()), 199);
    assert_eq!((most.not_finite, most.verdict), (991, Verdict::Shift));
    values.fill(f32::NAN);
    let all = test(&detector, &InMemory::new("spoilt", values), 199);
    assert_eq!((all.not_finite, all.verdict), (1000, Verdict::Shift));
    assert!(all.information.tests.is_empty());
    let empty = Batch::new(&detector, 3);
    assert!(empty.test(99).expect_err("no samples").to_string().contains("no samples"));
}

#[test]
fn a_negligible_effect_is_seen_and_let_pass() {
    let detector = fitted(Column, halves(), 20_000);
    let small = normal(20_000, 0.08, 5);
    let found = |least_effect: f64| {
        let settings =
            TestSettings { permutations: 199, least_effect, ..TestSettings::of(&detector) };
        let mut session = Session::new(&detector, settings).expect("a session");
        session.test("small", 0, &batch(&detector, &small)).expect("a test");
        session.finish().expect("tests").batches.remove(0).shift
    };
    let shift = found(TestSettings::LEAST_EFFECT);
    assert!(shift.p_value <= 0.005 && shift.interval.expect("one").1 < 0.2, "{shift:?}");
    assert_eq!(shift.verdict, Verdict::Negligible);
    // The p-value alone decides where no effect is too small.
    assert_eq!(found(0.0).verdict, Verdict::Shift);
    // A few samples have no interval, and their effect itself counts.
    let few = test(&detector, &normal(3, 4.0, 6), 1999);
    assert!(few.interval.is_none() && few.verdict == Verdict::Shift, "{few:?}");
}

#[test]
fn samples_that_are_too_ordinary_are_told_and_no_shift() {
    let detector = fitted(Distance, halves(), 4000);
    let values = normal(500, 0.0, 8).values().mapv(|v| 0.4 * v);
    let shift = test(&detector, &InMemory::new("calm", values), 999);
    assert_eq!(shift.verdict, Verdict::None);
    assert!(shift.effect < -0.3 && shift.lower_p_value <= 0.01, "{shift:?}");
    assert_eq!(shift.notes, [Note::MoreOrdinary, Note::FewFlagged]);
    assert!(detector.flags_too_few(0, 1_000_000) && !detector.flags_too_few(50_000, 1_000_000));
    assert!(!detector.flags_too_few(0, 20) && !detector.flags_too_few(25, 500));
}

#[test]
fn stuck_columns_and_repeated_samples_are_told() {
    let detector = fitted(Distance, halves(), 2000);
    let mut values = normal(200, 0.0, 8).values().clone();
    values.index_axis_mut(ndarray::Axis(1), 2).fill(0.25);
    let stuck = test(&detector, &InMemory::new("stuck", values), 199).information.stuck;
    assert_eq!((stuck.len(), stuck[0].name.as_str()), (1, "entry 2"));
    assert!((stuck[0].share - 1.0).abs() < 1e-12 && stuck[0].usual_share < 1e-12);
    let one = normal(1, 0.0, 8).values().clone();
    let copies = ndarray::concatenate(ndarray::Axis(0), &vec![one.view(); 200]).expect("rows");
    let shift = test(&detector, &InMemory::new("copies", copies), 199);
    assert!(shift.repeated == 199 && shift.notes.contains(&Note::Repeated), "{shift:?}");
    let calm = test(&detector, &normal(200, 0.0, 9), 199);
    assert!(calm.repeated == 0 && calm.notes.is_empty() && calm.information.stuck.is_empty());
}

/// A detector of samples that lack entries, behind a model that fills these in.
fn behind_imputer(share: f64) -> Detector {
    let model = imputing();
    let fit = Fit::new(&model, Arc::new(Distance)).settings(halves()).engine(engine());
    fit.run(&lacking(2000, share, 2), None).expect("a detector")
}

#[test]
fn columns_are_compared_as_they_were_read() {
    let detector = behind_imputer(0.15);
    let bytes = detector.to_bytes().expect("bytes");
    let detector = Detector::from_bytes(&bytes).expect("columns with missing values read back");
    let fresh = test(&detector, &lacking(800, 0.15, 9), 199);
    let quiet = |c: &MovedColumn| c.adjusted_p_value > 0.05;
    assert!(fresh.information.columns.iter().all(quiet), "{:?}", fresh.information.columns);
    assert!(fresh.information.stuck.is_empty() && fresh.verdict == Verdict::None, "{fresh:?}");
    // Half of a column is missing, or all of it.
    for (every, share) in [(2, 0.57), (1, 1.0)] {
        let mut values = lacking(800, 0.15, 9).values().clone();
        values.slice_mut(ndarray::s![..;every, 1]).fill(f32::NAN);
        let found = test(&detector, &InMemory::new("lacking", values), 199).information;
        let first = &found.columns[0];
        assert!(first.name == "entry 1" && first.adjusted_p_value < 0.001, "{first:?}");
        assert!((first.missing - share).abs() < 0.03 && first.usual_missing < 0.18, "{first:?}");
        assert!(found.columns[1..].iter().all(quiet), "{:?}", found.columns);
        assert!((found.stuck[0].share - share).abs() < 0.03, "{:?}", found.stuck);
        assert!((found.stuck[0].usual_share - 0.15).abs() < 0.03, "{:?}", found.stuck);
    }
}

#[test]
fn samples_that_lack_everything_have_no_score_where_that_is_rare() {
    let all = InMemory::new("empty", normal(200, 0.0, 9).values().mapv(|_| f32::NAN));
    for share in [0.0, 0.15] {
        let empty = test(&behind_imputer(share), &all, 199);
        assert_eq!((empty.not_finite, empty.flagged, empty.verdict), (200, 200, Verdict::Shift));
        assert!(!empty.notes.contains(&Note::MoreOrdinary), "{empty:?}");
        // One entry is enough.
        let mut values = all.values().clone();
        values.index_axis_mut(ndarray::Axis(1), 2).fill(0.5);
        let one = test(&behind_imputer(share), &InMemory::new("one", values), 199);
        assert_eq!(one.not_finite, 0);
    }
    // One in five training samples lacks everything.
    let mut values = normal(2000, 0.0, 2).values().clone();
    values.slice_mut(ndarray::s![..;5, ..]).fill(f32::NAN);
    let model = imputing();
    let fit = Fit::new(&model, Arc::new(Distance)).settings(halves()).engine(engine());
    let detector = fit.run(&InMemory::new("often", values), None).expect("a detector");
    assert_eq!(test(&detector, &all, 199).not_finite, 0);
}

fn tested(detector: &Detector, settings: TestSettings, sets: &[&dyn Samples]) -> Tests {
    let scorer = detector.start(&engine(), false).expect("a scorer");
    let mut session = Session::new(detector, settings).expect("a session");
    for set in sets {
        session.add(&scorer, *set, 7, &|_| ControlFlow::Continue(())).expect("tested");
    }
    session.finish().expect("tests")
}

#[test]
fn several_batches_are_tested_together() {
    let detector = fitted(Column, halves(), 1000);
    let settings =
        TestSettings { batch_size: Some(40), permutations: 999, ..TestSettings::of(&detector) };
    let sets = [normal(100, 0.0, 4), normal(40, 2.0, 5)];
    let batches = tested(&detector, settings.clone(), &[&sets[0], &sets[1]]).batches;
    let firsts: Vec<(usize, usize)> = batches.iter().map(|t| (t.first, t.shift.samples)).collect();
    assert_eq!(firsts, [(0, 40), (40, 40), (80, 20), (0, 40)]);
    assert!(batches[..3].iter().all(|t| !t.shift.is_shift()) && batches[3].shift.is_shift());
    for batch in &batches {
        assert!(batch.shift.adjusted_p_value >= batch.shift.p_value);
    }
    let few = TestSettings { permutations: 5, ..settings };
    let message = Session::new(&detector, few).expect_err("too few").to_string();
    assert!(message.contains("5 permutations"), "{message}");
}

#[test]
fn a_shift_is_found_among_many_batches() {
    let detector = fitted(Column, halves(), 1000);
    let size = 40;
    let settings =
        TestSettings { batch_size: Some(size), permutations: 999, ..TestSettings::of(&detector) };
    let (calm, far) = (normal(size * 120, 0.0, 4), normal(size, 3.0, 5));
    let batches = tested(&detector, settings.clone(), &[&calm, &far]).batches;
    assert_eq!(batches.len(), 121);
    // 999 permutations give no p-value below .001, which is above alpha for one of 121.
    assert!(settings.least_p_value() * 121.0 > settings.alpha);
    let last = &batches[120].shift;
    assert!(last.is_shift() && last.permutations > 999, "{last:?}");
    let found = batches[..120].iter().filter(|b| b.shift.is_shift()).count();
    assert_eq!(found, 0);
}

#[test]
fn a_large_batch_is_as_far_out_as_a_small_one_of_its_kind() {
    let detector = fitted(Column, halves(), 2000);
    let far = normal(8000, 2.0, 7);
    let of = |size: usize| {
        let part = far.values().slice_axis(ndarray::Axis(0), (..size).into()).to_owned();
        test(&detector, &InMemory::new("far", part), 199)
    };
    let (whole, mut before) = (of(8000), f64::INFINITY);
    for size in [50, 500, 8000] {
        let (low, high) = of(size).interval.expect("an interval");
        assert!(high - low < before, "{size}: {low} to {high}");
        before = high - low;
        assert!(low < whole.effect && whole.effect < high, "{size}: {low} to {high}");
    }
}

#[test]
fn segments_are_tested_with_their_number_in_mind() {
    let detector = fitted(Column, halves(), 1000);
    let Ok(by) = "day:month".parse::<By>();
    let settings = TestSettings { by: Some(by), permutations: 999, ..TestSettings::of(&detector) };
    let values = ndarray::concatenate(
        ndarray::Axis(0),
        &[normal(60, 0.0, 4).values().view(), normal(61, 2.0, 5).values().view()],
    )
    .expect("rows");
    let plain = Borrowed::new("days", values.view());
    let dated = Mapped::new(&plain, || {
        |mut chunk: taste_data::Chunk| {
            let day = |&i: &usize| match i {
                0..60 => format!("2024-05-{:02}", 1 + i % 28),
                60..120 => "2024-04-30T10:00:00".to_owned(),
                _ => "2024-06-01".to_owned(),
            };
            chunk.kept = vec![chunk.index.iter().map(day).collect()];
            chunk
        }
    });
    let found = tested(&detector, settings.clone(), &[&dated]);
    let segments: Vec<_> = found
        .batches
        .iter()
        .map(|b| (b.segment.as_deref().expect("one"), b.shift.samples, b.shift.is_shift()))
        .collect();
    assert_eq!(segments, [("2024-04", 60, true), ("2024-05", 60, false)]);
    let doubled = 2.0 * found.batches[0].shift.p_value;
    assert!((found.batches[0].shift.adjusted_p_value - doubled).abs() < 1e-12);
    assert_eq!((found.too_small.len(), found.too_small[0].segment.as_str()), (1, "2024-06"));
    let scorer = detector.start(&engine(), false).expect("a scorer");
    let mut session = Session::new(&detector, settings).expect("a session");
    let error = session.add(&scorer, &plain, 7, &|_| ControlFlow::Continue(()));
    assert!(error.expect_err("no columns").to_string().contains("no columns to divide"));
}
