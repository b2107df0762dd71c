use std::fs;
use std::path::Path;

use proptest::prelude::*;
use taste_onnx::proto::{AttributeProto, GraphProto, ModelProto, NodeProto};
use taste_onnx::{ElemType, Error, Limits, Model};

use crate::{decode, message, small_model, tensor_of};

fn open(bytes: &[u8]) -> Result<Model, Error> {
    Model::from_bytes(bytes, None)
}

#[test]
fn a_model_cut_at_any_byte_is_read_or_refused_but_never_panics() {
    let bytes = Model::new(small_model()).to_bytes().unwrap();
    for end in 0..bytes.len() {
        // A cut between two fields leaves a valid message.
        if let Ok(model) = open(&bytes[..end]) {
            assert!(model.proto.graph.is_some());
        }
    }
}

#[test]
fn a_model_with_any_byte_changed_never_panics() {
    let bytes = Model::new(small_model()).to_bytes().unwrap();
    for position in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[position] = value;
            if let Ok(model) = open(&changed) {
                let graph = model.proto.graph.as_ref().unwrap();
                graph.initializer.iter().for_each(|tensor| drop(model.tensor(tensor)));
            }
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = open(&bytes);
    }

    #[test]
    fn random_shapes_and_types_never_panic(
        dims in prop::collection::vec(prop_oneof![any::<i64>(), -1_i64..4], 0..5),
        data_type in -1_i32..30,
        raw in prop::collection::vec(any::<u8>(), 0..40),
        ints in prop::collection::vec(any::<i32>(), 0..4),
    ) {
        let mut tensor = tensor_of(ElemType::F32, &dims);
        tensor.data_type = data_type;
        tensor.raw_data = (!raw.is_empty()).then(|| raw.into());
        tensor.int32_data = ints;
        if let Ok(data) = decode(&tensor) {
            prop_assert_eq!(data.values.len(), data.dims.iter().product::<usize>());
        }
    }
}

#[test]
fn a_tensor_larger_than_its_data_is_refused() {
    let mut tensor = tensor_of(ElemType::F32, &[1 << 20, 1 << 10]);
    tensor.raw_data = Some(vec![0; 8].into());
    let expected = "model in memory: tensor \"w\" of shape [1048576, 1024] \
                    needs 4294967296 bytes but holds 8";
    assert_eq!(message(decode(&tensor)), expected);
    tensor.raw_data = None;
    tensor.float_data = vec![0.0; 2];
    assert!(message(decode(&tensor)).contains("needs 1073741824 elements but holds 2"));
}

#[test]
fn a_tensor_smaller_than_its_data_is_refused() {
    let mut tensor = tensor_of(ElemType::I64, &[0]);
    tensor.raw_data = Some(vec![0; 8].into());
    assert!(message(decode(&tensor)).contains("needs 0 bytes but holds 8"));
}

#[test]
fn shapes_whose_product_overflows_are_refused() {
    for dims in [&[i64::MAX, i64::MAX][..], &[1 << 33, 1 << 33], &[i64::MAX, i64::MAX, 0]] {
        assert!(message(decode(&tensor_of(ElemType::U8, dims))).contains("larger than the limit"));
    }
    assert!(message(decode(&tensor_of(ElemType::F64, &[i64::MAX]))).contains("larger than"));
    assert!(decode(&tensor_of(ElemType::U8, &[i64::MAX, 0])).is_ok());
}

#[test]
fn negative_dimensions_are_refused() {
    assert!(message(decode(&tensor_of(ElemType::F32, &[2, -1]))).contains("dimension -1"));
    assert!(message(decode(&tensor_of(ElemType::F32, &[0, i64::MIN]))).contains("negative"));
}

