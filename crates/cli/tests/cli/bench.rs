//! `taste bench`.

use std::{fs, time::SystemTime};

use ndarray::{Array1, ArrayD, Axis};
use serde_json::Value;

use crate::{
    common::Place,
    models::{CLASSIFIER, convolution, images, samples},
};

/// A place with a network for pictures and samples of every kind.
fn ready() -> Place {
    let place = Place::new();
    convolution(&place, "model.onnx", [1, 10, 10], false);
    place.write("train.npy", &images(300, 10, 10, 1));
    place.write("id.npy", &images(80, 10, 10, 2));
    place.write("id-labels.npy", &Array1::from_iter((0..80i64).map(|i| i % 3)).into_dyn());
    place.write("dark.npy", &images(60, 10, 10, 3).mapv(|v| v / 4));
    place
}

/// Files below a folder and when they were written.
fn written(place: &Place, folder: &str) -> Vec<(String, SystemTime)> {
    let mut all: Vec<(String, SystemTime)> = fs::read_dir(place.path(folder))
        .unwrap()
        .map(|e| e.unwrap())
        .map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().modified().unwrap()))
        .collect();
    all.sort();
    all
}

const BENCH: &str = "bench --model model.onnx --train train.npy --id id.npy --id-labels own --ood dark=dark.npy \
                     --corruptions contrast:5 p-brightness --samples 50 --out bench -q --json";

