//! A model as part of a graph.

use std::collections::HashMap;

use ndarray::{ArrayD, IxDyn};
use taste_engine::{Backend, Error, Further, Graft, Model, Value};
use taste_graph::{Build, Dim, Fact, Graph, Id, Tensor};
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto, TensorProto},
};

fn dims(sizes: &[i64]) -> Vec<DimSpec> {
    let named = |&d: &i64| if d < 0 { DimSpec::Symbol("N".into()) } else { DimSpec::Fixed(d) };
    sizes.iter().map(named).collect()
}

fn node(op: &str, args: &[&str], out: &str) -> NodeProto {
    builders::node(op, args, &[out], out)
}

/// A model with inputs x and, if it has a shape, t; −1 is an open size.
fn model(
    x: &[i64],
    t: Option<(ElemType, &[i64])>,
    nodes: Vec<NodeProto>,
    tensors: Vec<TensorProto>,
) -> Model {
    let mut input = vec![builders::value_info("x", ElemType::F32, &dims(x))];
    input.extend(t.map(|(kind, shape)| builders::value_info("t", kind, &dims(shape))));
    let graph = GraphProto {
        name: "part".into(),
        node: nodes,
        initializer: tensors,
        input,
        output: vec![builders::value_info("y", ElemType::F32, &dims(x))],
        ..GraphProto::default()
    };
    let bytes = taste_onnx::Model::new(builders::model(graph, 17)).to_bytes().expect("encodes");
    Model::from_bytes("part.onnx", &bytes).expect("a model")
}

/// y = tanh(x)·t with t as a column.
fn scaled(kind: ElemType, x: &[i64], t: &[i64]) -> Model {
    let mut nodes = vec![node("Tanh", &["x"], "h")];
    nodes.push(match kind {
        ElemType::I64 => {
            let mut cast = node("Cast", &["t"], "f");
            cast.attribute = vec![builders::attr_int("to", ElemType::F32.code().into())];
            cast
        }
        _ => node("Identity", &["t"], "f"),
    });
    nodes.push(node("Reshape", &["f", "column"], "c"));
    nodes.push(node("Mul", &["h", "c"], "y"));
    model(x, Some((kind, t)), nodes, vec![builders::tensor_i64("column", &[2], &[-1, 1])])
}

struct Host {
    graph: Graph,
    x: Id,
}

fn host(sample: &[usize]) -> Host {
    let mut graph = Graph::new();
    let shape = std::iter::once(Dim::BATCH).chain(sample.iter().map(|&d| Dim::from(d))).collect();
    let x = graph.input("x", Fact::float(shape));
    Host { graph, x }
}

impl Host {
    fn graft(&mut self, model: &Model, options: &Graft) -> Result<Id, Error> {
        model.graft(&mut Build::new(&mut self.graph), self.x, options)
    }
}

fn steps(value: f64) -> Graft {
    Graft { fill: vec![(Further::Place(0), value)], ..Graft::default() }
}

#[test]
fn a_second_input_is_filled_whatever_its_type_and_shape() {
    for (kind, shape) in [
        (ElemType::F32, &[][..]),
        (ElemType::F32, &[1]),
        (ElemType::F32, &[-1]),
        (ElemType::I64, &[]),
        (ElemType::I64, &[1]),
        (ElemType::I64, &[-1]),
        (ElemType::F32, &[-1, 1]),
    ] {
        let mut host = host(&[2]);
        let y = host.graft(&scaled(kind, &[-1, 2], shape), &steps(3.0)).expect("grafted");
        assert_eq!(host.graph.fact(y).to_string(), "float[N×2]");
        let x = Tensor::floats(&[3, 2], vec![0.1, 0.2, 0.3, -0.4, 0.5, 0.0]).expect("6 values");
        let results = host.graph.eval(&[y], &HashMap::from([(host.x, x.clone())]), 3);
        let want = x.as_float().expect("floats").mapv(|v| 3.0 * v.tanh());
        assert_eq!(results.expect("runs")[0], want.into_owned().into());
    }
}

