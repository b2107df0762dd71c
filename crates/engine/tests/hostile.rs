//! Bad models and bad arrays: one clear error each.

use std::{fs, path::Path};

use ndarray::{ArrayD, IxDyn};
use taste_engine::{Backend, Compiled, Error, ErrorKind, Model, Request, Value, Wants};
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto},
};
use taste_ops::ImportError;

fn asked() -> Request {
    let wants = Wants { gradient: true, laplacian: true, ..Wants::default() };
    Request { wants, ..Request::default() }
}

fn node(op: &str, args: &[&str], out: &str) -> NodeProto {
    builders::node(op, args, &[out], out)
}

fn dims(sizes: &[i64]) -> Vec<DimSpec> {
    let named = |&d: &i64| if d < 0 { DimSpec::Symbol("N".into()) } else { DimSpec::Fixed(d) };
    sizes.iter().map(named).collect()
}

/// A graph from an input x to an output y; −1 is an open size.
fn graph(shape: &[i64], nodes: Vec<NodeProto>, tensors: Vec<TensorProto>) -> ModelProto {
    let graph = GraphProto {
        name: "hostile".into(),
        node: nodes,
        initializer: tensors,
        input: vec![builders::value_info("x", ElemType::F32, &dims(shape))],
        output: vec![builders::value_info("y", ElemType::F32, &dims(&[-1, 3]))],
        ..GraphProto::default()
    };
    builders::model(graph, 20)
}

fn bytes(proto: ModelProto) -> Vec<u8> {
    taste_onnx::Model::new(proto).to_bytes().expect("encodes")
}

/// What is said about bytes that must be refused somewhere on the way to a derivative.
fn refused_bytes(bytes: &[u8]) -> String {
    let outcome = Model::from_bytes("model.onnx", bytes).and_then(|m| m.derive(&asked()));
    let message = outcome.map(|_| ()).expect_err("refused").to_string();
    assert!(message.len() < 2000, "too long: {message}");
    message
}

fn refused(proto: ModelProto) -> String {
    refused_bytes(&bytes(proto))
}

/// An error on one line that names all of these.
#[track_caller]
fn assert_names(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    assert!(!message.contains('\n'), "several lines: {message}");
}

/// A table of nodes that are not supported, with these in it.
#[track_caller]
fn assert_lists(message: &str, parts: &[&str]) {
    assert!(message.contains("not supported:"), "no table: {message}");
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn a_truncated_file() {
    let whole = bytes(graph(&[-1, 3], vec![node("Tanh", &["x"], "y")], vec![]));
    let message = refused_bytes(&whole[..whole.len() - 5]);
    assert_names(&message, &["is not an ONNX model"]);
    for end in 0..whole.len() {
        let _ = Model::from_bytes("cut", &whole[..end]).and_then(|m| m.derive(&asked()));
    }
}

#[test]
fn a_corrupted_file() {
    assert_names(&refused_bytes(&[0xff; 64]), &["is not an ONNX model"]);
    let whole = bytes(graph(&[-1, 3], vec![node("Tanh", &["x"], "y")], vec![]));
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            let _ = Model::from_bytes("changed", &changed).and_then(|m| m.derive(&asked()));
        }
    }
}

#[test]
fn an_empty_graph() {
    let empty = builders::model(GraphProto::default(), 20);
    assert_names(&refused(empty), &["no outputs"]);
    let message = refused(graph(&[-1, 3], vec![], vec![]));
    assert_names(&message, &["nothing computes", "\"y\""]);
}

#[test]
fn a_cyclic_graph() {
    let nodes =
        vec![node("Add", &["x", "b"], "a"), node("Tanh", &["a"], "b"), node("Exp", &["b"], "y")];
    assert_names(&refused(graph(&[-1, 3], nodes, vec![])), &["cyclic", "depends on itself"]);
}

#[test]
fn a_node_that_uses_its_own_result() {
    let message = refused(graph(&[-1, 3], vec![node("Add", &["x", "y"], "y")], vec![]));
    assert_names(&message, &["cyclic", "\"y\""]);
}

