//! Classical, quantised and recurrent models against what ONNX Runtime makes of them, in `fixtures/classical`;
//! `fixtures/make/classical.py` writes these.

use std::{fs, path::PathBuf};

use ndarray::ArrayD;
use taste_data::npy;
use taste_engine::{Backend, Draft, Model, Request};

/// Models with a node that no rule is for.
const CARRIED: &[&str] = &["recurrent"];
/// Results that are rounded: one step of the last layer is the least that they differ by.
const QUANTISED: &[&str] = &["quantised", "quantised_by_channel", "quantised_dynamic"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/classical")
}

fn names() -> Vec<String> {
    let files = fs::read_dir(folder()).expect("fixtures").map(|f| f.expect("a file").path());
    let models = files.filter(|p| p.extension().is_some_and(|e| e == "onnx"));
    let mut names: Vec<String> =
        models.map(|p| p.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn array(name: &str) -> ArrayD<f32> {
    let mut file = npy::Reader::open(&folder().join(name)).expect("an array");
    let rows = file.shape()[0];
    file.rows(0, rows).expect("rows").into_f32()
}

fn draft(name: &str) -> Draft {
    let model = Model::open(&folder().join(format!("{name}.onnx"))).expect("a model");
    model.draft(&Request::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn outcome(name: &str, backend: &Backend) -> Result<ArrayD<f32>, taste_engine::Error> {
    let draft = draft(name);
    let outputs = [("out".to_owned(), draft.output())];
    let session = backend.compile(draft.graph(), &outputs, 1)?;
    let results = session.run_samples(&draft.inputs(), array(&format!("{name}.x.npy")).view())?;
    Ok(results[0].to_f32())
}

fn check(backend: &Backend, names: impl Iterator<Item = String>) {
    let mut wrong = Vec::new();
    for name in names {
        let got = match outcome(&name, backend) {
            Ok(got) => got,
            Err(cause) => {
                wrong.push(format!("{name}: {cause}"));
                continue;
            }
        };
        let want = array(&format!("{name}.y.npy"));
        let scale = want.iter().fold(1.0f32, |m, v| m.max(v.abs()));
        let tolerance = match name.as_str() {
            name if QUANTISED.contains(&name) => 2e-2,
            _ => 1e-5,
        };
        if got.len() != want.len() {
            wrong.push(format!("{name}: {:?} for {:?}", got.shape(), want.shape()));
            continue;
        }
        let apart = got.iter().zip(&want).map(|(g, w)| (g - w).abs() / scale);
        let apart = apart.fold(0.0f32, |m, d| if d.is_nan() { f32::INFINITY } else { m.max(d) });
        if apart > tolerance {
            wrong.push(format!("{name}: {apart:e} apart"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_model_gives_what_onnx_runtime_gives() {
    let names = names();
    assert!(names.len() > 25, "{names:?}");
    check(&Backend::RTEN, names.into_iter());
}

#[test]
fn the_reference_agrees_where_every_node_has_a_rule() {
    check(&Backend::REFERENCE, names().into_iter().filter(|n| !CARRIED.contains(&n.as_str())));
    for name in CARRIED {
        let message = outcome(name, &Backend::REFERENCE).expect_err("left to engines").to_string();
        assert!(message.contains("LSTM is left to the engine"), "{message}");
    }
}

#[test]
fn derivatives_stop_at_a_node_without_a_rule_and_say_so() {
    let model = Model::open(&folder().join("recurrent.onnx")).expect("a model");
    let mut draft = model.draft(&Request::default()).expect("a draft");
    assert!(draft.parts()[0].is_whole);
    let wants = taste_engine::Wants { gradient: true, ..taste_engine::Wants::NONE };
    let target = taste_engine::Target::output(0);
    draft.cut_at(Some("h")).expect("a cut behind the node");
    draft.derive(target, wants, None).expect("a gradient behind the node");
    let mut before = model.draft(&Request::default()).expect("a draft");
    before.cut_at(Some("e")).expect("a cut before the node");
    let message = before.derive(target, wants, None).expect_err("no rule").to_string();
    assert!(message.contains("no derivative"), "{message}");
}

/// The words of `several/columns.x.npy` by their numbers; the last one is unknown to the model.
const WORDS: [&str; 4] = ["ulm", "bonn", "kiel", "rom"];

#[test]
fn every_column_has_its_input_and_words_are_codes() {
    let model = Model::open(&folder().join("several/columns.onnx")).expect("a model");
    assert_eq!(model.sample_shape().expect("inputs"), Some(vec![4]));
    let draft = model.draft(&Request::default()).expect("a draft");
    assert!(draft.may_miss());
    assert_eq!(draft.inputs(), ["age", "income", "city", "plan"]);
    let whole: Vec<bool> = draft.parts().iter().map(|p| p.is_whole).collect();
    assert_eq!(whole, [false, false, true, true]);
    let known = draft.parts()[2].words.clone().expect("words");
    let mut x = array("several/columns.x.npy");
    for code in x.slice_mut(ndarray::s![.., 2]) {
        let word = WORDS
            .iter()
            .enumerate()
            .find(|(i, _)| (*i as f32 - *code).abs() < 0.5)
            .expect("a word")
            .1;
        let place = known.iter().position(|k| k == word).unwrap_or(known.len());
        *code = place as f32;
    }
    let want = array("several/columns.y.npy");
    for backend in [Backend::RTEN, Backend::REFERENCE] {
        let outputs = [("out".to_owned(), draft.output())];
        let session = backend.compile(draft.graph(), &outputs, 1).expect("a session");
        let got = session.run_samples(&draft.inputs(), x.view()).expect("results")[0].to_f32();
        let apart = got.iter().zip(&want).map(|(g, w)| (g - w).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-5, "{apart:e} apart");
    }
}

#[test]
fn samples_may_lack_what_imputers_fill_in_and_what_trees_go_on_without() {
    assert!(draft("imputer").may_miss());
    assert!(draft("boosted_missing").may_miss());
    assert!(!draft("forest_two").may_miss());
}

#[test]
fn ids_that_the_model_does_not_know_are_missing_and_stop_no_other_sample() {
    let draft = draft("recurrent");
    let mut x = array("recurrent.x.npy");
    let want = array("recurrent.y.npy");
    for (row, id) in [(1, 10.0), (2, -11.0), (3, 1e6)] {
        x[[row, 3]] = id;
    }
    // One that counts from the end of the ten ids is known.
    x[[4, 0]] -= 10.0;
    let outputs = [("y".to_owned(), draft.output()), ("x".to_owned(), draft.input())];
    let session = Backend::RTEN.compile(draft.graph(), &outputs, 1).expect("a session");
    let found = session.run_samples(&draft.inputs(), x.view()).expect("results");
    let (y, x) = (found[0].to_f32(), found[1].to_f32());
    for row in 0..x.shape()[0] {
        let entries = x.index_axis(ndarray::Axis(0), row);
        let missing: Vec<usize> = (0..5).filter(|&i| entries[i].is_nan()).collect();
        if (1..4).contains(&row) {
            assert_eq!(missing, [3], "sample {row}");
            continue;
        }
        assert!(missing.is_empty(), "sample {row}");
        let apart = (0..2).map(|i| (y[[row, i]] - want[[row, i]]).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-5, "sample {row}: {apart:e} apart");
    }
}
