//! The features that a model's last layer sees.

use ndarray::ArrayD;
use taste_engine::{Backend, Feature, Model, Request, Value};
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto},
};

use crate::common::{matrix, model, node, noise};

const INPUTS: usize = 5;
const HIDDEN: usize = 8;
const CLASSES: usize = 3;

/// A hidden layer, then these nodes from h to y.
fn with_head(head: Vec<NodeProto>) -> Model {
    let mut nodes = vec![node("MatMul", &["x", "w"], "a"), node("Relu", &["a"], "h")];
    nodes.extend(head);
    let weights = vec![
        matrix("w", &noise(INPUTS, HIDDEN, 1)),
        matrix("v", &noise(HIDDEN, CLASSES, 2)),
        matrix("vt", &noise(CLASSES, HIDDEN, 2)),
        matrix("b", &noise(1, CLASSES, 3)),
    ];
    model(nodes, weights, INPUTS, CLASSES)
}

fn features(model: &Model, name: Option<&str>) -> Result<Feature, String> {
    let mut draft = model.draft(&Request::default()).expect("a draft");
    let found = draft.features(name).map_err(|e| e.to_string())?;
    assert_eq!(draft.graph().fact(found.id).to_string(), format!("float[N×{}]", found.width));
    Ok(found)
}

#[track_caller]
fn assert_features(model: &Model, name: &str, width: usize) {
    let found = features(model, None).expect("features");
    assert_eq!((found.name.as_str(), found.width), (name, width));
}

#[test]
fn of_heads_in_every_spelling() {
    let transposed = || {
        let mut gemm = node("Gemm", &["h", "vt", "b"], "y");
        gemm.attribute = vec![builders::attr_int("transB", 1), builders::attr_float("alpha", 0.5)];
        gemm
    };
    let heads = [
        vec![node("MatMul", &["h", "v"], "y")],
        vec![node("MatMul", &["h", "v"], "z"), node("Add", &["z", "b"], "y")],
        vec![node("Gemm", &["h", "v"], "y")],
        vec![node("Gemm", &["h", "v", "b"], "y")],
        vec![transposed()],
        vec![node("Gemm", &["h", "v", "b"], "z"), node("Softmax", &["z"], "y")],
        vec![node("Gemm", &["h", "v", "b"], "z"), node("LogSoftmax", &["z"], "y")],
        // A temperature is no layer.
        vec![node("MatMul", &["h", "v"], "z"), node("Mul", &["z", "b"], "y")],
    ];
    for head in heads {
        assert_features(&with_head(head), "h", HIDDEN);
    }
}

#[test]
fn have_the_values_that_the_layer_sees() {
    let model = with_head(vec![node("MatMul", &["h", "v"], "y")]);
    let mut draft = model.draft(&Request::default()).expect("a draft");
    let features = draft.features(None).expect("features");
    let outputs = [("features".to_owned(), features.id)];
    let session = Backend::REFERENCE.compile(draft.graph(), &outputs, 1).expect("compiles");
    let x = noise(4, INPUTS, 9);
    let found = session.run(&[("x", &Value::F32(x.clone().into_dyn()))]).expect("runs");
    let wanted: ArrayD<f64> =
        x.dot(&noise(INPUTS, HIDDEN, 1)).mapv(|v| f64::from(v.max(0.0))).into_dyn();
    let off = (found[0].to_f64() - wanted).iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    assert!(off < 1e-5, "{off:e}");
}

/// A convolution, then these nodes from c to y.
fn convolutional(head: Vec<NodeProto>) -> Model {
    let mut nodes = vec![node("Conv", &["x", "k"], "c0"), node("Relu", &["c0"], "c")];
    nodes.extend(head);
    let kernel = |name: &str, dims: &[usize]| {
        let (rows, columns) = (dims[0], dims[1..].iter().product());
        let values = noise(rows, columns, 5);
        builders::tensor_f32(name, dims, values.as_slice().expect("contiguous"))
    };
    let image =
        [DimSpec::Symbol("N".into()), DimSpec::Fixed(2), DimSpec::Fixed(6), DimSpec::Fixed(6)];
    let logits = [DimSpec::Symbol("N".into()), DimSpec::Fixed(CLASSES as i64)];
    let graph = GraphProto {
        name: "network".into(),
        node: nodes,
        initializer: vec![
            kernel("k", &[4, 2, 3, 3]),
            kernel("one", &[CLASSES, 4, 1, 1]),
            matrix("v", &noise(4, CLASSES, 6)),
        ],
        input: vec![builders::value_info("x", ElemType::F32, &image)],
        output: vec![builders::value_info("y", ElemType::F32, &logits)],
        ..GraphProto::default()
    };
    Model::from_onnx("network", taste_onnx::Model::new(builders::model(graph, 17)))
}

#[test]
fn of_a_convolutional_network_come_after_its_pooling() {
    let head = vec![
        node("GlobalAveragePool", &["c"], "pooled"),
        node("Flatten", &["pooled"], "flat"),
        node("Gemm", &["flat", "v"], "y"),
    ];
    assert_features(&convolutional(head), "flat", 4);
    // Scores of classes at every place, pooled at the end: the layer is the convolution.
    let head = vec![
        node("Conv", &["c", "one"], "places"),
        node("GlobalAveragePool", &["places"], "pooled"),
        node("Flatten", &["pooled"], "y"),
    ];
    assert_features(&convolutional(head), "c", 4 * 4 * 4);
}

#[test]
fn of_a_model_without_a_linear_layer_do_not_exist() {
    let nodes = vec![node("Tanh", &["x"], "t"), node("Mul", &["t", "b"], "y")];
    let network = model(nodes, vec![matrix("b", &noise(1, CLASSES, 3))], CLASSES, CLASSES);
    let message = features(&network, None).expect_err("refused");
    assert_eq!(
        message,
        "no linear layer leads to output \"y\", so there are no features before it; there are x, t, y"
    );
}

#[test]
fn are_found_by_name() {
    let head = vec![
        node("GlobalAveragePool", &["c"], "pooled"),
        node("Flatten", &["pooled"], "flat"),
        node("Gemm", &["flat", "v"], "y"),
    ];
    let model = convolutional(head);
    for (name, width) in [("x", 72), ("c0", 64), ("c", 64), ("pooled", 4), ("flat", 4), ("y", 3)] {
        let found = features(&model, Some(name)).expect("features");
        assert_eq!((found.name.as_str(), found.width), (name, width));
    }
    let message = features(&model, Some("poled")).expect_err("refused");
    assert!(
        message.starts_with("the model has no tensor \"poled\"; did you mean pooled?"),
        "{message}"
    );
    assert!(message.ends_with("there are x, c0, c, pooled, flat, y"), "{message}");
    let mut draft = model.draft(&Request::default()).expect("a draft");
    assert_eq!(draft.tensors().len(), 6);
    assert!(draft.features(Some("k")).is_err());
}

#[test]
fn have_one_row_for_every_sample() {
    let nodes = vec![
        node("Transpose", &["x"], "t"),
        node("Transpose", &["t"], "u"),
        node("MatMul", &["u", "v"], "y"),
    ];
    let network = model(nodes, vec![matrix("v", &noise(INPUTS, CLASSES, 1))], INPUTS, CLASSES);
    let mut draft = network.draft(&Request::default()).expect("a draft");
    let message = draft.features(Some("t")).expect_err("refused").to_string();
    assert!(message.contains("not one row of floats for every sample"), "{message}");
}