#[test]
fn a_value_computed_twice() {
    let twice = vec![node("Tanh", &["x"], "y"), node("Exp", &["x"], "y")];
    let message = refused(graph(&[-1, 3], twice, vec![]));
    assert_names(&message, &["\"y\" is computed twice"]);
    let over = vec![node("Tanh", &["w"], "x"), node("Exp", &["x"], "y")];
    let w = builders::tensor_f32("w", &[3], &[0.0; 3]);
    let message = refused(graph(&[-1, 3], over, vec![w.clone()]));
    assert_names(&message, &["\"x\" is computed twice"]);
    let message = refused(graph(&[-1, 3], vec![node("Add", &["x", "w"], "y")], vec![w.clone(), w]));
    assert_names(&message, &["\"w\" is computed twice"]);
    let mut inputs = graph(&[-1, 3], vec![node("Tanh", &["x"], "y")], vec![]);
    let list = &mut inputs.graph.as_mut().expect("a graph").input;
    list.push(list[0].clone());
    assert_names(&refused(inputs), &["\"x\" is computed twice"]);
}

#[test]
fn a_value_that_nothing_computes() {
    let message = refused(graph(&[-1, 3], vec![node("Add", &["x", "ghost"], "y")], vec![]));
    assert_names(&message, &["nothing computes value \"ghost\""]);
}

#[test]
fn an_input_without_elements() {
    for shape in [[-1, 0], [0, 3]] {
        let message = refused(graph(&shape, vec![node("Tanh", &["x"], "y")], vec![]));
        assert_names(&message, &["input \"x\"", "is empty", "size 0"]);
    }
}

#[test]
fn an_input_without_an_axis_of_samples() {
    let message = refused(graph(&[], vec![node("Tanh", &["x"], "y")], vec![]));
    assert_names(&message, &["\"x\" is a scalar", "no axis of samples"]);
}

#[test]
fn a_model_without_inputs() {
    let mut proto = graph(&[-1, 3], vec![node("Tanh", &["w"], "y")], vec![]);
    let inner = proto.graph.as_mut().expect("a graph");
    inner.input.clear();
    inner.initializer.push(builders::tensor_f32("w", &[1, 3], &[0.0; 3]));
    assert_names(&refused(proto), &["no input that holds floats"]);
}

#[test]
fn an_input_of_absurd_shape() {
    for shape in [[-1, 1 << 40], [-1, i64::MAX]] {
        let message = refused(graph(&shape, vec![node("Tanh", &["x"], "y")], vec![]));
        assert_names(&message, &["input \"x\"", "absurd"]);
    }
    let many = vec![1; 3000];
    assert_names(&refused(graph(&many, vec![node("Tanh", &["x"], "y")], vec![])), &["3000"]);
}

#[test]
fn a_value_of_absurd_shape() {
    for size in [1 << 40, i64::MAX, 1 << 62] {
        let shape = builders::tensor_i64("shape", &[3], &[size, 1, 3]);
        let message =
            refused(graph(&[-1, 3], vec![node("Expand", &["x", "shape"], "y")], vec![shape]));
        assert_lists(&message, &["Expand", "absurd"]);
        let pads = builders::tensor_i64("pads", &[4], &[0, size, 0, size]);
        let message = refused(graph(&[-1, 3], vec![node("Pad", &["x", "pads"], "y")], vec![pads]));
        assert_lists(&message, &["Pad"]);
    }
}

#[test]
fn constants_from_shapes_do_not_fill_the_memory() {
    let mut nodes = vec![node("ConstantOfShape", &["shape"], "m")];
    let mut sum = "x".to_owned();
    for i in 0..64 {
        let mut eye = node("EyeLike", &["m"], &format!("eye{i}"));
        eye.attribute.push(builders::attr_int("k", i));
        nodes.push(eye);
        nodes.push(node("MatMul", &[&sum, &format!("eye{i}")], &format!("s{i}")));
        sum = format!("s{i}");
    }
    nodes.push(node("Tanh", &[&sum], "y"));
    let shape = builders::tensor_i64("shape", &[2], &[2048, 2048]);
    let message = refused(graph(&[-1, 2048], nodes, vec![shape]));
    assert_names(&message, &["constants computed from shapes"]);
}

#[test]
fn unsupported_operators_are_all_listed() {
    let nodes = vec![
        node("Frobnicate", &["x"], "a"),
        node("Tanh", &["a"], "b"),
        node("Grumble", &["b"], "c"),
        node("Add", &["c", "x"], "y"),
    ];
    let message = refused(graph(&[-1, 3], nodes, vec![]));
    assert_lists(&message, &["2 nodes are", "Frobnicate", "Grumble", "no rule for this operator"]);
    assert!(!message.contains("Tanh"), "{message}");
}

