//! One session for all callers: borrowed feeds, fixed batches, several threads at once, files that are not trusted.

use std::{fs, thread};

use ndarray::{Array2, ArrayD, Axis, IxDyn, s};
use taste_engine::{Backend, Batch, Model, Session, Value, View};
use taste_graph::{Build, DType, Dim, Fact, Graph};
use taste_onnx::{
    DimSpec, ElemType, Limits, builders,
    proto::{GraphProto, NodeProto, TensorProto},
};

const BACKENDS: [Backend; 2] = [Backend::RTEN, Backend::REFERENCE];

fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    builders::node(op, inputs, &[output], output)
}

fn noise(shape: &[usize], mut seed: u64) -> ArrayD<f32> {
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    })
}

fn tensor(name: &str, shape: &[usize], seed: u64) -> TensorProto {
    let values = noise(shape, seed);
    builders::tensor_f32(name, shape, values.as_slice().expect("contiguous"))
}

fn dims(shape: &[i64]) -> Vec<DimSpec> {
    let size = |&d: &i64| if d < 0 { DimSpec::Symbol("N".into()) } else { DimSpec::Fixed(d) };
    shape.iter().map(size).collect()
}

/// From x to y, both float; −1 is an open size.
fn file(
    nodes: Vec<NodeProto>,
    weights: Vec<TensorProto>,
    from: &[i64],
    to: &[i64],
) -> taste_onnx::Model {
    let info = |name, shape: &[i64]| builders::value_info(name, ElemType::F32, &dims(shape));
    let graph = GraphProto {
        name: "network".into(),
        node: nodes,
        initializer: weights,
        input: vec![info("x", from)],
        output: vec![info("y", to)],
        ..GraphProto::default()
    };
    taste_onnx::Model::new(builders::model(graph, 17))
}

/// Images of 3 × 8 × 8 through a convolution to four numbers; `rows` is −1 for any number of them.
fn network(rows: i64) -> Model {
    let mut conv = node("Conv", &["x", "w", "b"], "a");
    conv.attribute.push(builders::attr_ints("pads", &[1, 1, 1, 1]));
    let nodes = vec![
        conv,
        node("Relu", &["a"], "c"),
        node("Flatten", &["c"], "d"),
        node("MatMul", &["d", "v"], "e"),
        node("Tanh", &["e"], "y"),
    ];
    let weights =
        vec![tensor("w", &[16, 3, 3, 3], 1), tensor("b", &[16], 2), tensor("v", &[16 * 64, 4], 3)];
    Model::from_onnx("network", file(nodes, weights, &[rows, 3, 8, 8], &[rows, 4]))
}

fn images(rows: usize) -> ArrayD<f32> {
    noise(&[rows, 3, 8, 8], 4)
}

fn is_send_and_sync<T: Send + Sync>(_: &T) {}

#[test]
fn threads_that_score_at_once_get_the_bits_that_one_after_the_other_gets() {
    let model = network(-1);
    for backend in BACKENDS {
        for threads in [1, 2] {
            let session = backend.load(&model, &["y"], threads).expect("a session");
            is_send_and_sync(&session);
            let batches: Vec<ArrayD<f32>> = (1..=8).map(|k| images(5 * k)).collect();
            let run = |x: &ArrayD<f32>| session.run(&[("x", View::from(x))]).expect("runs");
            let wanted: Vec<Vec<Value>> = batches.iter().map(run).collect();
            for _ in 0..3 {
                let found: Vec<Vec<Value>> = thread::scope(|scope| {
                    let running: Vec<_> = batches.iter().map(|x| scope.spawn(|| run(x))).collect();
                    running.into_iter().map(|r| r.join().expect("no panic")).collect()
                });
                assert_eq!(found, wanted, "{backend}, {threads} threads");
            }
        }
    }
}

#[test]
fn a_fixed_batch_takes_any_number_of_samples() {
    for backend in BACKENDS {
        let any = backend.load(&network(-1), &["y"], 1).expect("a session");
        let four = backend.load(&network(4), &["y"], 1).expect("a session");
        assert_eq!((any.batch(), four.batch()), (Batch::Open, Batch::Fixed(4)));
        for rows in [1, 4, 6, 9] {
            let x = images(rows);
            let [found, wanted] = [&four, &any]
                .map(|session| session.run(&[("x", &x)]).expect("runs").swap_remove(0).to_f64());
            assert_eq!(found.shape(), [rows, 4]);
            let off = (&found - &wanted).iter().fold(0.0f64, |m, d| m.max(d.abs()));
            assert!(off < 1e-6, "{backend}, {rows} samples: {off:e}");
        }
        let none = four.run(&[("x", &images(0))]).expect_err("refused").to_string();
        assert_eq!(none, "there are no samples");
    }
}

