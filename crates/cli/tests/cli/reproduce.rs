//! `taste reproduce`.

use std::fs;

use crate::common::Place;

#[test]
fn an_experiment_leaves_a_page_and_goes_on_from_what_it_kept() {
    let place = Place::new();
    let run = place.ok("reproduce first-order --out results --fast");
    assert!(run.err.contains("step 1 of 2: training with seed 0"), "{}", run.err);
    assert!(run.out.contains("blind spots"), "{}", run.out);
    let page = fs::read_to_string(place.path("results/first-order.md")).unwrap();
    assert!(page.contains("taste reproduce first-order --out OUT"), "{page}");
    for name in ["angles.svg", "angles.png", "operators.csv", "page.json"] {
        assert!(place.path("results/first-order").join(name).is_file(), "{name}");
    }
    assert!(
        fs::read_to_string(place.path("results/README.md")).unwrap().contains("first-order.md")
    );

    let again = place.ok("reproduce first-order --out results --fast");
    assert!(again.err.contains("kept from an earlier run"), "{}", again.err);
    assert_eq!(run.out, again.out);
    assert_eq!(page, fs::read_to_string(place.path("results/first-order.md")).unwrap());
}

#[test]
fn what_is_missing_or_mistyped_is_said_in_a_sentence() {
    let place = Place::new();
    for (arguments, words) in [
        ("reproduce directionl --out o", "did you mean directional?"),
        ("reproduce mnist --out o", "needs training digits of MNIST"),
        ("reproduce mnist --data nowhere --out o", "--data nowhere: there is no such folder"),
        ("list experimnts", "did you mean experiments?"),
    ] {
        place.fails(arguments, words);
    }
    assert!(place.ok("list experiments").out.contains("directional"));
}
