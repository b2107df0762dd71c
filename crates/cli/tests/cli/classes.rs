//! Labels beside the classes that a model itself names.

use std::fmt::Write as _;

use taste_onnx::{
    DimSpec, ElemType, Model, Values, builders,
    proto::{GraphProto, NodeProto, TensorProto},
};
use taste_stats::random::Random;

use crate::common::Place;

const COLUMNS: usize = 2;
/// Class k is where a + b lies in the k-th of three parts.
const WEIGHTS: [f32; 6] = [-6.0, 0.0, 6.0, -6.0, 0.0, 6.0];
const BIASES: [f32; 3] = [-3.0, 0.0, -3.0];

fn in_ml(node: NodeProto) -> NodeProto {
    NodeProto { domain: "ai.onnx.ml".into(), ..node }
}

/// A classifier as skl2onnx writes it: the class is chosen from a list by the place of the largest probability.
fn chosen(classes: Values) -> GraphProto {
    let classes =
        TensorProto { name: "classes".into(), ..builders::tensor("classes", &[3], classes) };
    let nodes = vec![
        builders::node("MatMul", &["x", "w"], &["product"], ""),
        builders::node("Add", &["product", "b"], &["sum"], ""),
        builders::node("Softmax", &["sum"], &["probabilities"], ""),
        NodeProto {
            attribute: vec![builders::attr_int("axis", 1)],
            ..builders::node("ArgMax", &["probabilities"], &["place"], "")
        },
        in_ml(builders::node("ArrayFeatureExtractor", &["classes", "place"], &["found"], "")),
        builders::node("Reshape", &["found", "flat"], &["label"], ""),
    ];
    GraphProto {
        node: nodes,
        initializer: vec![
            builders::tensor_f32("w", &[COLUMNS, 3], &WEIGHTS),
            builders::tensor_f32("b", &[3], &BIASES),
            builders::tensor_i64("flat", &[1], &[-1]),
            classes,
        ],
        ..GraphProto::default()
    }
}

/// One estimator of ONNX-ML, which holds its classes as an attribute.
fn estimator(classes: taste_onnx::proto::AttributeProto) -> GraphProto {
    let by_class: Vec<f32> = (0..3).flat_map(|k| [WEIGHTS[k], WEIGHTS[3 + k]]).collect();
    let node = NodeProto {
        attribute: vec![
            classes,
            builders::attr_floats("coefficients", &by_class),
            builders::attr_floats("intercepts", &BIASES),
            builders::attr_int("multi_class", 1),
            builders::attr_string("post_transform", "SOFTMAX"),
        ],
        ..builders::node("LinearClassifier", &["x"], &["label", "probabilities"], "")
    };
    GraphProto { node: vec![in_ml(node)], ..GraphProto::default() }
}

fn place(graph: GraphProto, label: ElemType) -> Place {
    let place = Place::new();
    let (rows, fixed) = (DimSpec::Symbol("N".into()), DimSpec::Fixed);
    let sample = [rows.clone(), fixed(2)];
    let graph = GraphProto {
        name: "g".into(),
        input: vec![builders::value_info("x", ElemType::F32, &sample)],
        output: vec![
            builders::value_info("label", label, std::slice::from_ref(&rows)),
            builders::value_info("probabilities", ElemType::F32, &[rows, fixed(3)]),
        ],
        ..graph
    };
    let mut model = builders::model(graph, 17);
    let ml = taste_onnx::proto::OperatorSetIdProto { domain: "ai.onnx.ml".into(), version: 1 };
    model.opset_import.push(ml);
    Model::new(model).save(&place.path("model.onnx")).unwrap();
    place
}

/// A table whose labels are called so, one in ten of them wrong.
fn table(place: &Place, name: &str, rows: usize, seed: u64, called: [&str; 3], without: usize) {
    let mut random = Random::new(seed);
    let mut text = "a,b,y\n".to_owned();
    for _ in 0..rows {
        let (a, b) = (random.normal(), random.normal());
        let place = usize::from(a + b > -0.5) + usize::from(a + b > 0.5);
        let place = if random.uniform() < 0.1 { (place + 1) % 3 } else { place };
        if place != without {
            writeln!(text, "{a},{b},{}", called[place]).unwrap();
        }
    }
    place.text(name, &text);
}

const NO_CLASS: usize = 9;

/// The accuracy on clean and on shifted samples that `taste evaluate` says.
fn accuracies(place: &Place) -> Vec<f64> {
    let evaluate = "evaluate d.onnx --id new.csv --id-labels y --ood some.csv --labels y --json";
    let found = place.json(evaluate);
    let mut accuracies = Vec::new();
    let detector = &found["detectors"][0]["scores"][0];
    for set in std::iter::once(&detector["id"]).chain(detector["sets"].as_array().unwrap()) {
        accuracies
            .push(set["metrics"]["accuracy"]["value"].as_f64().unwrap_or_else(|| panic!("{set}")));
    }
    accuracies
}

