//! Integers computed from the batch size are known before a model runs.

use std::collections::HashMap;

use ndarray::{ArrayD, IxDyn};
use taste_graph::Tensor;
use taste_onnx::{ElemType, Model, builders, proto::GraphProto};
use taste_ops::import;

/// The batch size, read from a shape, as the end of a range and as a size; N is left open.
fn model() -> Model {
    let node = |op: &str, args: &[&str], out: &str| builders::node(op, args, &[out], out);
    let along = |op: &str, args: &[&str], out: &str| {
        let mut node = node(op, args, out);
        node.attribute = vec![builders::attr_int("axis", 0)];
        node
    };
    let dims = [builders::DimSpec::Symbol("N".into()), builders::DimSpec::Fixed(3)];
    let outs = ["positions", "zeros", "count", "tiled"];
    let graph = GraphProto {
        name: "batch".into(),
        node: vec![
            node("Shape", &["x"], "shape"),
            along("Gather", &["shape", "zero"], "n"),
            node("Range", &["zero", "n", "one"], "positions"),
            node("Unsqueeze", &["n", "zero_list"], "n_list"),
            node("ConstantOfShape", &["n_list"], "zeros"),
            node("Size", &["x"], "count"),
            along("Concat", &["n_list", "one_list"], "repeats"),
            node("Tile", &["row", "repeats"], "tiled"),
        ],
        initializer: vec![
            builders::tensor_i64("zero", &[], &[0]),
            builders::tensor_i64("one", &[], &[1]),
            builders::tensor_i64("zero_list", &[1], &[0]),
            builders::tensor_i64("one_list", &[1], &[1]),
            builders::tensor_f32("row", &[1, 2], &[0.5, -0.5]),
        ],
        input: vec![builders::value_info("x", ElemType::F32, &dims)],
        output: outs.iter().map(|o| builders::value_info(o, ElemType::F32, &[])).collect(),
        ..GraphProto::default()
    };
    Model::new(builders::model(graph, 20))
}

fn values(model: &Model) -> (Vec<Tensor>, Model) {
    let imported = import(model, &[], &HashMap::new()).expect("imports");
    let x: Tensor = ArrayD::<f64>::zeros(IxDyn(&[4, 3])).into();
    let feeds = HashMap::from([(imported.inputs[0].1, x)]);
    let ends: Vec<_> = imported.outputs.iter().map(|o| o.1).collect();
    let values = imported.graph.eval(&ends, &feeds, 4).expect("evaluates");
    let proto = imported.graph.to_onnx(&imported.outputs).expect("written");
    (values, Model::new(proto))
}

#[test]
fn ranges_fills_and_sizes_follow_the_batch() {
    let (first, written) = values(&model());
    assert_eq!(first[0], Tensor::ints(&[0, 1, 2, 3]));
    assert_eq!(first[1], Tensor::floats(&[4], vec![0.0; 4]).expect("zeros"));
    assert_eq!(first[2], ArrayD::from_elem(IxDyn(&[]), 12i64).into());
    assert_eq!(first[3], Tensor::floats(&[4, 2], [0.5, -0.5].repeat(4)).expect("rows"));
    let (again, _) = values(&written);
    assert_eq!(first, again);
}
