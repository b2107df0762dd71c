use std::fs;
use std::path::Path;

use taste_onnx::proto::{GraphProto, ModelProto};
use taste_onnx::{Limits, Model, Values, builders};

use crate::{external_tensor, message, small_model};

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn floats(model: &Model, index: usize) -> Values {
    model.tensor(&model.proto.graph.as_ref().unwrap().initializer[index]).unwrap().values
}

/// Two large constants around a small one.
fn large_model() -> (ModelProto, [Vec<f32>; 3]) {
    let values = [vec![1.5; 1000], vec![2.5; 3], vec![3.5; 2000]];
    let tensor = |(i, v): (usize, &Vec<f32>)| builders::tensor_f32(&format!("w{i}"), &[v.len()], v);
    let initializer = values.iter().enumerate().map(tensor).collect();
    let graph = GraphProto { name: "large".into(), initializer, ..Default::default() };
    (builders::model(graph, 17), values)
}

#[test]
fn a_saved_model_opens_again_and_leaves_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, "older content").unwrap();
    Model::new(small_model()).save(&path).unwrap();
    assert_eq!(Model::open(&path).unwrap().proto, small_model());
    assert_eq!(names_in(folder.path()), ["model.onnx"]);
}

#[test]
fn a_failed_save_leaves_the_old_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, "older content").unwrap();

    assert!(message(Model::new(ModelProto::default()).save(&path)).contains("no graph"));
    let limits = Limits { max_message_bytes: 20, ..Limits::default() };
    let refused = message(Model::new(large_model().0).with_limits(limits).save(&path));
    assert!(refused.contains("more than the limit of 20 even with its large tensors beside it"));

    assert_eq!(fs::read_to_string(&path).unwrap(), "older content");
    assert_eq!(names_in(folder.path()), ["model.onnx"]);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/model.onnx");
    let refused = message(Model::new(small_model()).save(&path));
    assert!(refused.starts_with(&format!("cannot write {}: ", path.display())), "{refused}");

    fs::create_dir(folder.path().join("taken")).unwrap();
    let refused = message(Model::new(small_model()).save(&folder.path().join("taken")));
    assert!(refused.starts_with("cannot write"), "{refused}");
    assert_eq!(names_in(folder.path()), ["taken"]);
}

#[test]
fn a_model_above_the_message_limit_keeps_its_weights_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let (proto, values) = large_model();
    let limits = Limits { max_message_bytes: 2000, ..Limits::default() };
    let model = Model::new(proto).with_limits(limits);
    assert!(message(model.to_bytes()).contains("save it to a file"));

    // The second time, the model is read from the files that it replaces.
    model.save(&path).unwrap();
    Model::open_with(&path, limits).unwrap().save(&path).unwrap();

    assert_eq!(names_in(folder.path()), ["model.onnx", "model.onnx.data"]);
    assert!(fs::metadata(&path).unwrap().len() < 2000);
    let again = Model::open(&path).unwrap();
    let graph = again.proto.graph.as_ref().unwrap();
    let is_external: Vec<bool> = graph.initializer.iter().map(|t| t.data_location == 1).collect();
    assert_eq!(is_external, [true, false, true]);
    for (index, expected) in values.into_iter().enumerate() {
        assert_eq!(floats(&again, index), Values::F32(expected));
    }
}

#[test]
fn external_data_moves_along_to_another_folder() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(from.path().join("weights"), 7.0_f32.to_le_bytes()).unwrap();
    let mut proto = small_model();
    let tensor = external_tensor(&[1], &[("location", "weights")]);
    proto.graph.as_mut().unwrap().node[0].attribute.push(builders::attr_tensor("value", tensor));
    let model = Model::new(proto).with_folder(from.path());

    let path = to.path().join("model.onnx");
    model.save(&path).unwrap();
    let again = Model::open(&path).unwrap();
    let node = &again.proto.graph.as_ref().unwrap().node[0];
    let tensor = node.attribute.last().unwrap().t.as_deref().unwrap();
    assert_eq!(again.tensor(tensor).unwrap().values, Values::F32(vec![7.0]));
    assert_eq!(names_in(to.path()), ["model.onnx"]);
}

#[test]
fn a_model_whose_external_data_is_missing_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let mut proto = small_model();
    let tensor = external_tensor(&[1], &[("location", "weights")]);
    proto.graph.as_mut().unwrap().initializer.push(tensor);
    let model = Model::new(proto).with_folder(folder.path());
    assert!(message(model.save(&folder.path().join("model.onnx"))).contains("cannot be read"));
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_message_and_its_data_are_what_the_files_would_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let limits = Limits { max_message_bytes: 1000, ..Limits::default() };
    let model = Model::new(large_model().0).with_limits(limits);
    let (message, data) = model.to_message_and_data("model.onnx.data").unwrap();
    model.save(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), message);
    assert_eq!(fs::read(folder.path().join("model.onnx.data")).unwrap(), data);
    let read = Model::open(&path).unwrap().with_limits(limits);
    assert_eq!(read.to_message_and_data("model.onnx.data").unwrap(), (message, data));
    let (message, data) = read.with_limits(Limits::default()).to_message_and_data("any").unwrap();
    assert_eq!(Model::from_bytes(&message, None).unwrap().proto, large_model().0);
    assert!(data.is_empty());
}
