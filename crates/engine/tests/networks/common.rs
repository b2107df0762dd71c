//! Networks and numbers.

use ndarray::Array2;
use taste_engine::Model;
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto, TensorProto},
};

/// Numbers between −1 and 1.
pub(crate) fn noise(rows: usize, columns: usize, mut seed: u64) -> Array2<f32> {
    Array2::from_shape_simple_fn((rows, columns), || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    })
}

pub(crate) fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    builders::node(op, inputs, &[output], output)
}

pub(crate) fn matrix(name: &str, a: &Array2<f32>) -> TensorProto {
    builders::tensor_f32(name, a.shape(), a.as_slice().expect("contiguous"))
}

/// From x, with `inputs` entries a sample, to y with `outputs`.
pub(crate) fn model(
    nodes: Vec<NodeProto>,
    weights: Vec<TensorProto>,
    inputs: usize,
    outputs: usize,
) -> Model {
    let value = |name: &str, width: usize| {
        let shape = [DimSpec::Symbol("N".into()), DimSpec::Fixed(width as i64)];
        builders::value_info(name, ElemType::F32, &shape)
    };
    let graph = GraphProto {
        name: "network".into(),
        node: nodes,
        initializer: weights,
        input: vec![value("x", inputs)],
        output: vec![value("y", outputs)],
        ..GraphProto::default()
    };
    Model::from_onnx("network", taste_onnx::Model::new(builders::model(graph, 17)))
}
