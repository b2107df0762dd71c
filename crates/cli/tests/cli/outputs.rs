//! What outputs are taken for.

use ndarray::Array2;
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto},
};
use taste_stats::random::Random;

use crate::common::Place;

const FIT: &str = "fit --model model.onnx --data x.npy -o d.onnx --json";

fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    builders::node(op, inputs, &[output], output)
}

/// A folder with `x.npy` and `model.onnx`: z = relu(x a) b with three entries or one, then `nodes`, up to `outputs` with
/// their sizes behind the samples.
fn place(width: usize, nodes: &[NodeProto], outputs: &[(&str, &[i64])]) -> Place {
    let place = Place::new();
    let mut random = Random::new(7);
    #[expect(clippy::cast_possible_truncation, reason = "arrays are single precision")]
    let mut draw = |n: usize| -> Vec<f32> { (0..n).map(|_| random.normal() as f32).collect() };
    let x = Array2::from_shape_vec((500, 4), draw(2000)).unwrap();
    place.write("x.npy", &x.into_dyn());
    let value = |name: &str, sizes: &[i64]| {
        let batch = std::iter::once(DimSpec::Symbol("N".into()));
        let shape: Vec<DimSpec> = batch.chain(sizes.iter().map(|s| DimSpec::Fixed(*s))).collect();
        builders::value_info(name, ElemType::F32, &shape)
    };
    let mut all = vec![
        node("MatMul", &["x", "a"], "h"),
        node("Relu", &["h"], "r"),
        node("MatMul", &["r", "b"], "z"),
    ];
    all.extend_from_slice(nodes);
    let graph = GraphProto {
        name: "network".into(),
        node: all,
        initializer: vec![
            builders::tensor_f32("a", &[4, 8], &draw(32)),
            builders::tensor_f32("b", &[8, width], &draw(8 * width)),
            builders::tensor_f32("one", &[], &[1.0]),
            builders::tensor_i64("last", &[1], &[1]),
            builders::tensor_i64("grid", &[4], &[-1, 2, 2, 2]),
        ],
        input: vec![value("x", &[4])],
        output: outputs.iter().map(|(name, sizes)| value(name, sizes)).collect(),
        ..GraphProto::default()
    };
    let model = taste_onnx::Model::new(builders::model(graph, 17));
    std::fs::write(place.path("model.onnx"), model.to_bytes().unwrap()).unwrap();
    place
}

/// exp(z) by its sum, and 1/(1 + exp(−z)), without the operators that have the names of these functions.
fn plain_softmax() -> Vec<NodeProto> {
    vec![
        node("Exp", &["z"], "e"),
        node("ReduceSum", &["e", "last"], "s"),
        node("Div", &["e", "s"], "p"),
    ]
}

fn plain_sigmoid() -> Vec<NodeProto> {
    vec![
        node("Neg", &["z"], "m"),
        node("Exp", &["m"], "e"),
        node("Add", &["e", "one"], "s"),
        node("Reciprocal", &["s"], "p"),
    ]
}

#[test]
fn probabilities_are_not_put_through_a_softmax_again() {
    let softmax = place(3, &[node("Softmax", &["z"], "p")], &[("p", &[3])]);
    let plain = place(3, &plain_softmax(), &[("p", &[3])]);
    for method in ["msp", "stein"] {
        let scores = [&softmax, &plain].map(|place| {
            let found = place.json(&format!("{FIT} --method {method}"));
            assert_eq!(found["model"]["answer"], "classes");
            assert_eq!(found["model"]["scale"], "probabilities", "{method}");
            place.ok("score d.onnx x.npy -o s.npy -q");
            place.array("s.npy")
        });
        let [want, got] = scores;
        let off = (&got - &want).mapv(f64::abs).mean().unwrap();
        let size = want.mapv(f64::abs).mean().unwrap();
        assert!(off < 1e-3 * size, "{method}: {off} of {size}");
    }
    // The energy of logarithms of probabilities is zero, and no evidence.
    let terms = plain.json(FIT)["method"]["facts"]["evidence"].clone();
    assert!(terms.as_array().unwrap().iter().all(|t| t["name"] != "E"), "{terms}");
    let said = plain.ok("inspect d.onnx").out;
    assert!(said.contains("rows of \"p\" sum to one"), "{said}");
}

#[test]
fn one_sigmoid_is_two_classes_with_and_without_its_operator() {
    for nodes in [vec![node("Sigmoid", &["z"], "p")], plain_sigmoid()] {
        let place = place(1, &nodes, &[("p", &[1])]);
        for method in ["msp", "taste", "stein", "knn"] {
            let found = place.json(&format!("{FIT} --method {method}"));
            assert_eq!(found["model"]["answer"], "binary", "{method}");
            assert_eq!(found["model"]["scale"], "probabilities", "{method}");
            place.ok("score d.onnx x.npy -o s.npy -q");
            assert!(place.array("s.npy").iter().all(|v| v.is_finite()), "{method}");
        }
        place.ok(&format!("{FIT} --method stein --target output:0"));
        place.ok("derive model.onnx --input x.npy");
        // As a number of its own it has no classes.
        let found = place.json(&format!("{FIT} --task numbers"));
        assert_eq!(found["model"]["answer"], "numbers");
        place.fails(
            "fit --model model.onnx --data x.npy -o e.onnx --method msp --task numbers",
            "the method msp looks at the classes of a classifier, and the model was taken for a regressor",
        );
    }
}

