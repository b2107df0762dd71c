//! Small networks with random weights.

use taste_engine::Model;
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto, TensorProto},
};
use taste_stats::random::Random;

fn weights(name: &str, dims: &[usize], random: &mut Random) -> TensorProto {
    let scale = 1.5 / (dims[0] as f64).sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "weights are single precision")]
    let values: Vec<f32> =
        (0..dims.iter().product()).map(|_| (scale * random.normal()) as f32).collect();
    builders::tensor_f32(name, dims, &values)
}

fn node(op: &str, args: &[&str], out: &str) -> NodeProto {
    builders::node(op, args, &[out], out)
}

/// width → 16 → 8 → classes with `Relu`.
pub(crate) fn classifier(width: usize, classes: usize, seed: u64) -> Model {
    network(width, classes, seed, "x", "logits")
}

/// A classifier of three classes whose input and output have these names.
pub(crate) fn named(width: usize, input: &str, output: &str) -> Model {
    network(width, 3, 5, input, output)
}

fn network(width: usize, classes: usize, seed: u64, input: &str, output: &str) -> Model {
    let mut random = Random::new(seed);
    let graph = GraphProto {
        name: "network".into(),
        node: vec![
            node("MatMul", &[input, "w1"], "h1"),
            node("Add", &["h1", "b1"], "a1"),
            node("Relu", &["a1"], "r1"),
            node("MatMul", &["r1", "w2"], "h2"),
            node("Relu", &["h2"], "r2"),
            node("MatMul", &["r2", "w3"], "h3"),
            node("Add", &["h3", "b3"], output),
        ],
        initializer: vec![
            weights("w1", &[width, 16], &mut random),
            weights("b1", &[16], &mut random),
            weights("w2", &[16, 8], &mut random),
            weights("w3", &[8, classes], &mut random),
            weights("b3", &[classes], &mut random),
        ],
        input: vec![builders::value_info(
            input,
            ElemType::F32,
            &[DimSpec::Symbol("n".into()), DimSpec::Fixed(width as i64)],
        )],
        output: vec![builders::value_info(output, ElemType::F32, &[])],
        ..GraphProto::default()
    };
    Model::from_onnx("network", taste_onnx::Model::new(builders::model(graph, 17)))
}

/// The sizes of an image.
pub(crate) const IMAGE: [usize; 3] = [3, 16, 16];

/// A classifier of four classes of images: two convolutions, each of which halves the size, and a linear layer.
pub(crate) fn of_images(input: &str, output: &str) -> Model {
    let mut random = Random::new(8);
    let conv = |args: &[&str], out: &str| NodeProto {
        attribute: vec![
            builders::attr_ints("strides", &[2, 2]),
            builders::attr_ints("pads", &[1, 1, 1, 1]),
        ],
        ..node("Conv", args, out)
    };
    let graph = GraphProto {
        name: "images".into(),
        node: vec![
            conv(&[input, "k1"], "h1"),
            node("Relu", &["h1"], "r1"),
            conv(&["r1", "k2"], "h2"),
            node("Relu", &["h2"], "r2"),
            node("GlobalAveragePool", &["r2"], "pooled"),
            node("Flatten", &["pooled"], "features"),
            node("MatMul", &["features", "w"], output),
        ],
        initializer: vec![
            weights("k1", &[6, 3, 3, 3], &mut random),
            weights("k2", &[8, 6, 3, 3], &mut random),
            weights("w", &[8, 4], &mut random),
        ],
        input: vec![builders::value_info(
            input,
            ElemType::F32,
            &[
                DimSpec::Symbol("n".into()),
                DimSpec::Fixed(IMAGE[0] as i64),
                DimSpec::Fixed(IMAGE[1] as i64),
                DimSpec::Fixed(IMAGE[2] as i64),
            ],
        )],
        output: vec![builders::value_info(output, ElemType::F32, &[])],
        ..GraphProto::default()
    };
    Model::from_onnx("images", taste_onnx::Model::new(builders::model(graph, 17)))
}