#[test]
fn engines_agree_on_a_graft_upon_a_folded_batch() {
    let mut host = host(&[4]);
    let mut b = Build::new(&mut host.graph);
    let twice = Dim { per_batch: 2, fixed: 0 };
    let rows = b.reshape(host.x, &[twice, Dim::from(2)]).expect("reshaped");
    let part = scaled(ElemType::I64, &[-1, 2], &[-1]);
    let y = part.graft(&mut b, rows, &steps(2.0)).expect("grafted");
    let outputs = [("y".to_owned(), y)];
    let x = ArrayD::from_shape_fn(IxDyn(&[3, 4]), |i| 0.1 * (i[0] as f32) - 0.2 * (i[1] as f32));
    let run = |backend: &Backend| {
        let session = backend.compile(&host.graph, &outputs, 1).expect("compiles");
        session.run(&[("x", &Value::F32(x.clone()))]).expect("runs")[0].to_f64()
    };
    let (reference, single) = (run(&Backend::REFERENCE), run(&Backend::RTEN));
    assert_eq!(reference.shape(), [6, 2]);
    assert!(reference.iter().zip(&single).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn samples_are_flattened_for_a_model_of_rows() {
    let rows = model(&[-1, 6], None, vec![node("Tanh", &["x"], "y")], vec![]);
    let mut host = host(&[1, 2, 3]);
    let y = host.graft(&rows, &Graft::default()).expect("grafted");
    assert_eq!(host.graph.fact(y).to_string(), "float[N×6]");
}

#[test]
fn a_batch_that_the_file_fixes_is_opened_if_the_graph_allows_it() {
    let mut host = host(&[2]);
    let y = host.graft(&scaled(ElemType::F32, &[4, 2], &[4]), &steps(1.0)).expect("opened");
    assert_eq!(host.graph.fact(y).to_string(), "float[N×2]");
    let nodes = vec![node("Reshape", &["x", "two"], "h"), node("Reshape", &["h", "four"], "y")];
    let two = builders::tensor_i64("two", &[2], &[2, 4]);
    let four = builders::tensor_i64("four", &[2], &[4, 2]);
    let stuck = model(&[4, 2], None, nodes, vec![two, four]);
    let message = host.graft(&stuck, &Graft::default()).expect_err("stuck").to_string();
    for part in ["part.onnx", "batches of 4 samples", "open batch axis"] {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn an_open_model_goes_onto_a_graph_of_a_fixed_batch_and_so_does_one_of_the_same_batch() {
    let nodes = || vec![node("Reshape", &["x", "two"], "h"), node("Reshape", &["h", "four"], "y")];
    let sizes = || {
        let two = builders::tensor_i64("two", &[2], &[2, 4]);
        vec![two, builders::tensor_i64("four", &[2], &[4, 2])]
    };
    let stuck = model(&[4, 2], None, nodes(), sizes());
    let open = scaled(ElemType::F32, &[-1, 2], &[-1]);
    for (part, options) in [(&stuck, Graft::default()), (&open, steps(1.0))] {
        let mut graph = Graph::new();
        let x = graph.input("x", Fact::float(vec![Dim::from(4), Dim::from(2)]));
        let mut host = Host { graph, x };
        let y = host.graft(part, &options).expect("grafted");
        assert_eq!(host.graph.fact(y).to_string(), "float[4×2]");
    }
}

#[test]
fn misfits_are_one_sentence_with_what_was_wanted_and_what_was_found() {
    let says = |model: &Model, sample: &[usize], options: &Graft, parts: &[&str]| {
        let message = host(sample).graft(model, options).expect_err("refused").to_string();
        for part in parts.iter().chain(&["part.onnx"]) {
            assert!(message.contains(part), "{part:?} is not in: {message}");
        }
        assert!(!message.contains('\n'), "several lines: {message}");
    };
    let tanh = || model(&[-1, 3], None, vec![node("Tanh", &["x"], "y")], vec![]);
    says(&tanh(), &[2], &Graft::default(), &["\"x\"", "wants samples of shape [3], got [2]"]);
    says(&tanh(), &[3], &steps(1.0), &["wants input number 1 besides \"x\"", "none"]);
    let integer = scaled(ElemType::I64, &[-1, 2], &[-1]);
    says(&integer, &[2], &Graft::default(), &["also wants the input \"t\""]);
    says(&integer, &[2], &steps(0.5), &["\"t\" takes a whole number, got 0.5"]);
    let named = Graft { fill: vec![(Further::Named("time".into()), 1.0)], ..Graft::default() };
    says(&integer, &[2], &named, &["an input \"time\"", "has t"]);
    let other = Graft { output: Some("z".into()), ..Graft::default() };
    says(&tanh(), &[3], &other, &["no output \"z\""]);
    let other = Graft { input: Some("u".into()), ..Graft::default() };
    says(&tanh(), &[3], &other, &["no input \"u\"", "has x"]);
    let mut softmax = node("Softmax", &["x"], "y");
    softmax.attribute = vec![builders::attr_int("axis", 0)];
    let mixing = model(&[-1, 3], None, vec![softmax], vec![]);
    says(&mixing, &[3], &Graft::default(), &["mixes the samples"]);
}