#[test]
fn methods_are_compared_on_files_and_corruptions_and_what_is_known_is_kept() {
    let place = ready();
    let found = place.json(&format!("{BENCH} --methods msp knn:k=5"));
    let methods = found["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 2);
    let names = |score: &Value| -> Vec<String> {
        let sets = score["sets"].as_array().unwrap();
        sets.iter().map(|s| s["name"].as_str().unwrap().to_owned()).collect()
    };
    let score = &methods[0]["scores"][0];
    assert_eq!(names(score), ["O/dark", "C/contrast:5", "P/brightness"]);
    assert_eq!(score["sets"][1]["samples"], 50);
    assert!(score["id"]["metrics"]["accuracy"]["value"].is_number());
    assert!(score["sets"][1]["metrics"]["accuracy"]["value"].is_number());
    // Of other data nothing is known.
    assert!(score["sets"][0]["metrics"]["accuracy"].is_null());
    let groups = score["groups"].as_array().unwrap();
    assert_eq!(
        groups.iter().map(|g| g["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["C", "O", "P"]
    );
    let table = fs::read_to_string(place.path("bench/table.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 2 * 4, "{table}");
    let page = fs::read_to_string(place.path("bench/bench.html")).unwrap();
    assert!(page.contains("ROC, ") && page.contains("AUROC of methods by sets"));

    // A second run computes only what is new.
    let before = (written(&place, "bench/scores"), written(&place, "bench/sets"));
    assert_eq!(before.0.len(), 2 * 4);
    let again = place.json(&format!("{BENCH} --methods msp knn:k=5"));
    assert_eq!(again, found);
    assert_eq!((written(&place, "bench/scores"), written(&place, "bench/sets")), before);
    // Scores that were lost are computed again.
    fs::remove_file(place.path("bench/scores").join(&before.0[3].0)).unwrap();
    let more = place.json(&format!("{BENCH} --methods msp knn:k=5 knn:k=7"));
    assert_eq!(more["methods"].as_array().unwrap().len(), 3);
    assert_eq!(more["methods"][0]["scores"], found["methods"][0]["scores"]);
    assert_eq!(written(&place, "bench/scores").len(), 3 * 4);
    // Other data, other scores.
    place.write("dark.npy", &images(60, 10, 10, 4).mapv(|v| v / 2));
    let other = place.json(&format!("{BENCH} --methods msp"));
    assert_ne!(other["methods"][0]["scores"][0]["sets"][0], score["sets"][0]);
    assert_eq!(other["methods"][0]["scores"][0]["sets"][1], score["sets"][1]);
}

#[test]
fn attacks_are_sets_too_and_pixels_are_moved_before_they_are_normalised() {
    let place = ready();
    let bench = "bench --model model.onnx --train train.npy --id id.npy --id-labels id-labels.npy --samples 50 \
                 --mean 0.5 --std 0.25 --methods msp --out bench -q --json --attacks";
    let found = place.json(&format!(
        "{bench} fgsm:eps=32/255 pgd:eps=1,norm=l2,steps=5 square:eps=0.2,queries=5"
    ));
    let score = &found["methods"][0]["scores"][0];
    let accuracy = |set: &Value| set["metrics"]["accuracy"]["value"].as_f64().unwrap();
    let sets = score["sets"].as_array().unwrap();
    let names: Vec<&str> = sets.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["A/fgsm:eps=32/255", "A/pgd:eps=1,norm=l2,steps=5", "A/square:eps=0.2,queries=5"]
    );
    assert_eq!(score["groups"][0]["name"], "A");
    assert!(sets.iter().all(|set| set["samples"] == 50 && accuracy(set) <= accuracy(&score["id"])));
    assert!(accuracy(&sets[0]) < accuracy(&score["id"]), "{score}");
    // What the attack alone says of the same samples.
    let labels: ArrayD<i64> = Array1::from_iter((0..50i64).map(|i| i % 3)).into_dyn();
    place.write("few.npy", &images(80, 10, 10, 2).slice_axis(Axis(0), (..50).into()).to_owned());
    place.write("few-labels.npy", &labels);
    let alone = place.json(
        "attack model.onnx few.npy --labels few-labels.npy --attack fgsm --eps 32/255 --mean 0.5 --std 0.25 --json -q -o a.npy",
    );
    assert!((alone["accuracy_after"].as_f64().unwrap() - accuracy(&sets[0])).abs() < 1e-9);
    let kept = written(&place, "bench/sets");
    let file = kept.iter().find(|(name, _)| name.starts_with("fgsm")).unwrap();
    assert_eq!(place.array(&format!("bench/sets/{}", file.0)), place.array("a.npy"));
    // More of them cost only themselves, and other labels are another attack.
    let more = place.json(&format!("{bench} fgsm:eps=32/255 fgsm:eps=0.3"));
    assert_eq!(more["methods"][0]["scores"][0]["sets"][0], sets[0]);
    assert_eq!(written(&place, "bench/sets").len(), kept.len() + 1);
    place.write("id-labels.npy", &Array1::from_elem(80, 1i64).into_dyn());
    place.json(&format!("{bench} fgsm:eps=32/255"));
    assert_eq!(written(&place, "bench/sets").len(), kept.len() + 2);
    place.fails(&format!("{bench} fgsm"), "write fgsm:eps=8/255");
}

#[test]
fn a_file_holds_a_whole_benchmark() {
    let place = ready();
    place.text(
        "bench.toml",
        "model = 'model.onnx'\ntrain = 'train.npy'\nid = 'id.npy'\nmethods = ['msp']\nsamples = 40\nattacks = ['fgsm:eps=0.1']\n[ood]\ndark = 'dark.npy'\n",
    );
    let text = place.ok("bench --config bench.toml -q --out kept").out;
    let parts = ["O/dark", "A/fgsm:eps=0.1", "FPR95, ID positive"];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    let found = place.json("bench --config bench.toml --samples 30 -q --json --out kept");
    assert_eq!(found["methods"][0]["scores"][0]["id"]["samples"], 30);
    place.text("bad.toml", "model = 'model.onnx'\nmetods = ['msp']\n");
    place.fails("bench --config bad.toml", "bad.toml: line 2: unknown field `metods`");
}

#[test]
fn a_column_of_labels_that_a_file_names_is_no_input() {
    let place = Place::new();
    CLASSIFIER.save(&place, "model.onnx");
    let table = |rows, seed| {
        let cells = samples(rows, 0.0, seed);
        let rows = cells.outer_iter().enumerate().map(|(i, row)| {
            format!(
                "{},{},{},{},{}\n",
                row[0],
                row[1],
                row[2],
                row[3],
                ["red", "sea", "sky"][i % 3]
            )
        });
        format!("a,b,c,d,colour\n{}", rows.collect::<String>())
    };
    place.text("train.csv", &table(400, 3));
    place.text("id.csv", &table(60, 4));
    place.write("far.npy", &samples(60, 2.0, 5).into_dyn());
    let plan = "model = 'model.onnx'\ntrain = 'train.csv'\nid = 'id.csv'\nlabels = 'colour'\nid-labels = 'colour'\n\
                methods = ['mahalanobis']\ncorruptions = ['missing-values:5']\nattacks = ['fgsm:eps=0.1']\n";
    for reading in ["", "[reading]\nexclude = []\n"] {
        place.text("bench.toml", &format!("{plan}[ood]\nfar = 'far.npy'\n{reading}"));
        let found = place.json("bench --config bench.toml -q --json --out kept");
        let score = &found["methods"][0]["scores"][0];
        assert_eq!(score["sets"].as_array().unwrap().len(), 3);
        assert!(score["id"]["metrics"]["accuracy"]["value"].is_number(), "{score}");
    }
}

#[test]
fn a_method_that_does_not_apply_is_left_out_with_its_reason() {
    let place = Place::new();
    CLASSIFIER.save(&place, "model.onnx");
    place.write("train.npy", &samples(400, 0.0, 3).into_dyn());
    place.write("id.npy", &samples(60, 0.0, 4).into_dyn());
    place.write("far.npy", &samples(60, 2.0, 5).into_dyn());
    let bench = "bench --model model.onnx --train train.npy --id id.npy --ood far=far.npy";
    let run = place.ok(&format!("{bench} --methods msp knn:k=450"));
    assert!(run.err.contains("note: left out knn:k=450"), "{}", run.err);
    let one = "--methods knn:k=450";
    let failed = place.run(&format!("{bench} {one}"));
    assert_eq!(failed.code, Some(2));
    assert!(failed.err.contains("no method could be fitted"), "{}", failed.err);
}

#[test]
fn what_is_wrong_with_files_is_said_before_sets_are_made() {
    let place = ready();
    place.write("few.npy", &Array1::from_elem(7, 1i64).into_dyn());
    let bench =
        "bench --model model.onnx --train train.npy --methods msp --corruptions fog --out kept";
    for (arguments, message) in [
        ("--id id.npy --ood none.npy", "none.npy"),
        ("--id dark.npy --id-labels own", "dark.npy has no labels of its own"),
        ("--id id.npy --id-labels few.npy", "few.npy"),
    ] {
        place.fails(&format!("{bench} {arguments}"), message);
    }
}

#[test]
fn what_makes_no_benchmark_is_said() {
    let place = ready();
    place.write("odd.npy", &ArrayD::<f32>::zeros(ndarray::IxDyn(&[5, 3])));
    let all = "bench --model model.onnx --train train.npy --id id.npy --ood dark=dark.npy";
    for (arguments, message) in [
        ("bench --methods msp".to_owned(), "--model"),
        (all.to_owned(), "no methods are named"),
        (format!("{all} --methods mspp"), "did you mean msp?"),
        (format!("{all} --methods msp msp"), "is named twice"),
        (format!("{all} --methods msp --corruptions fog"), "name one with --out"),
        (format!("{all} --methods msp --corruptions fgo"), "did you mean fog?"),
        (format!("{all} --methods msp --samples 0"), "there must be some"),
        (
            "bench --model model.onnx --train train.npy --id train.npy --ood dark.npy --methods msp".to_owned(),
            "clean samples must be others",
        ),
        (
            "bench --model model.onnx --train train.npy --id id.npy --ood odd.npy --methods msp".to_owned(),
            "odd.npy",
        ),
    ] {
        place.fails(&arguments, message);
    }
}
