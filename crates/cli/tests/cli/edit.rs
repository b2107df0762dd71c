//! `taste edit`.

use std::fs;

use crate::models::fitted;

#[test]
fn the_threshold_follows_alpha_without_a_fit() {
    let place = fitted();
    let before = fs::read(place.path("detector.onnx")).unwrap();
    let shown = place.ok("edit detector.onnx");
    assert!(shown.out.contains("(alpha 0.05, conformal; "), "{}", shown.out);
    assert_eq!((shown.err.as_str(), fs::read(place.path("detector.onnx")).unwrap()), ("", before));
    let run = place.ok("edit detector.onnx --alpha 0.2 -o loose.onnx");
    assert_eq!(run.err.trim_end(), "wrote loose.onnx");
    assert!(run.out.contains("alpha 0.2"), "{}", run.out);
    let flagged = |detector: &str| {
        let text = place.ok(&format!("score {detector} new.npy -q")).out;
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let p: f64 = cells[3].parse().unwrap();
            let alpha = if detector == "loose.onnx" { 0.2 } else { 0.05 };
            assert_eq!(cells[4], (p <= alpha).to_string(), "{detector}: {line}");
        }
        text.lines().filter(|l| l.contains(",true,")).count()
    };
    assert!(flagged("loose.onnx") > flagged("detector.onnx"));
    let edited = place.json("edit detector.onnx --alpha 0.1 --threshold quantile --json");
    assert_eq!((&edited["alpha"], &edited["rule"]), (&0.1.into(), &"quantile".into()));
    assert_eq!(edited, place.json("edit detector.onnx --json"));
}

#[test]
fn the_threshold_can_be_set() {
    let place = fitted();
    let edited = place.json("edit detector.onnx --set-threshold -1 --json");
    assert_eq!(
        (&edited["alpha"], &edited["threshold"]),
        (&serde_json::Value::Null, &(-1.0).into())
    );
    let run = place.ok("score detector.onnx new.npy");
    assert!(run.out.lines().skip(1).all(|l| l.contains(",true,")), "{}", run.out);
    assert!(
        run.err.starts_with("70 samples: 70 flagged (100.0 %): a score above -1"),
        "{}",
        run.err
    );
    assert!(place.ok("edit detector.onnx").out.contains("set by hand"));
    let report = place.run("test detector.onnx new.npy --json");
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!(report["alpha"], 0.05);
}

#[test]
fn a_threshold_that_another_tool_changed_is_damage() {
    let place = fitted();
    let mut file = taste_onnx::Model::open(&place.path("detector.onnx")).unwrap();
    let constants = &mut file.proto.graph.as_mut().unwrap().initializer;
    let threshold = constants.iter_mut().find(|t| t.name == "taste.threshold").unwrap();
    *threshold = taste_onnx::builders::tensor_f32("taste.threshold", &[], &[0.25]);
    file.save(&place.path("detector.onnx")).unwrap();
    for command in ["edit detector.onnx", "edit detector.onnx --alpha 0.05"] {
        place.fails(
            command,
            "this detector is damaged: it flags beyond 0.25, and its manifest says",
        );
    }
}

#[test]
fn what_can_not_be_is_refused_and_leaves_the_file_alone() {
    let place = fitted();
    let before = fs::read(place.path("detector.onnx")).unwrap();
    for (arguments, message) in [
        ("--alpha 0.0001", "needs at least 9999 calibration samples, but there are"),
        ("--alpha 0", "alpha"),
        ("--alpha 1.5", "alpha"),
        ("--set-threshold nan", "no number to compare with"),
        ("--set-threshold 1e39", "a threshold of 1e39 is no number to compare with in single"),
        ("--set-threshold x", "--set-threshold"),
        ("--alpha 0.1 --set-threshold 3", "cannot be used with"),
        ("--threshold quantile", "--alpha"),
        ("-o other.onnx", "nothing to change"),
        ("--alpha 0.1 -o gone/other.onnx", "gone"),
    ] {
        place.fails(&format!("edit detector.onnx {arguments}"), message);
    }
    place.fails("edit model.onnx --alpha 0.1", "model.onnx: this is no detector");
    place.fails("edit gone.onnx", "gone.onnx");
    assert!(before == fs::read(place.path("detector.onnx")).unwrap());
}
