//! A model's inputs may have any names, also those that derivatives use themselves.

use std::collections::HashSet;

use ndarray::ArrayD;
use taste_engine::{Backend, LaplacianMethod, Model, Quantities, Request, Target, Value, Wants};
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto, TensorProto, ValueInfoProto},
};

use crate::common::{matrix, node, noise};

const INPUTS: usize = 5;
const CLASSES: usize = 3;

fn open(name: &str, sizes: &[usize]) -> ValueInfoProto {
    let sizes = sizes.iter().map(|&d| DimSpec::Fixed(d as i64));
    let shape: Vec<_> = std::iter::once(DimSpec::Symbol("N".into())).chain(sizes).collect();
    builders::value_info(name, ElemType::F32, &shape)
}

fn from_parts(
    nodes: Vec<NodeProto>,
    weights: Vec<TensorProto>,
    inputs: Vec<ValueInfoProto>,
) -> Model {
    let graph = GraphProto {
        name: "network".into(),
        node: nodes,
        initializer: weights,
        input: inputs,
        output: vec![open("y", &[CLASSES])],
        ..GraphProto::default()
    };
    Model::from_onnx("network", taste_onnx::Model::new(builders::model(graph, 17)))
}

/// A classifier with an input of this name.
fn classifier(input: &str, activation: &str) -> Model {
    let nodes = vec![
        node("MatMul", &[input, "w"], "a"),
        node(activation, &["a"], "h"),
        node("MatMul", &["h", "v"], "y"),
    ];
    let weights = vec![matrix("w", &noise(INPUTS, 8, 1)), matrix("v", &noise(8, CLASSES, 2))];
    from_parts(nodes, weights, vec![open(input, &[INPUTS])])
}

/// The names of outputs, of what is fed, and of what a detector writes.
fn names() -> Vec<&'static str> {
    let quantities = Quantities::NAMES.named().map(|(name, _)| name);
    quantities.chain(["field", "directions", "signs", "part", "score", "constant_1"]).collect()
}

fn everything(model: &Model, method: LaplacianMethod, memory: usize) -> Vec<ArrayD<f64>> {
    let stderr = method.is_stochastic();
    let wants = Wants {
        gradient: true,
        laplacian: true,
        drift: true,
        jacobian: true,
        stderr,
        ..Wants::NONE
    };
    let target = Some(Target::prob(None));
    let asked = Request { target, laplacian_method: method, wants, memory, ..Request::default() };
    let derived = model.derive(&asked).expect("a derivative");
    let compiled = derived.compile(&Backend::REFERENCE, 1).expect("compiles");
    let x = Value::F32(noise(4, INPUTS, 3).into_dyn());
    let s = Value::F32(noise(4, INPUTS, 4).into_dyn());
    let field = derived.field().expect("a field");
    let found = compiled.run(&[(derived.wrt(), &x), (field, &s)], 0).expect("runs");
    assert_eq!(found.as_ref().map(|_| true, Option::is_some).named().count(), 7);
    found.present().map(|(_, v)| v.to_f64()).collect()
}

#[test]
fn results_do_not_depend_on_the_name_of_the_input() {
    let methods = [
        ("Relu", LaplacianMethod::CLOSED_FORM),
        ("Relu", LaplacianMethod::probe(3)),
        ("Tanh", LaplacianMethod::EXACT),
        ("Tanh", LaplacianMethod::hutchinson(3)),
        ("Tanh", LaplacianMethod::hutchpp(6)),
    ];
    for (activation, method) in methods {
        let wanted = everything(&classifier("x", activation), method, 1 << 30);
        assert_eq!(wanted.len(), 5 + usize::from(method.is_stochastic()), "{method}");
        for name in names() {
            let found = everything(&classifier(name, activation), method, 1 << 30);
            assert_eq!(found, wanted, "{method} with an input {name:?}");
        }
    }
}

