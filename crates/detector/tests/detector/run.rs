//! A fit on this machine, and scores from several threads.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use ndarray::{Axis, Slice};
use taste_data::{Chunks, InMemory, Samples};
use taste_detector::{Error, ErrorKind, Fit, Settings, Stage};

use crate::common::{Distance, engine, fitted, halves, model, normal};

const PURPOSES: [&str; 3] =
    ["samples for the covariance", "samples for the spread", "calibration samples"];

#[test]
fn progress_is_told_and_may_stop_the_fit() {
    let (model, data) = (model(), normal(9000, 0.0, 2));
    let told = Mutex::new(BTreeMap::new());
    let listen = |stage: Stage<'_>| {
        let mut told = told.lock().expect("no panic");
        told.insert(stage.purpose.to_owned(), (stage.done, stage.total));
        ControlFlow::Continue(())
    };
    let fit = || Fit::new(&model, Arc::new(Distance)).engine(engine());
    let detector = fit().progress(&listen).run(&data, None).expect("a detector");
    let facts = &detector.manifest().data;
    let told = told.lock().expect("no panic").clone();
    for (purpose, count) in PURPOSES.iter().zip([facts.fitted, facts.tails, facts.calibrated]) {
        assert_eq!(told.get(*purpose), Some(&(count, Some(count))), "{purpose}");
    }
    for purpose in PURPOSES {
        for least in [0, 1] {
            let stop = |stage: Stage<'_>| {
                let now = stage.purpose == purpose && stage.done >= least;
                if now { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let error = fit().progress(&stop).run(&data, None).expect_err("stopped");
            assert!(matches!(error, Error::Cancelled), "{purpose}: {error}");
            assert_eq!(error.kind(), ErrorKind::Cancelled);
        }
    }
}

#[test]
fn threads_that_score_at_once_get_what_one_after_the_other_gets() {
    let detector = fitted(Distance, halves(), 600);
    let scorer = detector.start(&engine(), true).expect("a scorer");
    let samples = normal(400, 0.2, 9);
    let parts: Vec<_> = (0..8)
        .map(|i| samples.values().slice_axis(Axis(0), Slice::from(50 * i..50 * (i + 1))))
        .collect();
    let alone: Vec<_> = parts.iter().map(|p| scorer.score(p.view()).expect("scores")).collect();
    std::thread::scope(|scope| {
        for (part, alone) in parts.iter().zip(&alone) {
            let scorer = &scorer;
            scope.spawn(move || {
                for _ in 0..20 {
                    let found = scorer.score(part.view()).expect("scores");
                    assert_eq!(found.score, alone.score);
                    assert_eq!(found.p_value, alone.p_value);
                    assert_eq!((&found.parts, &found.map), (&alone.parts, &alone.map));
                }
            });
        }
    });
}

/// Counts how often samples are gone through, and how many are read.
struct Counted {
    of: InMemory,
    knows_count: bool,
    passes: AtomicUsize,
    rows: AtomicUsize,
}

impl Counted {
    fn new(of: InMemory, knows_count: bool) -> Self {
        Self { of, knows_count, passes: AtomicUsize::new(0), rows: AtomicUsize::new(0) }
    }

    fn seen(&self) -> (usize, usize) {
        (self.passes.load(Ordering::Relaxed), self.rows.load(Ordering::Relaxed))
    }
}

impl Samples for Counted {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn sample_shape(&self) -> &[usize] {
        self.of.sample_shape()
    }

    fn count(&self) -> Option<usize> {
        self.of.count().filter(|_| self.knows_count)
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, taste_data::Error> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        let count = |c: &Result<_, _>| {
            let rows = c.as_ref().map_or(0, taste_data::Chunk::len);
            self.rows.fetch_add(rows, Ordering::Relaxed);
        };
        Ok(Box::new(self.of.chunks(rows)?.inspect(count)))
    }
}

#[test]
fn data_are_read_once_a_pass() {
    let model = model();
    let fit = Fit::new(&model, Arc::new(Distance)).engine(engine());
    // Covariance, spread, calibration; one more to count what has no length.
    for (knows_count, passes) in [(true, 3), (false, 4)] {
        let train = Counted::new(normal(6000, 0.0, 2), knows_count);
        fit.run(&train, None).expect("a detector");
        assert_eq!(train.seen(), (passes, passes * 6000));
        let calibration = Counted::new(normal(500, 0.0, 3), knows_count);
        let train = Counted::new(normal(6000, 0.0, 2), knows_count);
        let detector = fit.run(&train, Some(&calibration)).expect("a detector");
        assert_eq!(
            (train.seen(), calibration.seen()),
            ((1, 6000), (passes - 1, (passes - 1) * 500))
        );
        let facts = &detector.manifest().data;
        assert_eq!((facts.fitted, facts.tails + facts.calibrated), (6000, 500));
    }
}

#[test]
fn held_out_samples_are_divided_as_asked_for() {
    let facts = |settings| fitted(Distance, settings, 6000).manifest().data.clone();
    let third = facts(Settings::default());
    // 40 % of 6000 are held out; a third of these is 800, with a standard error of 26.
    assert!(third.tails.abs_diff(800) < 110, "{third:?}");
    assert_eq!(third.fitted + third.tails + third.calibrated, 6000);
    let half = facts(halves());
    assert!(half.tails.abs_diff(1200) < 130 && half.fitted == third.fitted, "{half:?}");
}