#[test]
fn several_sigmoids_are_labels_and_stein_asks_for_one() {
    for nodes in [vec![node("Sigmoid", &["z"], "p")], plain_sigmoid()] {
        let place = place(3, &nodes, &[("p", &[3])]);
        let found = place.json(FIT);
        assert_eq!(found["model"]["answer"], "labels");
        assert_eq!(found["model"]["scale"], "probabilities");
        place.fails(
            "fit --model model.onnx --data x.npy -o e.onnx --method stein",
            "output:0 to output:2",
        );
        place.ok("fit --model model.onnx --data x.npy -o e.onnx --target output:2");
    }
}

#[test]
fn a_softmax_beside_a_box_is_the_answer() {
    let nodes = [node("Softmax", &["z"], "face")];
    let place = place(3, &nodes, &[("h", &[8]), ("face", &[3])]);
    assert_eq!(place.json(FIT)["model"]["output"], "face");
    let found = place.json(&format!("{FIT} --output h --task numbers"));
    assert_eq!(found["model"]["output"], "h");
    assert!(found["model"]["taken_for"].as_str().unwrap().contains("8 numbers"), "{found}");
}

#[test]
fn answers_at_many_places_are_refused_with_a_reason() {
    let nodes = [node("Reshape", &["h", "grid"], "mask")];
    let place = place(3, &nodes, &[("mask", &[2, 2, 2])]);
    place.fails(
        "fit --model model.onnx --data x.npy -o d.onnx",
        "output \"mask\" has 2 × 2 × 2 numbers a sample: it answers at many places",
    );
    place.ok(&format!("{FIT} --task numbers"));
}

#[test]
fn a_model_of_one_sample_without_a_batch_runs_sample_by_sample() {
    let place = place(3, &[], &[("z", &[3])]);
    place.json(FIT);
    place.ok("score d.onnx x.npy -o with.npy -q");
    let mut model = taste_onnx::Model::open(&place.path("model.onnx")).unwrap();
    let graph = model.proto.graph.as_mut().unwrap();
    graph.input[0] = builders::value_info("x", ElemType::F32, &[DimSpec::Fixed(4)]);
    graph.output[0] = builders::value_info("z", ElemType::F32, &[DimSpec::Fixed(3)]);
    std::fs::write(place.path("model.onnx"), model.to_bytes().unwrap()).unwrap();
    let found = place.json(FIT);
    assert_eq!(found["model"]["batch"], 1);
    assert_eq!(found["model"]["answer"], "classes");
    place.ok("score d.onnx x.npy -o without.npy -q");
    let off = crate::common::distance(&place.array("without.npy"), &place.array("with.npy"));
    assert!(off < 1e-4, "{off}");
}

#[test]
fn logits_can_be_said_to_be_numbers_or_labels() {
    let place = place(3, &[], &[("z", &[3])]);
    for (task, words) in [
        ("classes", "a classifier of 3 classes: the softmax of \"z\""),
        ("labels", "3 yes-or-no answers: the sigmoid of \"z\""),
        ("numbers", "a regressor: \"z\" is 3 numbers"),
    ] {
        let found = place.json(&format!("{FIT} --task {task}"));
        assert_eq!(found["model"]["answer"], task);
        assert_eq!(found["model"]["taken_for"], words);
    }
    let fails = |flags: &str, words: &str| {
        place.fails(&format!("fit --model model.onnx --data x.npy -o e.onnx {flags}"), words);
    };
    fails("--task binary", "\"z\" has 3 entries, and a binary answer is one");
}

#[test]
fn many_answers_are_columns_or_it_is_said_that_they_are_not() {
    for (width, columns) in [(20, 20), (65, 0)] {
        let place = place(width, &[node("Sigmoid", &["z"], "p")], &[("p", &[width as i64])]);
        place.ok("fit --model model.onnx --data x.npy -o d.onnx -q");
        let run = place.ok("score d.onnx x.npy -o s.csv");
        let text = std::fs::read_to_string(place.path("s.csv")).unwrap();
        let header = text.lines().next().unwrap();
        let found = header.split(',').filter(|name| name.starts_with("prediction")).count();
        assert_eq!(found, columns, "{header}");
        assert_eq!(run.err.contains("65 numbers a sample"), columns == 0, "{}", run.err);
        assert!(!place.ok("score d.onnx x.npy -o s.npy").err.contains("numbers a sample"));
    }
}
