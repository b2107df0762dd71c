//! Models that are more than a network: what lies before the part with derivatives.

use std::{fmt::Write, fs, path::Path};

use crate::common::Place;

/// A place with a model of the engine's fixtures.
fn place(model: &str) -> Place {
    let place = Place::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/fixtures/classical");
    let name = model.rsplit('/').next().unwrap_or(model);
    fs::copy(fixtures.join(format!("{model}.onnx")), place.path(&format!("{name}.onnx")))
        .expect("a fixture");
    place
}

/// Rows of numbers that look random; every seventh entry is what `entry` makes of a whole number.
fn table(columns: &[&str], rows: usize, entry: impl Fn(usize, u64) -> String) -> String {
    let mut text = columns.join(",");
    let mut state = 1u64;
    for _ in 0..rows {
        text.push('\n');
        for (i, _) in columns.iter().enumerate() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let comma = if i == 0 { "" } else { "," };
            write!(text, "{comma}{}", entry(i, state >> 33)).expect("text");
        }
    }
    text
}

fn number(drawn: u64) -> String {
    format!("{}", (drawn % 4000) as f64 / 1000.0 - 2.0)
}

#[test]
fn missing_values_that_the_model_fills_in_have_scores() {
    let place = place("imputer");
    let missing = |_: usize, n: u64| if n.is_multiple_of(7) { String::new() } else { number(n) };
    place.text("train.csv", &table(&["a", "b", "c", "d"], 400, missing));
    place.ok("fit --model imputer.onnx --data train.csv -o d.onnx -q");
    place.ok("score d.onnx train.csv -o scores.csv -q");
    let scores = fs::read_to_string(place.path("scores.csv")).expect("scores");
    let flagged = scores.lines().filter(|l| l.contains("true")).count();
    assert!(flagged < 80, "{flagged} of 400 are flagged");
    assert!(!scores.contains("NaN"), "a score is missing");
}

#[test]
fn missing_values_that_trees_take_as_such_have_scores() {
    let place = place("boosted_missing");
    // The first column is there in all training data.
    let holes = |i: usize, n: u64| {
        if n.is_multiple_of(7) && i > 0 { String::new() } else { number(n) }
    };
    let rows = table(&["a", "b", "c", "d"], 2000, holes);
    let lines: Vec<&str> = rows.lines().collect();
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    place.text("train.csv", &part(&lines[1..1501]));
    place.text("fresh.csv", &part(&lines[1501..]));
    let without = |(i, line): (usize, &&str)| match (i, line.split_once(',')) {
        (1..=20, Some((_, rest))) => format!(",{rest}\n"),
        _ => format!("{line}\n"),
    };
    place.text("odd.csv", &lines.iter().enumerate().map(without).collect::<String>());
    // `msp` goes through no training data, and can't know what they never lacked.
    for (method, without_a_score) in [("taste", 20), ("knn", 20), ("msp", 0)] {
        place.ok(&format!(
            "fit --model boosted_missing.onnx --data train.csv --method {method} -o d.onnx -q"
        ));
        place.ok("score d.onnx train.csv -o scores.csv -q");
        let scores = fs::read_to_string(place.path("scores.csv")).expect("scores");
        let flagged = scores.lines().filter(|l| l.contains("true")).count();
        assert!(flagged < 150, "{method}: {flagged} of 1500 are flagged");
        assert!(!scores.contains("NaN"), "{method}: a score is missing");
        place.ok("test d.onnx train.csv -q");
        // The detector's own graph goes on without what is missing, too.
        place.ok("edit d.onnx --recalibrate fresh.csv -o e.onnx -q");
        place.ok("score e.onnx train.csv -o again.csv -q");
        let score = |text: &str| -> Vec<String> {
            text.lines().map(|l| l.split(',').nth(1).unwrap_or("").to_owned()).collect()
        };
        let again = fs::read_to_string(place.path("again.csv")).expect("scores");
        assert_eq!(score(&scores), score(&again), "{method}");
        place.ok("score d.onnx odd.csv -o odd_scores.csv -q");
        let scores = fs::read_to_string(place.path("odd_scores.csv")).expect("scores");
        let found = scores.lines().filter(|line| line.contains("NaN")).count();
        assert_eq!(found, without_a_score, "{method}: {scores}");
    }
}

#[test]
fn a_column_that_is_never_there_hides_no_answer() {
    let place = place("boosted_missing");
    let rows =
        table(&["a", "b", "c", "d"], 300, |i, n| if i == 3 { String::new() } else { number(n) });
    place.text("train.csv", &rows);
    let run = place.ok("fit --model boosted_missing.onnx --data train.csv -o d.onnx");
    assert!(run.out.contains("a classifier of 3 classes"), "{}", run.out);
}

#[test]
fn trees_are_fitted_without_a_gradient_and_stein_says_why_not() {
    let place = place("forest_three");
    place.text("train.csv", &table(&["a", "b", "c", "d"], 300, |_, n| number(n)));
    place.ok("fit --model forest_three.onnx --data train.csv -o d.onnx -q");
    place.fails(
        "fit --model forest_three.onnx --data train.csv --score gaussian -o s.onnx -q",
        "the answer is constant between steps",
    );
    let run = place.ok("inspect forest_three.onnx");
    assert!(run.out.contains("the answer is constant between steps"), "{}", run.out);
    // What trees give is added up by a linear layer, and before it there are features.
    let manifest = place
        .json("fit --model forest_three.onnx --data train.csv --at features -o f.onnx -q --json");
    assert_eq!(manifest["method"]["name"], "stein");
    place.ok("fit --model forest_three.onnx --data train.csv --method knn -o k.onnx -q");
}

#[test]
fn forests_of_many_trees_are_fitted() {
    let place = place("forest_many");
    place.text("train.csv", &table(&["a", "b", "c", "d"], 600, |_, n| number(n)));
    place.ok("fit --model forest_many.onnx --data train.csv -o d.onnx -q");
    // Of the answers of a tree to all classes there is nothing to tell.
    let manifest = place.json("inspect d.onnx --json");
    let cuts = manifest["method"]["facts"]["cuts"].as_array().expect("cuts");
    assert_eq!(cuts.len(), 1, "{cuts:?}");
}

#[test]
fn ids_go_through_a_recurrent_layer_and_residuals_stand_behind_it() {
    let place = place("recurrent");
    let ids = |_: usize, n: u64| (n % 10).to_string();
    place.text("train.csv", &table(&["t0", "t1", "t2", "t3", "t4"], 300, ids));
    place.ok("fit --model recurrent.onnx --data train.csv -o d.onnx -q");
    place.fails(
        "fit --model recurrent.onnx --data train.csv --score gaussian -o s.onnx -q",
        "(LSTM) has no derivative",
    );
    let manifest =
        place.json("fit --model recurrent.onnx --data train.csv --at features -o s.onnx -q --json");
    assert_eq!(manifest["method"]["facts"]["at"], "h");
    assert_eq!(manifest["model"]["inputs"][0], "ids");
    place.ok("test s.onnx train.csv -q");
}