/// The last batch is filled up with copies of its last sample, which counts where samples depend on each other.
#[test]
fn a_fixed_batch_is_filled_up_with_its_last_sample() {
    let fact = Fact { dtype: DType::Float, shape: vec![Dim::from(4), Dim::from(1)] };
    let mut graph = Graph::new();
    let x = graph.input("x", fact);
    let mut b = Build::new(&mut graph);
    let sum = b.sum(x, &[0]).expect("a sum");
    let y = b.expand(sum, &[Dim::from(4), Dim::from(1)]).expect("for every sample");
    let session = Backend::REFERENCE.compile(&graph, &[("y".to_owned(), y)], 1).expect("compiles");
    let session = session.with_batch(Batch::Fixed(4));
    let x = Array2::from_shape_vec((6, 1), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six");
    let y = session.run(&[("x", &x)]).expect("runs").swap_remove(0).to_f64();
    assert_eq!(y.into_raw_vec_and_offset().0, [10.0, 10.0, 10.0, 10.0, 23.0, 23.0]);
}

#[test]
fn feeds_are_views_of_any_layout_and_precision() {
    for backend in BACKENDS {
        let session = backend.load(&network(-1), &["y"], 1).expect("a session");
        let x = images(6);
        let run = |view: View<'_>| session.run(&[("x", view)]).expect("runs").swap_remove(0);
        let wanted = run((&x).into());
        assert_eq!(run(Value::from(x.clone()).to_f64().view().into()), wanted);
        let moved = x.view().permuted_axes(IxDyn(&[3, 1, 2, 0])).as_standard_layout().into_owned();
        assert_eq!(run(moved.view().permuted_axes(IxDyn(&[3, 1, 2, 0])).into()), wanted);
        let every_second = wanted.to_f64().select(Axis(0), &[0, 2, 4]);
        assert_eq!(run(x.slice(s![..;2, .., .., ..]).into()).to_f64(), every_second);
    }
}

fn refusal(session: &Session, feeds: &[(&str, Value)]) -> String {
    let feeds: Vec<(&str, &Value)> = feeds.iter().map(|(n, v)| (*n, v)).collect();
    session.run(&feeds).expect_err("refused").to_string()
}

#[test]
fn feeds_that_do_not_fit_are_named() {
    for backend in BACKENDS {
        for rows in [-1, 4] {
            let session = backend.load(&network(rows), &["y"], 1).expect("a session");
            let message = |shape: &[usize]| refusal(&session, &[("x", noise(shape, 1).into())]);
            let wants = "input \"x\" wants samples of shape [3, 8, 8], got an array of shape";
            assert_eq!(message(&[2, 3, 8, 9]), format!("{wants} [2, 3, 8, 9]"));
            assert_eq!(message(&[3, 8, 8]), format!("{wants} [3, 8, 8]"));
            assert_eq!(message(&[]), format!("{wants} []"));
            assert_eq!(refusal(&session, &[]), "input \"x\": nothing was given for it");
            let twice = refusal(&session, &[("x", images(2).into()), ("x", images(2).into())]);
            assert_eq!(twice, "input \"x\": is given twice");
            let other = [("x", images(2).into()), ("z", images(2).into())];
            let other = refusal(&session, &other);
            assert_eq!(other, "input \"z\": the model has no such input, only x");
            let integers = Value::I64(ArrayD::zeros(IxDyn(&[2, 3, 8, 8])));
            let message = refusal(&session, &[("x", integers)]);
            assert_eq!(message, "input \"x\": wants floats, got integers");
        }
    }
}

/// What is said about a file that must not reach an engine.
fn refused(file: taste_onnx::Model) -> Vec<String> {
    let model = Model::from_onnx("bad.onnx", file);
    let load = |backend: &Backend| backend.load(&model, &["y"], 1).expect_err("refused");
    BACKENDS.iter().map(|backend| load(backend).to_string()).collect()
}

#[test]
fn a_file_with_an_operator_outside_the_table_is_refused() {
    let nodes = vec![node("Tanh", &["x"], "a"), node("Unique", &["a"], "y")];
    for message in refused(file(nodes, vec![], &[-1, 3], &[-1, 3])) {
        assert!(message.starts_with("bad.onnx: 1 node is not supported:"), "{message}");
        assert!(message.contains("Unique") && message.contains("no rule"), "{message}");
    }
}

#[test]
fn a_file_with_a_huge_constant_is_refused() {
    let mut huge = builders::tensor_f32("w", &[1], &[1.0]);
    huge.dims = vec![1 << 20, 1 << 20];
    let stored = file(vec![node("MatMul", &["x", "w"], "y")], vec![huge], &[-1, 3], &[-1, 3]);
    let shape = builders::tensor_i64("shape", &[3], &[1 << 40, 1, 3]);
    let made = file(vec![node("Expand", &["x", "shape"], "y")], vec![shape], &[-1, 3], &[-1, 3]);
    for (file, says) in [(stored, "larger than the limit"), (made, "absurd")] {
        for message in refused(file) {
            assert!(message.starts_with("bad.onnx: ") && message.contains(says), "{message}");
        }
    }
}

#[test]
fn a_cyclic_file_is_refused() {
    let nodes = vec![node("Add", &["x", "y"], "a"), node("Tanh", &["a"], "y")];
    for message in refused(file(nodes, vec![], &[-1, 3], &[-1, 3])) {
        assert!(message.contains("the graph is cyclic"), "{message}");
    }
}

#[test]
fn a_file_with_windows_over_three_axes_is_refused_in_our_words() {
    let nodes = vec![node("Conv", &["x", "w"], "y")];
    let weights = vec![tensor("w", &[2, 1, 2, 2, 2], 1)];
    let model = file(nodes, weights, &[-1, 1, 3, 3, 3], &[-1, 2, 2, 2, 2]);
    let model = Model::from_onnx("video.onnx", model);
    let message = Backend::RTEN.load(&model, &["y"], 1).expect_err("refused").to_string();
    assert!(message.contains("runs over 3 axes, and this engine knows one or two"), "{message}");
    Backend::REFERENCE.load(&model, &["y"], 1).expect("the interpreter takes it");
}

/// As a file above 2 GiB, with a limit of a few kilobytes.
#[test]
fn a_file_that_is_too_large_for_one_message_is_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.onnx");
    let limits = Limits { max_message_bytes: 3000, ..Limits::default() };
    let whole = network(-1);
    whole.onnx().clone().with_limits(limits).save(&path).expect("is written");
    let data = fs::metadata(folder.path().join("large.onnx.data")).expect("a data file");
    assert!(data.len() > 3000);
    let file = taste_onnx::Model::open_with(&path, limits).expect("is read");
    // Weights that not even a piece of the graph may hold in its message.
    assert!(file.to_bytes().expect("without its data").len() < 3000);
    let large = Model::from_onnx("large.onnx", file.with_outputs(&["y"]));
    let x = images(5);
    for backend in BACKENDS {
        let [found, wanted] = [&large, &whole].map(|model| {
            let session = backend.load(model, &["y"], 2).expect("a session");
            session.run(&[("x", &x)]).expect("runs")
        });
        assert_eq!(found, wanted, "{backend}");
    }
}