#[test]
fn an_unsupported_attribute() {
    let mut strange = node("Tanh", &["x"], "y");
    strange.attribute.push(builders::attr_int("twist", 3));
    assert_lists(&refused(graph(&[-1, 3], vec![strange], vec![])), &["Tanh", "attribute", "twist"]);
}

#[test]
fn operator_sets_that_are_too_old_or_too_new() {
    for version in [6, 99, i64::MAX, i64::MIN] {
        let mut proto = graph(&[-1, 3], vec![node("Tanh", &["x"], "y")], vec![]);
        proto.opset_import[0].version = version;
        assert_names(&refused(proto), &[&version.to_string(), "outside the supported range"]);
    }
}

#[test]
fn an_output_that_does_not_exist() {
    let proto = graph(&[-1, 3], vec![node("Tanh", &["x"], "y")], vec![]);
    let model = Model::from_bytes("model.onnx", &bytes(proto)).expect("reads");
    let request = Request { output: Some("z".into()), ..asked() };
    let message = model.derive(&request).map(|_| ()).expect_err("refused").to_string();
    assert_names(&message, &["no output \"z\"", "the model has y"]);
}

#[test]
fn an_output_of_integers_alone() {
    let mut argmax = node("ArgMax", &["x"], "y");
    argmax.attribute.push(builders::attr_int("axis", 1));
    let mut proto = graph(&[-1, 3], vec![argmax], vec![]);
    let inner = proto.graph.as_mut().expect("a graph");
    inner.output = vec![builders::value_info("y", ElemType::I64, &dims(&[-1, 1]))];
    assert_names(&refused(proto), &["no output holds floats"]);
}

#[test]
fn a_model_that_mixes_samples() {
    let axis = || vec![builders::attr_int("axis", 0)];
    let mut mean = node("ReduceMean", &["x", "first"], "m");
    mean.attribute.push(builders::attr_int("keepdims", 1));
    let first = builders::tensor_i64("first", &[1], &[0]);
    let centred = vec![mean, node("Sub", &["x", "m"], "y")];
    let message = refused(graph(&[-1, 3], centred, vec![first.clone()]));
    assert_names(&message, &["\"m\"", "mixes the samples of a batch", "\"y\""]);

    let softmax = NodeProto { attribute: axis(), ..node("Softmax", &["x"], "y") };
    assert_names(&refused(graph(&[-1, 3], vec![softmax], vec![])), &["Softmax \"y\" mixes"]);

    let running = node("CumSum", &["x", "first"], "y");
    assert_names(&refused(graph(&[-1, 3], vec![running], vec![first])), &["CumSum \"y\" mixes"]);

    let flat = vec![node("Transpose", &["x"], "t"), node("MatMul", &["x", "t"], "y")];
    assert_names(&refused(graph(&[-1, 3], flat, vec![])), &["output \"y\""]);
}

fn function(name: &str, nodes: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: name.into(),
        domain: "own".into(),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: nodes,
        ..FunctionProto::default()
    }
}

fn call(name: &str, arg: &str, out: &str) -> NodeProto {
    NodeProto { domain: "own".into(), ..node(name, &[arg], out) }
}

#[test]
fn a_function_that_calls_itself() {
    let mut proto = graph(&[-1, 3], vec![call("F", "x", "y")], vec![]);
    proto.opset_import.push(OperatorSetIdProto { domain: "own".into(), version: 1 });
    proto.functions = vec![function("F", vec![call("F", "a", "b")])];
    assert_names(&refused(proto), &["functions nest deeper than 16"]);
}

