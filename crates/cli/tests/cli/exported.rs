//! Models as other libraries export them (`fixtures/make.py`), from fit to evaluation.

use std::{fmt::Write as _, path::Path};

use ndarray::{Array2, ArrayD, IxDyn};
use taste_stats::random::Random;

use crate::common::Place;

/// A folder with a model of the fixtures as `model.onnx`.
fn place(model: &str) -> Place {
    let place = Place::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::copy(fixtures.join(model), place.path("model.onnx")).unwrap();
    place
}

/// Rows of six columns, moved by `shift`.
#[expect(clippy::cast_possible_truncation, reason = "arrays are single precision")]
fn rows(place: &Place, name: &str, count: usize, shift: f64, seed: u64) {
    let mut random = Random::new(seed);
    let x = Array2::from_shape_simple_fn((count, 6), || (random.normal() + shift) as f32);
    place.write(name, &x.into_dyn());
}

/// How many samples a command flags.
fn flagged(place: &Place, data: &str) -> u64 {
    let found = place.json(&format!("score d.onnx {data} -o s.csv --json"));
    found["flagged"].as_u64().unwrap()
}

/// Scores, tests and evaluates `d.onnx` on `same` and `far`, both of 200 samples.
fn goes_all_the_way(place: &Place, same: &str, far: &str) {
    let (few, many) = (flagged(place, same), flagged(place, far));
    assert!(few <= 25 && many >= 100, "{few} and {many} of 200 flagged");
    assert_eq!(place.run(&format!("test d.onnx {same}")).code, Some(0));
    assert_eq!(place.run(&format!("test d.onnx {far}")).code, Some(1));
    let found = place.json(&format!("evaluate d.onnx --id {same} --ood far={far} --json"));
    assert!(found.to_string().contains("auroc"), "{found}");
}

#[test]
fn a_binary_classifier_of_keras_goes_all_the_way() {
    let place = place("keras_binary.onnx");
    rows(&place, "train.npy", 1500, 0.0, 1);
    rows(&place, "same.npy", 200, 0.0, 2);
    rows(&place, "far.npy", 200, 3.0, 3);
    let manifest = place.json("fit --model model.onnx --data train.npy -o d.onnx --json");
    assert_eq!(manifest["model"]["answer"], "binary");
    assert_eq!(manifest["model"]["scale"], "probabilities");
    goes_all_the_way(&place, "same.npy", "far.npy");
}

#[test]
fn gradient_boosting_of_lightgbm_goes_all_the_way() {
    let place = place("lightgbm.onnx");
    rows(&place, "train.npy", 1500, 0.0, 1);
    rows(&place, "same.npy", 200, 0.0, 2);
    rows(&place, "far.npy", 200, 6.0, 3);
    let manifest = place.json("fit --model model.onnx --data train.npy -o d.onnx --json");
    assert_eq!(manifest["model"]["answer"], "classes");
    assert_eq!(manifest["model"]["scale"], "probabilities");
    // Trees are as sure of what they have never seen: that leaves do not go together tells.
    goes_all_the_way(&place, "same.npy", "far.npy");
    assert!(place.run("test d.onnx far.npy").out.contains("lie outside of the training data"));
    place.fails(
        "fit --model model.onnx --data train.npy -o e.onnx --method stein",
        "the answer is constant between steps",
    );
}

/// Rows with two numbers, some of them missing, and two words, as `pipeline.onnx` takes them, among columns that it does not
/// take.
fn customers(place: &Place, name: &str, count: usize, shift: f64, seed: u64) {
    let mut random = Random::new(seed);
    let mut text = "customer,since,city,age,income,grade,left\n".to_owned();
    for i in 0..count {
        let mut number = || match random.below(20) {
            0 => String::new(),
            _ => format!("{:.4}", 2.0 * random.normal() + shift),
        };
        let (age, income) = (number(), number());
        let city = ["Aachen", "Cologne", "Dresden"][random.below(3)];
        let grade = ["a", "b"][random.below(2)];
        let left = ["no", "yes"][random.below(2)];
        writeln!(text, "c{i},2024-03-{:02},{city},{age},{income},{grade},{left}", i % 28 + 1)
            .unwrap();
    }
    place.text(name, &text);
}