#[test]
fn a_large_file_without_its_data_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.onnx");
    let limits = Limits { max_message_bytes: 3000, ..Limits::default() };
    network(-1).onnx().clone().with_limits(limits).save(&path).expect("is written");
    fs::remove_file(folder.path().join("large.onnx.data")).expect("is there");
    let model = Model::open(&path).expect("is read");
    for backend in BACKENDS {
        let message = backend.load(&model, &["y"], 1).expect_err("refused").to_string();
        assert!(message.contains("large.onnx.data"), "{message}");
    }
}

/// A model whose outputs are not by sample can't be filled up, and says so.
#[test]
fn an_output_without_a_row_for_every_sample_is_not_taken_apart() {
    let sum = vec![node("ReduceSum", &["x", "axes"], "y")];
    let axes = builders::tensor_i64("axes", &[1], &[0]);
    let model = Model::from_onnx("sum", file(sum, vec![axes], &[4, 3], &[1, 3]));
    let session = Backend::REFERENCE.load(&model, &["y"], 1).expect("a session");
    assert!(session.run(&[("x", &noise(&[4, 3], 1))]).is_ok());
    let message = refusal(&session, &[("x", noise(&[6, 3], 1).into())]);
    assert!(message.contains("has no row for every one of 4 samples"), "{message}");
}

#[test]
fn a_file_read_from_bytes_runs_as_it_did() {
    let model = network(-1);
    let bytes = model.onnx().to_bytes().expect("bytes");
    let again = Model::from_bytes("again", &bytes).expect("reads");
    let x = images(3);
    for backend in BACKENDS {
        let run = |model: &Model| backend.load(model, &["y"], 1).expect("loads").run(&[("x", &x)]);
        assert_eq!(run(&model).expect("runs"), run(&again).expect("runs"));
    }
}