#[test]
fn functions_that_multiply_without_end() {
    // Ten calls of the function below, fifteen times over.
    let mut proto = graph(&[-1, 3], vec![call("F14", "x", "y")], vec![]);
    proto.functions = vec![function("F0", vec![node("Identity", &["a"], "b")])];
    for level in 1..15 {
        let below = format!("F{}", level - 1);
        let mut nodes: Vec<NodeProto> =
            (0..10).map(|i| call(&below, "a", &format!("c{i}"))).collect();
        let all: Vec<String> = (0..10).map(|i| format!("c{i}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        nodes.push(node("Sum", &all, "b"));
        proto.functions.push(function(&format!("F{level}"), nodes));
    }
    assert_names(&refused(proto), &["more than 1000000 nodes"]);
}

#[test]
fn a_tensor_that_declares_more_than_it_holds() {
    let mut w = builders::tensor_f32("w", &[3], &[0.0; 3]);
    w.dims = vec![1 << 31, 1 << 31];
    let message = refused(graph(&[-1, 3], vec![node("Add", &["x", "w"], "y")], vec![w]));
    assert_names(&message, &["\"w\"", "larger than the limit"]);
    let mut w = builders::tensor_f32("w", &[3], &[0.0; 3]);
    w.dims = vec![1 << 20];
    let message = refused(graph(&[-1, 3], vec![node("Add", &["x", "w"], "y")], vec![w]));
    assert_names(&message, &["\"w\"", "needs", "but holds 12"]);
}

#[test]
fn external_data_outside_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).expect("a folder");
    fs::write(folder.path().join("secret"), [0; 12]).expect("a file");
    let absolute = folder.path().join("secret").display().to_string();
    for location in ["../secret", &absolute, "a/../../secret"] {
        let w = TensorProto {
            name: "w".into(),
            dims: vec![3],
            data_type: ElemType::F32.code(),
            data_location: 1,
            external_data: vec![taste_onnx::proto::StringStringEntryProto {
                key: "location".into(),
                value: location.into(),
            }],
            ..TensorProto::default()
        };
        let proto = graph(&[-1, 3], vec![node("Add", &["x", "w"], "y")], vec![w]);
        let path = inside.join("model.onnx");
        fs::write(&path, bytes(proto)).expect("a file");
        let outcome = Model::open(&path).and_then(|m| m.derive(&asked()));
        let message = outcome.map(|_| ()).expect_err("refused").to_string();
        assert_names(&message, &["\"w\" keeps its data in", "secret"]);
    }
}