#[test]
fn a_pipeline_with_missing_values_and_words_goes_all_the_way() {
    let place = place("pipeline.onnx");
    customers(&place, "train.csv", 1500, 0.0, 1);
    customers(&place, "same.csv", 200, 0.0, 2);
    customers(&place, "far.csv", 200, 25.0, 3);
    place.ok("fit --model model.onnx --data train.csv --labels left -o d.onnx -q");
    goes_all_the_way(&place, "same.csv", "far.csv");
    // A column that is missing altogether is told.
    let lines = std::fs::read_to_string(place.path("same.csv")).unwrap();
    let without = |(i, line): (usize, &str)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if i > 0 {
            cells[3] = "";
        }
        cells.join(",") + "\n"
    };
    place.text("ageless.csv", &lines.lines().enumerate().map(without).collect::<String>());
    let ageless = place.run("test d.onnx ageless.csv").out;
    assert!(ageless.contains("100.0 %") && ageless.contains("of samples lack it"), "{ageless}");
    assert!(ageless.contains("note") || ageless.contains("shift: "), "{ageless}");
    // Columns are found by name; what the model does not take can come along.
    let run = place.ok("score d.onnx same.csv --keep customer,since -o s.csv");
    assert!(!run.err.contains("data:"), "{}", run.err);
    let scores = std::fs::read_to_string(place.path("s.csv")).unwrap();
    assert!(scores.lines().next().unwrap().ends_with("prediction,customer,since"), "{scores}");
    assert!(!scores.contains("NaN"), "a score is missing");
    // A word that the training data do not have is told.
    let odd = std::fs::read_to_string(place.path("same.csv")).unwrap().replace("Cologne", "Berlin");
    place.text("odd.csv", &odd);
    let run = place.ok("score d.onnx odd.csv -o s.csv");
    assert!(run.err.contains("data: city:"), "{}", run.err);
}

/// Texts as lists of token ids, of different lengths; those from other ids on have one word again and again.
fn texts(place: &Place, name: &str, count: usize, from: usize, seed: u64) {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for i in 0..count {
        let length = if i == 0 { 12 } else { 3 + random.below(10) };
        let first = from + random.below(40);
        let mut id = || if from == 1 { from + random.below(40) } else { first };
        let ids: Vec<String> = (0..length).map(|_| id().to_string()).collect();
        writeln!(text, "{{\"id\": \"t{i}\", \"input_ids\": [{}]}}", ids.join(", ")).unwrap();
    }
    place.text(name, &text);
}

