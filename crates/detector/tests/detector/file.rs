//! A detector is one file: what goes in comes out, and it can be edited.

use std::sync::Arc;

use taste_detector::{Detector, ErrorKind, Fit, Scores};
use taste_engine::Model;
use taste_stats::conformal::Rule;

use crate::common::{Column, Distance, engine, fitted, halves, model, normal};

fn scores(detector: &Detector, shift: f64) -> Scores {
    let scorer = detector.start(&engine(), detector.has_map()).expect("a scorer");
    scorer.score(normal(300, shift, 9).values().view()).expect("scores")
}

#[track_caller]
fn are_equal(a: &Detector, b: &Detector) {
    assert_eq!(a.manifest(), b.manifest());
    assert_eq!(a.calibration(), b.calibration());
    assert_eq!(a.reference(), b.reference());
    assert_eq!(a.maps(), b.maps());
    let (x, y) = (scores(a, 0.5), scores(b, 0.5));
    assert_eq!((&x.score, &x.p_value, &x.flag), (&y.score, &y.p_value, &y.flag));
    assert_eq!((&x.parts, &x.map), (&y.parts, &y.map));
}

#[test]
fn bytes_hold_the_whole_detector() {
    for detector in [fitted(Column, halves(), 600), fitted(Distance, halves(), 1200)] {
        let bytes = detector.to_bytes().expect("bytes");
        let again = Detector::from_bytes(&bytes).expect("a detector");
        are_equal(&detector, &again);
        assert!(again.to_bytes().expect("bytes") == bytes);
        assert!(Detector::is_one(detector.onnx()) && !Detector::is_one(model().onnx()));
    }
}

#[test]
fn the_manifest_names_the_model_by_its_bytes() {
    let bytes = model().onnx().to_bytes().expect("bytes");
    let model = Model::from_bytes("linear.onnx", &bytes).expect("a model");
    let fit = Fit::new(&model, Arc::new(Column)).engine(engine());
    let detector = fit.run(&normal(200, 0.0, 2), None).expect("a detector");
    assert_eq!(detector.manifest().model.sha256, taste_onnx::sha256(&bytes));
}

#[test]
fn a_file_reads_back_and_its_threshold_can_be_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("detector.onnx");
    let detector = fitted(Distance, halves(), 1200);
    detector.save(&path).expect("saved");
    let mut again = Detector::open(&path).expect("a detector");
    are_equal(&detector, &again);
    let before = scores(&detector, 0.5);
    again.set_alpha(0.2, Rule::Conformal).expect("enough samples");
    again.save(&path).expect("saved");
    let again = Detector::open(&path).expect("a detector");
    assert_eq!(again.manifest().decision.alpha, Some(0.2));
    let after = scores(&again, 0.5);
    assert_eq!(before.score, after.score);
    for (p, flag) in after.p_value.iter().zip(&after.flag) {
        assert_eq!(*flag, *p <= 0.2);
    }
    let mut by_hand = again;
    by_hand.set_threshold(0.0).expect("a number");
    assert!(scores(&by_hand, 0.0).flag.iter().all(|f| *f));
    assert!(by_hand.set_threshold(f64::NAN).is_err());
    let few = by_hand.set_alpha(1e-9, Rule::Conformal).expect_err("too few").to_string();
    assert!(few.contains("999999999"), "{few}");
}

/// What a detector says whose metadata were changed.
fn spoilt(key: &str, value: &str) -> String {
    let detector = fitted(Column, halves(), 200);
    let mut file = detector.onnx().clone();
    let entry = file.proto.metadata_props.iter_mut().find(|e| e.key == key).expect("an entry");
    value.clone_into(&mut entry.value);
    let error = Detector::from_bytes(&file.to_bytes().expect("bytes")).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Detector);
    error.to_string()
}

#[test]
fn what_can_not_be_read_is_one_clear_sentence() {
    let old = spoilt("taste.format", "1");
    assert!(old.contains("has format 1") && old.contains("reads format 2"), "{old}");
    assert!(old.contains("fit it again") && !old.contains('\n'), "{old}");
    for (key, value) in
        [("taste.format", "two"), ("taste.manifest", "{}"), ("taste.reference", "3:AAAA")]
    {
        let message = spoilt(key, value);
        assert!(message.contains("damaged") && !message.contains('\n'), "{key}: {message}");
    }
    let bytes = model().onnx().to_bytes().expect("bytes");
    let message = Detector::from_bytes(&bytes).expect_err("a model").to_string();
    assert!(message.contains("no detector"), "{message}");
}

#[test]
fn a_decision_that_contradicts_itself_is_damage() {
    let whole = fitted(Column, halves(), 200);
    let spoil = |change: &dyn Fn(&mut taste_onnx::Model)| {
        let mut file = whole.onnx().clone();
        change(&mut file);
        let bytes = file.to_bytes().expect("bytes");
        Detector::from_bytes(&bytes).expect_err("damage").to_string()
    };
    let turned = spoil(&|file| {
        let scores: Vec<f32> = whole.calibration().iter().rev().copied().collect();
        let graph = file.proto.graph.as_mut().expect("a graph");
        let table = graph.initializer.iter_mut().find(|t| t.name == "taste.calibration");
        let table = table.expect("calibration scores");
        let dims: Vec<usize> =
            table.dims.iter().map(|&d| usize::try_from(d).expect("a size")).collect();
        let mut scores = scores;
        scores.resize(dims.iter().product(), f32::MAX);
        *table = taste_onnx::builders::tensor_f32("taste.calibration", &dims, &scores);
    });
    assert!(turned.contains("damaged: the calibration scores"), "{turned}");
    let say = |key: &str, value: serde_json::Value| {
        spoil(&|file| {
            let manifest = file.metadata("taste.manifest").expect("a manifest");
            let mut manifest: serde_json::Value = serde_json::from_str(manifest).expect("JSON");
            manifest["decision"][key] = value.clone();
            file.set_metadata("taste.manifest", manifest.to_string());
        })
    };
    let rate = say("alpha", 2.0.into());
    assert!(rate.contains("damaged: the false-positive rate"), "{rate}");
    let other_rate = say("alpha", 0.2.into());
    assert!(other_rate.contains("damaged") && other_rate.contains("scores give"), "{other_rate}");
    let unlike = say("threshold", 7.5.into());
    assert!(unlike.contains("damaged") && unlike.contains("its manifest says 7.5"), "{unlike}");
    let moved = spoil(&|file| {
        let graph = file.proto.graph.as_mut().expect("a graph");
        let found = graph.initializer.iter_mut().find(|t| t.name == "taste.threshold");
        *found.expect("a threshold") =
            taste_onnx::builders::tensor_f32("taste.threshold", &[], &[-1.5]);
    });
    assert!(moved.contains("it flags beyond -1.5, and its manifest says"), "{moved}");
}
