//! Every experiment runs on little, says the same again from what it kept, and leaves what its page shows.

mod common;

use std::{fs, sync::Mutex};

use taste_lab::{Effort, Event, Run, Verdict, experiment, reproduce, summarise};

use common::{check_files, folder};

#[test]
fn the_signal_follows_the_answers_in_all_directions() {
    let out = folder();
    let run = Run::new(out.path()).effort(Effort::Least);
    let page = reproduce(experiment("directional").expect("listed"), &run).expect("a page");
    check_files(out.path(), &page);
    for claim in &page.claims()[..2] {
        assert_eq!(claim.verdict, Verdict::Holds, "{claim:?}");
    }
}

#[test]
fn the_first_order_operator_has_blind_spots() {
    let out = folder();
    let run = Run::new(out.path()).effort(Effort::Least);
    let page = reproduce(experiment("first-order").expect("listed"), &run).expect("a page");
    check_files(out.path(), &page);
    let operators = page.table_named("operators").expect("a table");
    assert_eq!(operators.number("Langevin", "blind angles"), Some(0.0));
    let along = |v: &str| operators.number(&format!("v = {v}"), "blind angles").expect("a row");
    let blind = ["(1, 1)", "(1, 0)", "(0, 1)", "(1, −1)"].map(along);
    assert!(blind.iter().any(|count| *count > 0.0), "{}", operators.csv());
}

#[test]
fn the_propositions_hold() {
    let out = folder();
    let run = Run::new(out.path()).effort(Effort::Least);
    let page = reproduce(experiment("theory").expect("listed"), &run).expect("a page");
    check_files(out.path(), &page);
    assert_eq!(page.claims().len(), 6);
    for claim in page.claims() {
        assert_eq!(claim.verdict, Verdict::Holds, "{claim:?}");
    }
}

#[test]
fn a_run_goes_on_from_what_it_kept_and_says_the_same() {
    let out = folder();
    let kept = Mutex::new(Vec::new());
    let watch = |event: Event<'_>| {
        if let Event::Step { is_kept, number: (step, of), .. } = event {
            assert!(step <= of);
            kept.lock().expect("steps").push(is_kept);
        }
        std::ops::ControlFlow::Continue(())
    };
    let run = Run::new(out.path()).effort(Effort::Least).watch(&watch);
    let experiment = experiment("first-order").expect("listed");
    let first = reproduce(experiment, &run).expect("a page");
    let again = reproduce(experiment, &run).expect("a page");
    assert_eq!(first.markdown(), again.markdown());
    assert_eq!(*kept.lock().expect("steps"), [false, false, true, true]);

    let summary = summarise(out.path()).expect("written").expect("a page is there");
    let text = fs::read_to_string(summary).expect("a file");
    assert!(first.claims().iter().all(|claim| text.contains(&claim.claim)));
}

#[test]
fn a_run_stops_when_it_is_told_to() {
    let out = folder();
    let run =
        Run::new(out.path()).effort(Effort::Least).watch(&|_| std::ops::ControlFlow::Break(()));
    let error = reproduce(experiment("directional").expect("listed"), &run).expect_err("stopped");
    assert_eq!(error.kind(), taste_lab::ErrorKind::Cancelled);
}

#[test]
fn names_that_are_mistyped_get_a_suggestion() {
    let error = experiment("directionl").expect_err("no such").to_string();
    assert!(error.contains("did you mean directional?"), "{error}");
}

#[test]
fn the_page_of_experiments_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
    let page = taste_lab::listing();
    if std::env::var_os("TASTE_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/experiments.md differs from the table: TASTE_WRITE_DOCS=1 cargo test -p taste-lab writes it anew"
    );
}
