//! Bad files as detectors: one error in one line each, and never a panic.

use std::{fs, path::Path};

use taste_detector::{Detector, Engine, Settings};
use taste_engine::Backend;
use taste_onnx::{DimSpec, ElemType, Model, builders, proto::GraphProto};

use crate::common::{Distance, WIDTH, fitted, normal};

/// Opens bytes as a detector.
fn open(bytes: &[u8]) -> Result<Detector, String> {
    Detector::from_bytes(bytes).map_err(|e| e.to_string())
}

#[track_caller]
fn assert_refused(name: &str, bytes: &[u8]) {
    let message = open(bytes).map(drop).expect_err(name);
    assert!(!message.contains('\n') && message.len() < 2000, "{name}: {message}");
}

/// A good detector as a file.
fn detector() -> Model {
    let settings = Settings { alpha: 0.2, held_out: 60, ..Settings::default() };
    fitted(Distance, settings, 160).onnx().clone()
}

/// The graph of a file with the manifest and the constants of a detector.
fn disguised(detector: &Model, hostile: &Model) -> Vec<u8> {
    let mut proto = hostile.proto.clone();
    proto.metadata_props.clone_from(&detector.proto.metadata_props);
    let constants = detector.proto.graph.iter().flat_map(|g| g.initializer.clone());
    proto.graph.get_or_insert_default().initializer.extend(constants);
    Model::new(proto).to_bytes().expect("encodes")
}

/// Models that once broke the importer, and graphs that are none.
fn hostile() -> Vec<(String, Model)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ops/tests/regressions");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        found.push((path.display().to_string(), Model::open(&path).expect("a model")));
    }
    assert!(!found.is_empty(), "no regressions");
    let node = |op: &str, args: &[&str], out: &str| builders::node(op, args, &[out], out);
    for (name, nodes) in [
        ("empty", vec![]),
        ("cyclic", vec![node("Add", &["x", "b"], "a"), node("Tanh", &["a"], "b")]),
        ("twice", vec![node("Tanh", &["x"], "score"), node("Exp", &["x"], "score")]),
        ("from nothing", vec![node("Add", &["x", "ghost"], "score")]),
        ("unknown", vec![node("Unheard", &["x"], "score")]),
    ] {
        let dims = [DimSpec::Symbol("N".into()), DimSpec::Fixed(WIDTH as i64)];
        let ends = ["score", "p_value", "flag", "terms", "map"];
        let graph = GraphProto {
            name: name.into(),
            node: nodes,
            input: vec![builders::value_info("x", ElemType::F32, &dims)],
            output: ends.map(|end| builders::value_info(end, ElemType::F32, &dims)).to_vec(),
            ..GraphProto::default()
        };
        found.push((name.to_owned(), Model::new(builders::model(graph, 20))));
    }
    found
}

#[test]
fn hostile_models_are_no_detectors() {
    for (name, model) in hostile() {
        assert_refused(&name, &model.to_bytes().expect("encodes"));
    }
    assert_refused("nothing", &[]);
    assert_refused("no protobuf", &[0xff; 64]);
}

#[test]
fn hostile_graphs_with_a_manifest_are_not_scored() {
    let detector = detector();
    for (name, model) in hostile() {
        let Ok(opened) = open(&disguised(&detector, &model)) else { continue };
        for backend in [Backend::REFERENCE, Backend::RTEN] {
            let engine = Engine { backend: backend.clone(), threads: 1 };
            let samples = normal(3, 0.0, 4);
            let scored = opened
                .start(&engine, false)
                .and_then(|scorer| scorer.score(samples.values().view()));
            assert!(scored.is_err(), "{name} on {backend}");
        }
    }
}

#[test]
fn damaged_detectors_are_opened_or_refused() {
    let file = detector();
    let whole = file.to_bytes().expect("encodes");
    assert!(open(&whole).is_ok(), "the detector itself");
    for end in (0..whole.len()).step_by(whole.len() / 50) {
        assert_refused("cut off", &whole[..end]);
    }
    for at in (0..whole.len()).step_by(whole.len() / 200) {
        for value in [0, 0x7f, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            if let Err(message) = open(&changed) {
                assert!(!message.contains('\n'), "byte {at}: {message}");
            }
        }
    }
    for at in 0..file.proto.metadata_props.len() {
        for text in ["", "null", "[]", "{}", "-1", "18446744073709551616", "AAAA"] {
            let mut proto = file.proto.clone();
            text.clone_into(&mut proto.metadata_props[at].value);
            assert_refused(text, &Model::new(proto).to_bytes().expect("encodes"));
        }
    }
}
