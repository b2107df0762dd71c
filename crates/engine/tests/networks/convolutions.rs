//! Networks around convolutions, which the embedded engine runs in a way of its own.

use ndarray::ArrayD;
use taste_engine::{Backend, Model, Request, Target, Value, Wants};
use taste_onnx::{
    builders,
    proto::{NodeProto, TensorProto},
};

use crate::common::{model, node, noise};

const CHANNELS: usize = 24;
const SIDE: usize = 10;

/// Weights that keep sums over their inputs of order one.
fn tensor(name: &str, shape: &[usize], seed: u64) -> TensorProto {
    let summed: usize = shape.iter().skip(1).product();
    let values = noise(1, shape.iter().product(), seed) / (summed as f32).sqrt();
    builders::tensor_f32(name, shape, values.as_slice().expect("contiguous"))
}

fn with(mut node: NodeProto, attributes: &[(&str, &[i64])]) -> NodeProto {
    node.attribute.extend(attributes.iter().map(|(n, v)| builders::attr_ints(n, v)));
    node
}

/// A convolution by 3 × 3 that keeps the size.
fn conv(inputs: &[&str], output: &str) -> NodeProto {
    with(node("Conv", inputs, output), &[("pads", &[1, 1, 1, 1])])
}

/// y = Σ tanh of what the nodes make of `image`, which is named `last`; constants are there for all cases.
fn network(nodes: &[NodeProto], last: &str) -> Model {
    let c = CHANNELS;
    let mut all = vec![node("Reshape", &["x", "shape"], "image")];
    all.extend_from_slice(nodes);
    all.push(node("Tanh", &[last], "bent"));
    all.push(node("Flatten", &["bent"], "flat"));
    all.push(node("ReduceSum", &["flat", "one"], "y"));
    let side = SIDE as i64;
    let weights = vec![
        builders::tensor_i64("shape", &[4], &[-1, c as i64, side, side]),
        builders::tensor_i64("line", &[3], &[-1, c as i64, side * side]),
        builders::tensor_i64("one", &[1], &[1]),
        tensor("w", &[c, c, 3, 3], 1),
        tensor("v", &[c, c, 3, 3], 2),
        tensor("across", &[c, c, 1, 1], 3),
        tensor("apart", &[c, 1, 3, 3], 10),
        tensor("fours", &[c, 4, 3, 3], 12),
        tensor("along", &[c, c, 5], 4),
        tensor("whole", &[c, c, SIDE, SIDE], 5),
        tensor("bias", &[c], 6),
        tensor("channels", &[1, c, 1, 1], 7),
        tensor("places", &[1, 1, SIDE, SIDE], 8),
        tensor("number", &[], 9),
    ];
    model(all, weights, c * SIDE * SIDE, 1)
}

fn results(model: &Model, backend: &Backend, threads: usize) -> [ArrayD<f64>; 2] {
    let x = noise(5, CHANNELS * SIDE * SIDE, 11).into_dyn();
    let wants = Wants { gradient: true, ..Wants::default() };
    let asked = Request { target: Some(Target::output(0)), wants, ..Request::default() };
    let derived = model.derive(&asked).expect("derived");
    let compiled = derived.compile(backend, threads).expect("compiled");
    let results = compiled.run(&[("x", &Value::F32(x))], 0).expect("runs");
    [results.value, results.gradient.expect("was asked for")].map(|r| r.to_f64())
}

fn agrees_with_the_reference(nodes: &[NodeProto], last: &str) {
    let model = network(nodes, last);
    let wanted = results(&model, &Backend::REFERENCE, 1);
    for threads in [1, 2, 8] {
        let found = results(&model, &Backend::RTEN, threads);
        for (found, wanted) in found.iter().zip(&wanted) {
            let largest = wanted.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            assert!(largest > 1e-3, "something to compare");
            for (found, wanted) in found.iter().zip(wanted) {
                let error = (found - wanted).abs() / largest;
                assert!(error < 1e-5, "{found} beside {wanted} with {threads} threads");
            }
        }
    }
}

#[test]
fn with_biases_and_scales() {
    agrees_with_the_reference(
        &[
            conv(&["image", "w", "bias"], "a"),
            node("Add", &["a", "channels"], "b"),
            node("Relu", &["b"], "c"),
            conv(&["c", "v"], "d"),
            node("Mul", &["number", "d"], "e"),
            node("Add", &["places", "e"], "f"),
        ],
        "f",
    );
}

#[test]
fn with_a_shortcut_and_a_result_that_is_read_twice() {
    agrees_with_the_reference(
        &[
            conv(&["image", "w"], "a"),
            node("Relu", &["a"], "b"),
            conv(&["b", "v"], "c"),
            node("Add", &["c", "a"], "d"),
            node("Relu", &["d"], "e"),
            conv(&["e", "w"], "f"),
            node("Mul", &["f", "f"], "g"),
        ],
        "g",
    );
}

#[test]
fn in_groups() {
    let of = |mut node: NodeProto, groups: usize| {
        node.attribute.push(builders::attr_int("group", groups as i64));
        node
    };
    agrees_with_the_reference(
        &[
            of(conv(&["image", "apart", "bias"], "a"), CHANNELS),
            node("Relu", &["a"], "b"),
            of(conv(&["b", "fours"], "c"), CHANNELS / 4),
            of(with(node("Conv", &["c", "apart"], "d"), &[("strides", &[2, 2])]), CHANNELS),
            of(
                with(node("ConvTranspose", &["d", "apart"], "e"), &[("strides", &[2, 2])]),
                CHANNELS,
            ),
        ],
        "e",
    );
}

#[test]
fn behind_a_gate() {
    agrees_with_the_reference(
        &[
            conv(&["image", "w"], "a"),
            node("GlobalAveragePool", &["image"], "b"),
            node("Conv", &["b", "across"], "c"),
            node("Sigmoid", &["c"], "d"),
            node("Mul", &["a", "d"], "e"),
        ],
        "e",
    );
}

#[test]
fn with_the_same_weights_in_other_places() {
    agrees_with_the_reference(
        &[
            conv(&["image", "w"], "a"),
            with(node("Conv", &["a", "w"], "b"), &[("strides", &[2, 1]), ("dilations", &[1, 2])]),
            with(
                node("ConvTranspose", &["b", "w"], "c"),
                &[("strides", &[2, 3]), ("output_padding", &[1, 2]), ("pads", &[1, 0, 0, 1])],
            ),
            with(node("ConvTranspose", &["c", "w"], "d"), &[("strides", &[2, 2])]),
        ],
        "d",
    );
}

#[test]
fn along_a_line_and_over_everything() {
    agrees_with_the_reference(
        &[
            node("Reshape", &["image", "line"], "a"),
            with(
                node("Conv", &["a", "along", "bias"], "b"),
                &[("pads", &[2, 2]), ("strides", &[1])],
            ),
            node("Relu", &["b"], "c"),
            node("Reshape", &["c", "shape"], "d"),
            node("Conv", &["d", "whole"], "e"),
        ],
        "e",
    );
}

#[test]
fn far_beyond_the_image() {
    agrees_with_the_reference(
        &[with(
            node("Conv", &["image", "w"], "a"),
            &[("dilations", &[3000, 2000]), ("pads", &[3000, 2000, 3000, 2000])],
        )],
        "a",
    );
}