/// A network that is too wide for all directions at once: they are fed.
#[test]
fn results_in_parts_do_not_depend_on_the_name_of_the_input() {
    let wide = 40;
    let with = |input: &str| {
        let nodes = vec![
            node("Tanh", &[input], "t"),
            node("MatMul", &["t", "w"], "a"),
            node("Tanh", &["a"], "y"),
        ];
        from_parts(nodes, vec![matrix("w", &noise(wide, CLASSES, 1))], vec![open(input, &[wide])])
    };
    let run = |input: &str, memory: usize, diagonal: bool| -> Vec<(&'static str, ArrayD<f64>)> {
        let wants = Wants { gradient: true, laplacian: true, drift: true, diagonal, ..Wants::NONE };
        let laplacian_method = LaplacianMethod::EXACT;
        let asked = Request { laplacian_method, wants, memory, ..Request::default() };
        let derived = with(input).derive(&asked).expect("a derivative");
        let compiled = derived.compile(&Backend::REFERENCE, 1).expect("compiles");
        let x = Value::F32(noise(4, wide, 3).into_dyn());
        let s = Value::F32(noise(4, wide, 4).into_dyn());
        let field = derived.field().expect("a field");
        let found = compiled.run(&[(derived.wrt(), &x), (field, &s)], 0).expect("runs");
        found.present().map(|(name, v)| (name, v.to_f64())).collect()
    };
    for diagonal in [false, true] {
        let whole = run("x", 1 << 30, diagonal);
        assert_eq!(whole.len(), 4 + usize::from(diagonal));
        for name in ["x", "directions", "part", "part_1", "value"] {
            for ((quantity, found), (_, wanted)) in run(name, 1, diagonal).iter().zip(&whole) {
                let off = (found - wanted).iter().fold(0.0_f64, |m, d| m.max(d.abs()));
                assert!(off < 1e-12, "{quantity} with an input {name:?}: {off:e}");
            }
        }
    }
}

#[test]
fn a_written_file_defines_every_name_once_and_runs() {
    let wants =
        Wants { gradient: true, laplacian: true, drift: true, jacobian: true, ..Wants::NONE };
    let x = Value::F32(noise(4, INPUTS, 3).into_dyn());
    let s = Value::F32(noise(4, INPUTS, 4).into_dyn());
    let mut first: Option<Vec<ArrayD<f64>>> = None;
    for name in std::iter::once("x").chain(names()) {
        let asked = Request { wants, ..Request::default() };
        let file = classifier(name, "Relu").derive_file(&asked).expect("a file");
        let graph = file.proto.graph.clone().expect("a graph");
        let inputs: Vec<&str> = graph.input.iter().map(|i| i.name.as_str()).collect();
        let outputs: Vec<&str> = graph.output.iter().map(|o| o.name.as_str()).collect();
        assert_eq!(outputs, ["value", "gradient", "laplacian", "drift", "jacobian"]);
        let tensors = graph.initializer.iter().map(|t| t.name.as_str());
        let results = graph.node.iter().flat_map(|n| &n.output).map(String::as_str);
        let all: Vec<&str> = inputs.iter().copied().chain(tensors).chain(results).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len(), "{name}: {all:?}");
        let renamed = format!("model_{name}");
        assert_eq!(inputs[0], if outputs.contains(&name) { &renamed } else { name });
        let model = Model::from_onnx("derivative", file);
        let session = Backend::RTEN.load(&model, &outputs, 1).expect("loads");
        let found = session.run(&[(inputs[0], &x), (inputs[1], &s)]).expect("runs");
        let found: Vec<_> = found.iter().map(Value::to_f64).collect();
        assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "{name}");
    }
}

#[test]
fn a_draft_keeps_names_free_for_outputs() {
    let model = classifier("score", "Relu");
    let mut draft = model.draft(&Request::default()).expect("a draft");
    let outputs = [("score".to_owned(), draft.logits())];
    assert_eq!(draft.input_name(), "score");
    let message = draft.graph().to_onnx(&outputs).expect_err("refused").to_string();
    assert_eq!(message, "output \"score\" has the name of an input");
    draft.reserve(&["score", "p_value", "flag"]);
    assert_eq!(draft.input_name(), "model_score");
    assert!(draft.graph().to_onnx(&outputs).is_ok());
    draft.reserve(&["model_score"]);
    assert_eq!(draft.input_name(), "model_model_score");
}

#[test]
fn samples_go_to_the_first_input_of_floats_with_several_axes() {
    let nodes = || vec![node("MatMul", &["x", "w"], "a"), node("Add", &["a", "t"], "y")];
    let weights = || vec![matrix("w", &noise(INPUTS, CLASSES, 1))];
    let model = from_parts(
        nodes(),
        weights(),
        vec![builders::value_info("t", ElemType::F32, &[DimSpec::Fixed(1)]), open("x", &[INPUTS])],
    );
    assert_eq!(model.input(None).expect("an input").name, "x");
    assert_eq!(model.input(Some("t")).expect("an input").name, "t");
    let message = model.input(Some("z")).expect_err("refused").to_string();
    assert_eq!(message, "network: no input \"z\"; the model has t, x");
    let alone = from_parts(vec![node("Tanh", &["t"], "y")], vec![], vec![open("t", &[])]);
    assert_eq!(alone.input(None).expect("an input").name, "t");
    let ids = builders::value_info("ids", ElemType::I64, &[DimSpec::Fixed(1)]);
    let integers = from_parts(vec![], vec![], vec![ids]);
    let message = integers.input(None).expect_err("refused").to_string();
    assert_eq!(message, "network: no input that holds floats; the model has ids");
    assert!(integers.input(Some("ids")).expect_err("refused").to_string().contains("no floats"));
}
