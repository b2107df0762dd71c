//! What is said of names that are mistyped, or that would command a terminal.

use std::fs;

use taste_onnx::{
    Model,
    proto::{OperatorSetIdProto, ValueInfoProto},
};

use crate::{
    common::Place,
    models::{CLASSIFIER, Network, fitted, ready},
};

#[test]
fn a_mistyped_name_gets_the_one_that_is_meant() {
    let place = ready(&CLASSIFIER);
    place.fails("fti --model model.onnx", "unrecognized subcommand 'fti'; did you mean fit?");
    place.fails("scroe model.onnx", "score");
    let fit = "fit --model model.onnx --data train.npy -o d.onnx";
    place.fails(&format!("{fit} --score-model gausian"), "did you mean gaussian?");
    let names: Vec<String> =
        (0..30).map(|i| format!("column{i}")).chain(["target".into()]).collect();
    let row = vec!["1"; names.len()].join(",");
    place.text("wide.csv", &format!("{}\n{row}\n{row}\n", names.join(",")));
    let wide = "fit --model model.onnx --data wide.csv --label targt -o d.onnx";
    place.fails(wide, "no column \"targt\"; there are target, column0,");
    let dated = "when,a,b,c,d,target\n2024-05-01,1,2,3,4,0\n2024-05-02,1,2,3,5,1\n";
    place.text("dated.csv", dated);
    let dated = "fit --model model.onnx --data dated.csv --label targt -o d.onnx";
    place.fails(dated, "no column \"targt\"; there are target,");
}

#[test]
fn a_flag_of_another_command_says_where_it_is() {
    let place = fitted();
    for (arguments, message) in [
        (
            "score detector.onnx new.npy --alpha 0.1",
            "taste edit DETECTOR.onnx --alpha SHARE changes it",
        ),
        ("explain detector.onnx new.npy -o m --alpha=0.1", "taste edit"),
        ("test detector.onnx new.npy -o report", "the report goes to standard output"),
    ] {
        place.fails(arguments, message);
        assert!(!place.run(arguments).err.contains("as a value"), "{arguments}");
    }
}

#[test]
fn what_a_name_holds_does_not_reach_the_terminal() {
    let place = fitted();
    let name = "a\u{1b}[31mred\u{9b}.onnx";
    fs::copy(place.path("model.onnx"), place.path(name)).unwrap();
    let mut file = Model::open(&place.path("detector.onnx")).unwrap();
    let entry = file.proto.metadata_props.iter_mut().find(|e| e.key == "taste.manifest").unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&entry.value).unwrap();
    manifest["method"]["facts"]["target"] = "prob\u{1b}[2J".into();
    manifest["data"]["train"] = "x\nok  all is well\u{202e}".into();
    entry.value = manifest.to_string();
    file.save(&place.path("odd.onnx")).unwrap();
    place.text("bad\u{1b}[0m.csv", "a,b\n1,x\n");
    for arguments in [
        format!("inspect {name}"),
        format!("fit --model {name} --data train.npy -o {name}.fitted"),
        "inspect odd.onnx".to_owned(),
        "inspect odd.onnx --json".to_owned(),
        format!("score {name} new.npy"),
        "score detector.onnx bad\u{1b}[0m.csv".to_owned(),
        "nothing\u{1b}[0m".to_owned(),
    ] {
        let run = place.run(&arguments);
        for c in run.out.chars().chain(run.err.chars()) {
            let commands = (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!commands, "{arguments:?} prints {c:?}\n{:?}{:?}", run.out, run.err);
        }
        assert!(!run.out.contains("\nok  all is well"), "{}", run.out);
    }
    assert!(place.ok("inspect odd.onnx").out.contains("prob\u{fffd}[2J"));
}

#[test]
fn a_domain_is_named_once_and_every_type_has_a_name() {
    let place = ready(&CLASSIFIER);
    let mut file = Model::open(&place.path("model.onnx")).unwrap();
    let version = file.proto.opset_import[0].version;
    let again = OperatorSetIdProto { domain: "ai.onnx".into(), version };
    file.proto.opset_import.push(again);
    let graph = file.proto.graph.as_mut().unwrap();
    graph.output.push(ValueInfoProto { name: "odd".into(), ..ValueInfoProto::default() });
    file.save(&place.path("odd.onnx")).unwrap();
    let out = place.run("inspect odd.onnx").out;
    assert_eq!(out.matches(&format!("opset {version}")).count(), 1, "{out}");
    assert!(out.contains("odd: undeclared\n"), "{out}");
}

#[test]
fn many_classes_are_joined_without_a_word_about_methods() {
    let place = ready(&Network { widths: &[4, 16, 200], ..CLASSIFIER });
    let fit = "fit --model model.onnx --data train.npy -o d.onnx -q --aggregate profile";
    place.fails(
        &format!("{fit} --laplacian-method probe:4"),
        "closed-form computes all of them (--laplacian-method closed-form)",
    );
    place.ok(fit);
}

#[test]
fn shells_complete_commands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.ok(&format!("completions {shell}")).out;
        assert!(script.contains("score-model") && script.contains("inspect"), "{shell}");
    }
    place.fails("completions basch", "bash");
}