#[test]
fn an_input_of_open_shape() {
    let tanh = || vec![node("Tanh", &["x"], "y")];
    let open = graph(&[-1, 3, -1], tanh(), vec![]);
    let model = Model::from_bytes("model.onnx", &bytes(open)).expect("reads");
    let error = model.derive(&asked()).map(|_| ()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::OpenShape);
    let Error::Import { cause: ImportError::OpenShape { input, axis }, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!((input.as_str(), *axis), ("x", Some(2)));
    assert_names(&error.to_string(), &["\"x\"", "axis 2", "open"]);
    let sample_shapes = [("x".to_owned(), vec![3, 4])].into();
    assert!(model.derive(&Request { sample_shapes, ..asked() }).is_ok());
    let unknown = graph(&[-1, 3], vec![node("Frobnicate", &["x"], "y")], vec![]);
    let model = Model::from_bytes("model.onnx", &bytes(unknown)).expect("reads");
    let error = model.derive(&asked()).map(|_| ()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Model);
}

#[test]
fn an_input_of_sequences_beside_another() {
    let pooled = || vec![node("MatMul", &["mask", "x"], "p"), node("Squeeze", &["p"], "y")];
    for axes in [[-1, -1, 4], [-1, 7, 4]] {
        let mut proto = graph(&axes, pooled(), vec![]);
        let mask = builders::value_info("mask", ElemType::F32, &dims(&[-1, 1, axes[1]]));
        proto.graph.as_mut().expect("a graph").input.push(mask);
        let model = Model::from_bytes("model.onnx", &bytes(proto)).expect("reads");
        let asked = Request { sample_shapes: model.sample_shapes(&[35]), ..Request::default() };
        let message = model.draft(&asked).map(|_| ()).expect_err("refused").to_string();
        assert_names(&message, &["model.onnx", "\"x\"", "4", "one row a sample", "export"]);
    }
}

#[test]
fn an_input_with_the_name_of_a_written_node() {
    let mut proto = graph(&[-1, 3], vec![node("Tanh", &["Mul_2"], "y")], vec![]);
    proto.graph.as_mut().expect("a graph").input[0].name = "Mul_2".into();
    let model = Model::from_bytes("model.onnx", &bytes(proto)).expect("reads");
    let compiled = compile(&model, &Backend::RTEN);
    let x = floats(&[2, 3], 0.5);
    assert!(compiled.run(&[("Mul_2", &x)], 0).is_ok());
}

#[test]
fn names_without_end() {
    let long = "n".repeat(100_000);
    let mut strange = node("Frobnicate", &["x"], "y");
    strange.name.clone_from(&long);
    let message = refused(graph(&[-1, 3], vec![strange], vec![]));
    assert_lists(&message, &["Frobnicate", "nnn…"]);
    let message = refused(graph(&[-1, 3], vec![node("Tanh", &[&long], "y")], vec![]));
    assert_names(&message, &["nothing computes value"]);
}

#[test]
fn a_long_chain() {
    let mut nodes = vec![node("Relu", &["x"], "v0")];
    for i in 1..20_000 {
        let op = ["Relu", "Neg", "Abs"][i % 3];
        nodes.push(node(op, &[&format!("v{}", i - 1)], &format!("v{i}")));
    }
    nodes.push(node("Identity", &["v19999"], "y"));
    let model = Model::from_bytes("chain", &bytes(graph(&[-1, 3], nodes, vec![]))).expect("reads");
    let wants = Wants { gradient: true, ..Wants::default() };
    assert!(model.derive(&Request { wants, ..Request::default() }).is_ok());
}

fn compile(model: &Model, backend: &Backend) -> Compiled {
    let derived = model.derive(&asked()).unwrap_or_else(|e| panic!("{e}"));
    derived.compile(backend, 1).unwrap_or_else(|e| panic!("{e}"))
}

fn floats(shape: &[usize], value: f32) -> Value {
    Value::F32(ArrayD::from_elem(IxDyn(shape), value))
}

#[test]
fn arrays_that_do_not_fit() {
    let proto = graph(&[-1, 3], vec![node("Tanh", &["x"], "y")], vec![]);
    let model = Model::from_bytes("model.onnx", &bytes(proto)).expect("reads");
    let mut spoiled = ArrayD::from_elem(IxDyn(&[4, 3]), 0.5f32);
    spoiled[[2, 1]] = f32::NAN;
    let mut infinite = ArrayD::from_elem(IxDyn(&[4, 3]), 0.5f64);
    infinite[[1, 0]] = f64::INFINITY;
    let good = floats(&[2, 3], 0.5);
    for backend in [Backend::REFERENCE, Backend::RTEN] {
        let compiled = compile(&model, &backend);
        let refused = |inputs: &[(&str, &Value)]| {
            compiled.run(inputs, 0).map(|_| ()).expect_err("refused").to_string()
        };
        for shape in [&[2, 4][..], &[3], &[2, 3, 1], &[]] {
            let message = refused(&[("x", &floats(shape, 0.5))]);
            assert_names(
                &message,
                &["input \"x\"", "wants samples of shape [3]", &format!("{shape:?}")],
            );
        }
        let integers = Value::I64(ArrayD::from_elem(IxDyn(&[2, 3]), 1));
        assert_names(&refused(&[("x", &integers)]), &["input \"x\"", "wants floats, got integers"]);
        let message = refused(&[("x", &Value::F32(spoiled.clone()))]);
        assert_names(&message, &["input \"x\"", "sample 2", "NaN or infinite"]);
        let message = refused(&[("x", &Value::F64(infinite.clone()))]);
        assert_names(&message, &["input \"x\"", "sample 1", "NaN or infinite"]);
        assert_names(&refused(&[("x", &floats(&[0, 3], 0.0))]), &["there are no samples"]);
        assert_names(&refused(&[]), &["input \"x\"", "nothing was given"]);
        let message = refused(&[("x", &good), ("z", &good)]);
        assert_names(&message, &["input \"z\"", "no such input"]);
        assert!(compiled.run(&[("x", &good)], 0).is_ok());
    }
}

#[test]
fn inputs_with_different_numbers_of_samples() {
    let mut proto = graph(&[-1, 3], vec![node("Mul", &["x", "z"], "y")], vec![]);
    let list = &mut proto.graph.as_mut().expect("a graph").input;
    list.push(builders::value_info("z", ElemType::F32, &dims(&[-1, 3])));
    let model = Model::from_bytes("model.onnx", &bytes(proto)).expect("reads");
    let compiled = compile(&model, &Backend::REFERENCE);
    let (x, z) = (floats(&[2, 3], 0.5), floats(&[4, 3], 0.5));
    let message = compiled.run(&[("x", &x), ("z", &z)], 0).map(|_| ()).expect_err("refused");
    assert_names(&message.to_string(), &["input \"z\"", "has 4 samples", "another input 2"]);
}

/// Inputs that once broke the importer, named by what they were.
#[test]
fn kept_inputs_are_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ops/tests/regressions");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
        let Ok(model) = Model::from_bytes("kept", &bytes) else { continue };
        for request in
            [asked(), Request { laplacian_method: taste_engine::LaplacianMethod::EXACT, ..asked() }]
        {
            let _ = model.derive(&request);
            let _ = model.derive_file(&request);
        }
        count += 1;
    }
    assert!(count > 0);
}
