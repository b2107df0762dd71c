//! Runs that are interrupted and gone on with.

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::Duration,
};

use taste_data::InMemory;
use taste_engine::Backend;
use taste_train::{Decay, Error, Network, Progress, Training, Watch};

use crate::common::{normal, samples};

fn points(rows: usize) -> InMemory {
    let values = normal(rows, 2, 1);
    let labels = values.outer_iter().map(|p| i64::from(p[0] * p[1] > 0.0)).collect();
    samples(&values).with_labels(labels)
}

fn training(network: &Network) -> Training<'_> {
    Training::classifier(network)
        .steps(300)
        .batch(32)
        .rate(1e-2)
        .warm_up(10)
        .decay(Decay::Cosine)
        .weight_decay(0.01)
        .average(0.95)
        .held_out(0.2)
        .patience(90)
        .seed(2)
        .backend(Backend::RTEN, 2)
}

#[test]
fn a_run_that_was_killed_ends_like_one_that_was_not() {
    let network = Network::new(&[2]).dense(16).relu().dense(2);
    let samples = points(500);
    let whole = training(&network).run(&samples).expect("a run");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.safetensors");
    let kept = |progress: &Watch<'_>| {
        let training = training(&network).checkpoint(&path, Duration::ZERO).progress(progress);
        training.run(&samples).expect("a run")
    };
    let killed = catch_unwind(AssertUnwindSafe(|| {
        kept(&|p| {
            assert!(p.point.step < 100, "killed");
            ControlFlow::Continue(())
        });
    }));
    assert!(killed.is_err() && path.exists());
    let resumed_at = std::cell::Cell::new(0);
    let resumed = kept(&|p| {
        if resumed_at.get() == 0 {
            resumed_at.set(p.point.step);
        }
        ControlFlow::Continue(())
    });
    assert!(resumed_at.get() >= 100, "it started again");
    assert_eq!(resumed.parameters(), whole.parameters());
    assert_eq!(resumed.curve(), whole.curve());
    assert_eq!(resumed.held_out(), whole.held_out());
    // What is finished stays as it is.
    let again = kept(&|p| panic!("step {} was made again", p.point.step));
    assert_eq!(again.parameters(), whole.parameters());
}

#[test]
fn a_run_that_was_stopped_is_kept_and_gone_on_with() {
    let network = Network::new(&[2]).dense(16).relu().dense(2);
    let samples = points(500);
    let whole = training(&network).run(&samples).expect("a run");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.safetensors");
    let run = |progress: &Watch<'_>| {
        training(&network).checkpoint(&path, Duration::MAX).progress(progress).run(&samples)
    };
    let stop =
        |step: usize| if step < 150 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let error = run(&|p| stop(p.point.step)).expect_err("stopped");
    assert!(matches!(error, Error::Cancelled), "{error}");
    let resumed = run(&|_| ControlFlow::Continue(())).expect("a run");
    assert_eq!(resumed.pace().resumed, 150);
    assert_eq!(resumed.parameters(), whole.parameters());
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.safetensors");
    let network = Network::new(&[2]).dense(8).relu().dense(2);
    let run = |training: Training<'_>, rows: usize| {
        let short = training.steps(20).patience(20).checkpoint(&path, Duration::ZERO);
        short.run(&points(rows)).map(|_| ()).map_err(|e| e.to_string())
    };
    run(training(&network), 100).expect("a run");
    let other = Network::new(&[2]).dense(9).relu().dense(2);
    let error = run(training(&other), 100).expect_err("another network");
    assert!(error.contains("another run: its network is"), "{error}");
    let error = run(training(&network).seed(3), 100).expect_err("another seed");
    assert!(error.contains("its seed is 2, and here it is 3"), "{error}");
    let error = run(training(&network), 101).expect_err("other samples");
    assert!(error.contains("its samples"), "{error}");
    assert!(error.contains("run.safetensors"), "{error}");
}

#[test]
fn a_broken_checkpoint_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.safetensors");
    let network = Network::new(&[2]).dense(8).relu().dense(2);
    let run = |path: &Path| {
        let short = training(&network).steps(20).checkpoint(path, Duration::ZERO);
        short.run(&points(100)).map(|_| ())
    };
    run(&path).expect("a run");
    let whole = std::fs::read(&path).expect("a file");
    for broken in
        [&whole[..whole.len() - 5], &whole[..9], b"", b"\xff\xff\xff\xff\xff\xff\xff\xff{}"]
    {
        std::fs::write(&path, broken).expect("written");
        let error = run(&path).expect_err("broken").to_string();
        assert!(error.contains("it is no checkpoint"), "{error}");
    }
    std::fs::write(&path, vec![0; 20 << 20]).expect("written");
    assert!(run(&path).expect_err("large").to_string().contains("larger"));
    let mut old = whole;
    let format = br#"format\":2"#;
    let at = old.windows(format.len()).position(|w| w == format).expect("a format");
    old[at + format.len() - 1] = b'1';
    std::fs::write(&path, &old).expect("written");
    let error = run(&path).expect_err("old").to_string();
    assert!(error.contains("its format is 1, and 2 is known; remove it to start anew"), "{error}");
    let nowhere = folder.path().join("none").join("run.safetensors");
    assert!(run(&nowhere).expect_err("no folder").to_string().contains("can't be written"));
}

#[test]
fn a_flipped_bit_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.safetensors");
    let network = Network::new(&[2]).dense(8).relu().dense(2);
    let data = points(100);
    let run = || {
        let short = training(&network).steps(20).checkpoint(&path, Duration::ZERO);
        short.run(&data).map(|_| ())
    };
    run().expect("a run");
    let whole = std::fs::read(&path).expect("a file");
    for at in (0..whole.len()).step_by(whole.len().div_ceil(60)).chain([whole.len() - 1]) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 7);
        std::fs::write(&path, &flipped).expect("written");
        let error = run().expect_err("flipped").to_string();
        assert!(error.contains("run.safetensors: it") && !error.contains('\n'), "{at}: {error}");
    }
    std::fs::write(&path, &whole).expect("written");
    run().expect("as it was");
}

#[test]
fn a_checkpoint_that_can_no_longer_be_written_does_not_end_the_run() {
    let network = Network::new(&[2]).dense(16).relu().dense(2);
    let samples = points(500);
    let whole = training(&network).run(&samples).expect("a run");
    assert_eq!(whole.unsaved(), None);
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone");
    let path = gone.join("run.safetensors");
    std::fs::create_dir(&gone).expect("a folder");
    let heard = std::cell::RefCell::new(Vec::new());
    let progress = |p: &Progress<'_>| {
        if p.point.step >= 100 {
            let _ = std::fs::remove_dir_all(&gone);
        }
        heard.borrow_mut().push(p.unsaved.map(ToOwned::to_owned));
        ControlFlow::Continue(())
    };
    let training = training(&network).checkpoint(&path, Duration::ZERO).progress(&progress);
    let trained = training.run(&samples).expect("a run");
    assert_eq!(trained.parameters(), whole.parameters());
    let why = trained.unsaved().expect("told at the end");
    assert!(why.contains("run.safetensors: it can't be written: there is no folder"), "{why}");
    let heard = heard.into_inner();
    assert_eq!(heard.first(), Some(&None));
    assert_eq!(heard.last().map(Option::as_deref), Some(Some(why)));
}