fn check(graph: GraphProto, label: ElemType, called: [&str; 3]) {
    let place = place(graph, label);
    for (name, seed, without) in [
        ("train.csv", 1, NO_CLASS),
        ("cal.csv", 2, NO_CLASS),
        ("new.csv", 3, NO_CLASS),
        ("some.csv", 4, 0),
    ] {
        table(&place, name, 700, seed, called, without);
    }
    let fit = "fit --model model.onnx --data train.csv --labels y --calibration cal.csv -o d.onnx";
    let manifest = place.json(&format!("{fit} --calibration-labels y --json"));
    let right = 1.0 - manifest["errors"]["mean"].as_f64().unwrap();
    assert!(right > 0.7, "{called:?}: right about {right} of the calibration samples");
    let found = accuracies(&place);
    assert!(found.iter().all(|share| *share > 0.7), "{called:?}: {found:?}");
    place.ok("score d.onnx new.csv -o s.csv -q");
    let scores = std::fs::read_to_string(place.path("s.csv")).unwrap();
    let header: Vec<&str> = scores.lines().next().unwrap().split(',').collect();
    let at = header.iter().position(|name| *name == "prediction").unwrap();
    let said = |row: &str| called.contains(&row.split(',').nth(at).unwrap());
    assert!(scores.lines().skip(1).all(said), "{called:?}: {}", &scores[..400]);
    table(&place, "odd.csv", 300, 5, ["x", "y", "z"], NO_CLASS);
    place.fails(
        "evaluate d.onnx --id odd.csv --id-labels y --ood some.csv",
        &format!("is none of the classes {}", called.join(", ")),
    );
}

#[test]
fn labels_are_the_classes_that_the_model_names() {
    let numbers = |numbers: &[i64]| chosen(Values::I64(numbers.to_vec()));
    check(numbers(&[1, 2, 3]), ElemType::I64, ["1", "2", "3"]);
    check(numbers(&[3, 5, 8]), ElemType::I64, ["3", "5", "8"]);
    let words = ["top", "lo", "mid"];
    let bytes: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    check(chosen(Values::String(bytes.clone())), ElemType::String, words);
    check(
        estimator(builders::attr_strings("classlabels_strings", &bytes)),
        ElemType::String,
        words,
    );
    let numbers = builders::attr_ints("classlabels_ints", &[3, 5, 8]);
    check(estimator(numbers), ElemType::I64, ["3", "5", "8"]);
}

#[test]
fn words_without_names_to_look_them_up_in_are_refused() {
    let place = place(chosen(Values::I64(vec![0, 1, 2])), ElemType::I64);
    let words = ["lo", "mid", "top"];
    for (name, seed, without) in
        [("train.csv", 1, NO_CLASS), ("cal.csv", 2, NO_CLASS), ("some.csv", 3, 0)]
    {
        table(&place, name, 700, seed, words, without);
    }
    place.ok("fit --model model.onnx --data train.csv --exclude y -o plain.onnx -q");
    let evaluate = "--id cal.csv --id-labels y --ood some.csv --labels y";
    let refused =
        "the labels are words (lo, mid, top), and the classes of the detector have no names";
    place.fails(&format!("evaluate plain.onnx {evaluate}"), refused);
    // At the fit the order of the alphabet is a guess, which is said.
    let fit = "--calibration cal.csv --calibration-labels y --labels y";
    let run = place.ok(&format!("fit --model model.onnx --data train.csv {fit} -o d.onnx"));
    assert!(
        run.err.contains("in the order of the alphabet: lo, mid, top (--class-names"),
        "{}",
        run.err
    );
    assert!(!run.err.contains("less than by chance"), "{}", run.err);
    place.ok(&format!("evaluate d.onnx {evaluate}"));
    // Two words are not the classes of a model with three.
    let two = place.run("fit --model model.onnx --data some.csv --labels y -o two.onnx");
    let said = "the labels are 2 different words (mid, top), and the model has 3 outputs";
    assert!(two.err.contains(said), "{}", two.err);
    // Another order is told by the calibration samples.
    for (name, seed) in [("train.csv", 1), ("cal.csv", 2)] {
        table(&place, name, 700, seed, ["z", "a", "m"], NO_CLASS);
    }
    let run = place.ok(&format!("fit --model model.onnx --data train.csv {fit} -o d.onnx"));
    assert!(run.err.contains("less than by chance: --class-names"), "{}", run.err);
    let named =
        format!("fit --model model.onnx --data train.csv {fit} --class-names z,a,m -o d.onnx");
    let run = place.ok(&named);
    assert!(!run.err.contains("chance") && !run.err.contains("alphabet"), "{}", run.err);
}
