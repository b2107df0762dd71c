//! `taste inspect`, `taste ops` and help.

use crate::common::Place;
use serde_json::Value as Json;
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn a_model_is_described() {
    let place = Place::golden("legacy/mlp_relu");
    let run = place.ok("inspect model.onnx");
    for line in [
        "producer    pytorch",
        "format      ONNX IR 9, opset 20",
        "parameters  892",
        "input       x: float32 (n, 7)",
        "output      logits: float32 (n, 4)",
        "Gemm          3  bilinear",
        "Relu          2  piecewise linear",
        "target     prob of output \"logits\"",
        "method     closed-form: the body is piecewise affine",
        "note: the body of this network is piecewise affine",
    ] {
        assert!(run.out.contains(line), "{line}\n{}", run.out);
    }
    assert_eq!(run.err, "");
    let flat = place.ok("inspect model.onnx --target logit:2");
    assert!(flat.out.contains("warning: the target logit:2 is piecewise affine"), "{}", flat.out);
}

#[test]
fn a_model_is_described_as_json() {
    let place = Place::golden("dynamo/mlp_tanh");
    let json = json(&place.ok("inspect model.onnx --json").out);
    assert_eq!(json["inputs"][0]["name"], "x");
    assert_eq!(json["inputs"][0]["shape"][1], 5);
    assert!(json["inputs"][0]["shape"][0].is_string());
    let derivative = &json["derivative"];
    assert_eq!((&derivative["dimension"], &derivative["method"]), (&5.into(), &"exact".into()));
    assert!(derivative["reason"].as_str().unwrap().contains("bends first"));
    let methods = derivative["methods"].as_array().unwrap();
    let applies =
        |name: &str| methods.iter().find(|m| m["name"] == name).unwrap()["applies"].clone();
    assert_eq!((applies("exact"), applies("closed-form")), (true.into(), false.into()));
    let tanh = json["operators"].as_array().unwrap().iter().find(|o| o["name"] == "Tanh").unwrap();
    assert_eq!(tanh["class"], "pointwise");
    assert_eq!((&json["error"], &json["problems"]), (&Json::Null, &Json::Array(vec![])));
}

/// A model with nodes that there are no rules for, and an open size.
fn strange(place: &Place) {
    let dims = [DimSpec::Symbol("n".into()), DimSpec::Symbol("length".into())];
    let mut node = builders::node("Frobnicate", &["x"], &["a"], "odd");
    node.domain = "my.domain".into();
    let graph = GraphProto {
        name: "strange".into(),
        node: vec![
            node,
            builders::node("Relu", &["a"], &["b"], "relu"),
            builders::node("Nonsense", &["b"], &["y"], ""),
        ],
        input: vec![builders::value_info("x", ElemType::F32, &dims)],
        output: vec![builders::value_info("y", ElemType::F32, &dims)],
        ..GraphProto::default()
    };
    taste_onnx::Model::new(builders::model(graph, 20)).save(&place.path("strange.onnx")).unwrap();
}

#[test]
fn every_node_without_a_rule_is_listed() {
    let place = Place::new();
    strange(&place);
    let run = place.run("inspect strange.onnx --shape 4");
    assert_eq!(run.code, Some(2));
    assert!(run.out.contains("my.domain.Frobnicate      1  not supported"), "{}", run.out);
    assert!(run.err.starts_with("error: strange.onnx: 2 nodes are not supported:"), "{}", run.err);
    assert!(run.err.contains("odd") && run.err.contains("Nonsense"), "{}", run.err);
    let run = place.run("inspect strange.onnx --shape 4 --json");
    assert_eq!(run.code, Some(2));
    assert_eq!(run.err, "error: strange.onnx: 2 nodes are not supported\n");
    let json = json(&run.out);
    assert_eq!(json["problems"][0]["operator"], "my.domain.Frobnicate");
    assert_eq!((&json["problems"][1]["node"], &json["derivative"]), (&"y".into(), &Json::Null));
    let derive = place.run("derive strange.onnx --shape 4 --emit d.onnx");
    assert_eq!(derive.code, Some(2));
    assert!(derive.err.contains("no rule for this operator"), "{}", derive.err);
}

#[test]
fn an_open_size_is_asked_for() {
    let place = Place::new();
    strange(&place);
    let run = place.run("inspect strange.onnx");
    assert_eq!(run.code, Some(2));
    assert!(run.out.contains("x: float32 (n, length)"), "{}", run.out);
    assert!(run.err.contains("--shape"), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
}

#[test]
fn bad_input_is_one_sentence() {
    let place = Place::golden("legacy/mlp_relu");
    place.fails("inspect missing.onnx", "missing.onnx");
    place.fails("inspect x.npy", "not an ONNX model");
    place.fails("inspect", "FILE.onnx");
    place.fails("nonsense", "unrecognized subcommand 'nonsense'");
    let message = "there is no output:9: the output of the model has 4 entries";
    place.fails("derive model.onnx --input x.npy --target output:9", message);
    let run = place.run("inspect model.onnx --target output:9");
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains(message), "{}", run.err);
}

#[test]
fn help_names_every_target() {
    let place = Place::new();
    let list = place.json("list targets --json");
    let entries = list[0]["entries"].as_array().unwrap();
    let usages = entries.iter().map(|entry| entry["usage"].as_str().unwrap());
    let help = place.ok("fit --help").out;
    for usage in usages {
        assert!(help.contains(usage), "{usage}");
    }
    for command in ["derive", "inspect"] {
        let help = place.ok(&format!("{command} --help")).out;
        for entry in entries {
            let name = entry["name"].as_str().unwrap();
            assert!(help.contains(name), "{command}: {name}");
        }
    }
}

#[test]
fn operators_are_listed_with_their_class() {
    let place = Place::new();
    let text = place.ok("ops").out;
    let class = |name: &str| {
        let line = text.lines().find(|l| l.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("no {name}"))[name.len()..].trim().to_owned()
    };
    for (name, want) in [
        ("Add", "linear"),
        ("ArgMax", "constant"),
        ("Conv", "bilinear"),
        ("Gemm", "bilinear"),
        ("Identity", "linear"),
        ("MatMul", "bilinear"),
        ("Mul", "bilinear"),
        ("Relu", "piecewise linear"),
        ("Shape", "constant"),
        ("Softmax", "composite"),
        ("Tanh", "pointwise"),
    ] {
        assert_eq!(class(name), want, "{name}");
    }
    let json = json(&place.ok("ops --json").out);
    assert_eq!(json.as_array().unwrap().len(), text.lines().count() - 1);
}

#[test]
fn help_has_examples() {
    let place = Place::new();
    for arguments in ["--help", "-h", "derive --help", "inspect --help", "help derive"] {
        let run = place.ok(arguments);
        assert!(run.out.contains("Examples:"), "taste {arguments}");
        assert_eq!(run.err, "");
        let widest = run.out.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= 100, "taste {arguments}: {widest} columns");
    }
    assert!(place.ok("--version").out.starts_with("taste "));
    let bare = place.run("");
    assert_eq!((bare.code, bare.out.as_str()), (Some(2), ""));
    assert!(bare.err.contains("Usage: taste"));
}
