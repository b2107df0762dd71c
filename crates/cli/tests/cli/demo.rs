//! `taste demo`.

use std::fs;

use serde_json::Value as Json;

use crate::common::Place;

const FILES: [&str; 11] = [
    "glyphs-calibration-labels.npy",
    "glyphs-calibration.npy",
    "glyphs-detector.onnx",
    "glyphs-fresh.npy",
    "glyphs-new.npy",
    "glyphs-train.npy",
    "glyphs-unseen.npy",
    "glyphs.onnx",
    "plane.onnx",
    "report.html",
    "shifts",
];

const ANSWERS: [&str; 4] =
    ["neither", "new-but-harmless", "new-and-harmful", "familiar-looking-but-harmful"];

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
    assert_eq!(shifts.len(), 12);
    assert_eq!(shifts[0]["shift"], "fresh samples");
    for shift in shifts {
        for of in ["harm", "novelty"] {
            let p = shift[of]["adjusted_p_value"].as_f64().unwrap();
            assert!(p > 0.0 && p <= 1.0, "{shift}");
            assert!(shift[of]["effect"].as_f64().is_some_and(f64::is_finite), "{shift}");
        }
        let answer = shift["answer"].as_str().unwrap();
        assert!(ANSWERS.contains(&answer), "{shift}");
        assert_eq!(answer.contains("harmful"), shift["harm"]["verdict"] == "shift", "{shift}");
        assert_eq!(answer.contains("new"), shift["novelty"]["is_new"] == true, "{shift}");
        assert_eq!(shift["reason"].is_null(), answer == "neither", "{shift}");
        assert!(shift["estimate"]["value"].as_f64().is_some_and(|v| v > 0.0 && v < 1.0), "{shift}");
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
    assert!(report["batches"][0]["estimate"]["value"].is_f64(), "{}", tested.out);
}

#[test]
fn every_command_that_is_printed_runs() {
    let place = Place::new();
    let told = place.ok("demo --fast --out there --quiet").out;
    let lines: Vec<&str> =
        told.lines().filter_map(|line| line.trim().strip_prefix("taste ")).collect();
    for command in ["fit", "score", "test", "evaluate", "explain"] {
        let line = lines.iter().find(|line| line.starts_with(command)).expect(command);
        let ran = place.run(line);
        let codes: &[i32] = if command == "test" { &[0, 1] } else { &[0] };
        assert!(ran.code.is_some_and(|code| codes.contains(&code)), "{line}: {}", ran.err);
    }
    assert_eq!(lines.len(), 5, "{lines:?}");
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