#[test]
fn a_classifier_of_texts_of_any_length_goes_all_the_way() {
    let place = place("texts.onnx");
    texts(&place, "train.jsonl", 1500, 1, 1);
    texts(&place, "same.jsonl", 200, 1, 2);
    texts(&place, "far.jsonl", 200, 59, 3);
    let manifest = place.json("fit --model model.onnx --data train.jsonl -o d.onnx --json");
    let sequences = &manifest["data"]["reading"]["sequences"];
    assert_eq!(sequences["length"], 12);
    assert_eq!(sequences["inputs"][1][1], "mask");
    goes_all_the_way(&place, "same.jsonl", "far.jsonl");
    // Padding is no part of a text: with more of it, answers stay what they are.
    let scores = |detector: &str| {
        place.ok(&format!("score {detector} same.jsonl --keep id -o s.csv -q"));
        let text = std::fs::read_to_string(place.path("s.csv")).unwrap();
        assert!(text.lines().nth(1).unwrap().ends_with(",t0"), "{text}");
        let cell = |line: &str| line.split(',').rev().nth(1).unwrap().to_owned();
        text.lines().skip(1).map(cell).collect::<Vec<_>>()
    };
    let predictions = scores("d.onnx");
    place.ok("fit --model model.onnx --data train.jsonl -o long.onnx --length 20 --method msp -q");
    assert_eq!(scores("long.onnx"), predictions);
    // Longer ones are cut, and counted.
    place.text("long.jsonl", &format!("{{\"input_ids\": {:?}}}\n", vec![5; 30]));
    let run = place.ok("score d.onnx long.jsonl -o s.csv");
    assert!(run.err.contains("1 sample with longer sequences"), "{}", run.err);
    // An id that the model does not know stops no other text.
    let ids = [[5, 6, 7], [5, 1_000_000, 7]];
    let lines: Vec<String> = ids.iter().map(|i| format!("{{\"input_ids\": {i:?}}}\n")).collect();
    place.text("unknown.jsonl", &lines.concat());
    for detector in ["d.onnx", "long.onnx"] {
        let run = place.ok(&format!("score {detector} unknown.jsonl -o s.jsonl"));
        assert!(run.err.contains("1 sample has no finite score"), "{}", run.err);
        assert!(run.err.contains("ids that the model does not know"), "{}", run.err);
        let text = std::fs::read_to_string(place.path("s.jsonl")).unwrap();
        let rows: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(rows[0]["score"].is_number() && rows[1]["score"].is_null(), "{text}");
        assert_eq!(rows[1]["flag"], true, "{text}");
        assert!(rows[0]["prediction"].is_number() && rows[1]["prediction"].is_null(), "{text}");
    }
    // In the features there are residuals, drifts and tests.
    let fit = "fit --model model.onnx --data train.jsonl --at features -o s.onnx --json";
    let manifest = place.json(fit);
    assert_eq!(manifest["method"]["name"], "stein");
    place.ok("test s.onnx same.jsonl -q");
}

/// Colour images of 224 × 224 bytes: blocks of one colour each.
fn pictures(place: &Place, name: &str, count: usize, noise: usize, seed: u64) {
    let mut random = Random::new(seed);
    let blocks = ArrayD::from_shape_simple_fn(IxDyn(&[count, 3, 14, 14]), || random.below(200));
    let mut dice = Random::new(seed + 1);
    let x = ArrayD::from_shape_fn(IxDyn(&[count, 3, 224, 224]), |at| {
        let block = blocks[[at[0], at[1], at[2] / 16, at[3] / 16]];
        u8::try_from(block + dice.below(noise)).unwrap()
    });
    place.write(name, &x);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without optimisation: cargo test --release")]
fn a_mobilenet_of_a_thousand_classes_goes_all_the_way() {
    let place = place("mobilenet.onnx");
    pictures(&place, "train.npy", 120, 8, 1);
    pictures(&place, "same.npy", 20, 8, 3);
    pictures(&place, "far.npy", 20, 56, 5);
    let scale = "--mean 0.485,0.456,0.406 --std 0.229,0.224,0.225";
    let fit =
        format!("fit --model model.onnx --data train.npy {scale} -o d.onnx --goal novelty --json");
    let manifest = place.json(&fit);
    assert_eq!(manifest["model"]["outputs"], 1000);
    // Few samples at once, as memory grows with them.
    assert!(manifest["model"]["chunk"].as_u64().unwrap() <= 64, "{}", manifest["model"]["chunk"]);
    let (same, far) = (flagged(&place, "same.npy"), flagged(&place, "far.npy"));
    assert!(same <= 6 && far >= 15, "{same} and {far} of 20 flagged");
    assert_eq!(place.run("test d.onnx far.npy").code, Some(1));
    let found = place.json("evaluate d.onnx --id same.npy --ood far=far.npy --json");
    assert!(found.to_string().contains("auroc"), "{found}");
    for command in
        [format!("{fit} --threads 2"), "score d.onnx far.npy -o s.csv --threads 2".into()]
    {
        let peak = place.peak(&command).unwrap_or(0);
        assert!(peak <= 600_000_000, "{peak} bytes: taste {command}");
    }
}