#[test]
fn graphs_nested_too_deep_are_refused() {
    let nest = |depth: usize| {
        (0..depth).fold(GraphProto::default(), |inner, _| {
            let attribute = AttributeProto { g: Some(Box::new(inner)), ..Default::default() };
            let node = NodeProto { attribute: vec![attribute], ..Default::default() };
            GraphProto { node: vec![node], ..Default::default() }
        })
    };
    let bytes = |depth| {
        let proto = ModelProto { graph: Some(nest(depth)), ..Default::default() };
        Model::new(proto).to_bytes().unwrap()
    };
    assert!(open(&bytes(20)).is_ok());
    let refused = message(open(&bytes(60)));
    assert!(refused.contains("is not an ONNX model") && refused.contains("recursion"), "{refused}");
}

#[test]
fn unknown_fields_are_skipped() {
    let mut bytes = Model::new(small_model()).to_bytes().unwrap();
    bytes.extend([0x98, 0x06, 0x01]); // field 99, varint 1
    bytes.extend([0x9a, 0x06, 0x02, 0xff, 0x00]); // field 99, two bytes
    assert_eq!(open(&bytes).unwrap().proto, small_model());
}

#[test]
fn what_is_no_model_is_named() {
    for (bytes, what) in [
        (&b""[..], "it is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is a PNG image"),
        (b"\x93NUMPY\x01\0v\0{'descr': '<f4'}", "it is a numpy array (npy)"),
        (b"PK\x03\x04\x14\0", "it is a zip archive (such as npz, or a PyTorch checkpoint)"),
        (b"Hello, this is text.\n", "it is a text file"),
        ("grüße aus der Küche, 12 Eier\n".as_bytes(), "it is a text file"),
        ("é".repeat(2000).as_bytes(), "it is a text file"),
        (b"{\"irVersion\": \"8\"}", "it is a text file"),
    ] {
        let expected = format!("model in memory is not an ONNX model: {what}");
        assert_eq!(message(open(bytes)), expected);
    }
    assert!(
        message(open(b"version https://git-lfs.github.com/spec/v1\n")).contains("git lfs pull")
    );
    assert!(message(open(&[0xff; 40])).contains("is not an ONNX model: "));
}

#[test]
fn a_model_without_a_graph_is_refused() {
    let bytes = [0x08, 0x08]; // only the format version
    assert!(message(open(&bytes)).contains("holds no graph"));
    assert!(message(Model::new(ModelProto::default()).to_bytes()).contains("holds no graph"));
}

#[test]
fn missing_files_and_folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.onnx");
    let refused = message(Model::open(&missing));
    assert!(refused.starts_with(&format!("cannot read {}: ", missing.display())), "{refused}");

    let refused = message(Model::open(folder.path()));
    let expected = format!("cannot read {}: it is a folder, not a file", folder.path().display());
    assert_eq!(refused, expected);
    assert!(message(Model::open(Path::new(""))).starts_with("cannot read"));
}

#[test]
fn a_file_above_the_limit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let bytes = Model::new(small_model()).to_bytes().unwrap();
    fs::write(&path, &bytes).unwrap();
    let limits = Limits { max_file_bytes: 10, ..Limits::default() };
    let expected =
        format!("{} has {} bytes, more than the limit of 10", path.display(), bytes.len());
    assert_eq!(message(Model::open_with(&path, limits)), expected);
    assert!(message(Model::from_bytes_with(&bytes, None, limits)).contains("limit of 10"));
}

#[test]
fn the_error_of_a_file_names_the_file_and_the_tensor_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let mut proto = small_model();
    let weights = &mut proto.graph.as_mut().unwrap().initializer[0];
    weights.name = format!("bad\nname{}", "x".repeat(1000));
    weights.dims = vec![5];
    Model::new(proto).save(&path).unwrap();
    let model = Model::open(&path).unwrap();
    let refused = message(model.tensor(&model.proto.graph.as_ref().unwrap().initializer[0]));
    assert!(refused.starts_with(&format!("{}: tensor \"bad\\nname", path.display())), "{refused}");
    assert!(!refused.contains('\n') && refused.len() < 400, "{refused}");
}
