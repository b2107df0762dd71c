//! `taste demo`.

use std::fs;

use serde_json::Value as Json;

use crate::common::Place;

const FILES: [&str; 7] = [
    "glyphs-calibration.npy",
    "glyphs-detector.onnx",
    "glyphs-new.npy",
    "glyphs-train.npy",
    "glyphs.onnx",
    "plane.onnx",
    "report.html",
];

#[test]
fn the_story_is_told_on_a_page_and_in_numbers_and_can_be_gone_on_with() {
    let place = Place::new();
    let told = place.json("demo --fast --out there --json --quiet");
    let left: Vec<String> = {
        let entries = fs::read_dir(place.path("there")).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    };
    for file in FILES {
        assert!(left.iter().any(|name| name == file), "{file} in {left:?}");
    }
    assert_eq!(told["plane"]["directions"].as_array().map(Vec::len), Some(36));
    let shifts = told["glyphs"]["shifts"].as_array().unwrap();
    assert_eq!(shifts.len(), 10);
    assert_eq!(shifts[0]["shift"], "fresh samples");
    for shift in shifts {
        let p = shift["adjusted_p_value"].as_f64().unwrap();
        assert!(p > 0.0 && p <= 1.0, "{shift}");
        assert!(shift["effect"].as_f64().is_some_and(f64::is_finite), "{shift}");
        assert!(["quiet", "small", "shift"].contains(&shift["answer"].as_str().unwrap()));
    }

    let page = fs::read_to_string(place.path("there/report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    assert!(page.trim_end().ends_with("</html>"));
    for outside in ["http://", "https://", "src=\"/", "<script"] {
        // The namespace of SVG is a name, not an address.
        let found = page.replace("http://www.w3.org/", "").contains(outside);
        assert!(!found, "the page asks for {outside}");
    }
    assert!(page.contains("<svg") && page.contains("unseen shape"));

    let tested = place.run("test there/glyphs-detector.onnx there/glyphs-new.npy --json");
    assert!(matches!(tested.code, Some(0 | 1)), "{}", tested.err);
    let report: Json = serde_json::from_str(&tested.out).unwrap();
    assert!(report["batches"][0]["samples"].as_u64().is_some_and(|n| n > 0));
    place.ok("score there/glyphs-detector.onnx there/glyphs-new.npy --out scores.csv");
    place.ok("explain there/glyphs-detector.onnx there/glyphs-new.npy --out maps");
}

#[test]
fn a_seed_tells_the_same_story_twice() {
    let place = Place::new();
    let [first, again] = ["a", "b"].map(|folder| {
        let told = place.json(&format!("demo --fast --seed 3 --out {folder} --json --quiet"));
        (told["glyphs"].clone(), fs::read(place.path(folder).join("glyphs.onnx")).unwrap())
    });
    assert_eq!(first.0, again.0);
    assert!(first.1 == again.1, "the networks differ");
}

#[test]
fn a_folder_that_cannot_be_is_told_at_once() {
    let place = Place::new();
    place.text("taken", "a file");
    place.fails("demo --fast --out taken --quiet", "taken");
}
