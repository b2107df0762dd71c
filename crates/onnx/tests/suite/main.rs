//! What the crate promises, one sentence per test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

mod element_types;
mod external_data;
mod hostile_input;
mod round_trip;
mod saving;

use taste_onnx::proto::{GraphProto, ModelProto, StringStringEntryProto, TensorProto};
use taste_onnx::{DimSpec, ElemType, Error, Model, TensorData, builders};

/// `y = x + w`, with a constant of four floats.
fn small_model() -> ModelProto {
    let dims = [DimSpec::Symbol("batch".into()), DimSpec::Fixed(4)];
    let mut add = builders::node("Add", &["x", "w"], &["y"], "add");
    add.attribute.push(builders::attr_ints("axes", &[-1, 0, 300]));
    builders::model(
        GraphProto {
            name: "small".into(),
            node: vec![add],
            initializer: vec![builders::tensor_f32("w", &[4], &[0.5, -1.0, 2.0, 1e-9])],
            input: vec![builders::value_info("x", ElemType::F32, &dims)],
            output: vec![builders::value_info("y", ElemType::F32, &dims)],
            ..Default::default()
        },
        17,
    )
}

fn tensor_of(elem_type: ElemType, dims: &[i64]) -> TensorProto {
    TensorProto {
        name: "w".into(),
        dims: dims.to_vec(),
        data_type: elem_type.code(),
        ..Default::default()
    }
}

fn external_tensor(dims: &[i64], entries: &[(&str, &str)]) -> TensorProto {
    let entry = |&(key, value): &(&str, &str)| StringStringEntryProto {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    TensorProto {
        data_location: 1,
        external_data: entries.iter().map(entry).collect(),
        ..tensor_of(ElemType::F32, dims)
    }
}

fn decode(tensor: &TensorProto) -> Result<TensorData, Error> {
    Model::new(small_model()).tensor(tensor)
}

/// The message of a failure, for comparing with what a user should read.
fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.expect_err("should be refused").to_string()
}
