//! Models as other libraries export them (`fixtures/make.py`), from fit to evaluation.

use std::path::Path;

use ndarray::Array2;
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

#[test]
fn a_binary_classifier_of_keras_goes_all_the_way() {
    let place = place("keras_binary.onnx");
    rows(&place, "train.npy", 1500, 0.0, 1);
    rows(&place, "same.npy", 200, 0.0, 2);
    rows(&place, "far.npy", 200, 3.0, 3);
    let manifest = place.json("fit --model model.onnx --data train.npy -o d.onnx --json");
    assert_eq!(manifest["model"]["answer"], "binary");
    assert_eq!(manifest["model"]["scale"], "probabilities");
    let flagged = |data: &str| {
        let found = place.json(&format!("score d.onnx {data} -o s.csv --json"));
        found["flagged"].as_u64().unwrap()
    };
    let (same, far) = (flagged("same.npy"), flagged("far.npy"));
    assert!(same <= 25 && far >= 100, "{same} and {far} of 200 flagged");
    assert_eq!(place.run("test d.onnx same.npy").code, Some(0));
    assert_eq!(place.run("test d.onnx far.npy").code, Some(1));
    let found = place.json("evaluate d.onnx --id same.npy --ood far=far.npy --json");
    assert!(found.to_string().contains("auroc"), "{found}");
}
