//! The Laplacian of a network whose first layer is narrower than its input.

use ndarray::{Array2, Axis};
use taste_engine::{Backend, Method, Model, Request, Target, Value, Wants};
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};

const INPUTS: usize = 784;
const WIDTH: usize = 512;

fn noise(rows: usize, columns: usize, mut seed: u64) -> Array2<f32> {
    Array2::from_shape_simple_fn((rows, columns), || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    })
}

/// y = v·tanh(x·W).
fn model(w: &Array2<f32>, v: &Array2<f32>) -> Model {
    let node = |op: &str, args: &[&str], out: &str| builders::node(op, args, &[out], out);
    let size = |width| [DimSpec::Symbol("N".into()), DimSpec::Fixed(width)];
    let tensor = |name: &str, a: &Array2<f32>| {
        builders::tensor_f32(name, a.shape(), a.as_slice().expect("contiguous"))
    };
    let graph = GraphProto {
        name: "wide".into(),
        node: vec![
            node("MatMul", &["x", "w"], "a"),
            node("Tanh", &["a"], "h"),
            node("MatMul", &["h", "v"], "y"),
        ],
        initializer: vec![tensor("w", w), tensor("v", v)],
        input: vec![builders::value_info("x", ElemType::F32, &size(INPUTS as i64))],
        output: vec![builders::value_info("y", ElemType::F32, &size(1))],
        ..GraphProto::default()
    };
    Model::from_onnx("wide", taste_onnx::Model::new(builders::model(graph, 17)))
}

/// Directions are taken where the first layer ends, and are as many as it has outputs.
#[test]
fn directions_are_no_more_than_the_first_layer_has_outputs() {
    let (w, v, x) = (noise(INPUTS, WIDTH, 1) / 28.0, noise(WIDTH, 1, 2), noise(3, INPUTS, 3));
    let model = model(&w, &v);
    let wants = Wants { laplacian: true, ..Wants::default() };
    let target = Some(Target::Output(0));
    let asked = Request { target, method: Method::Exact, wants, ..Request::default() };
    let file = model.derive_file(&asked).expect("a file");
    let mut sizes = file.proto.graph.expect("a graph").initializer.into_iter().map(|t| t.dims);
    assert!(sizes.all(|d| d != [INPUTS as i64, 1, INPUTS as i64]), "the whole basis");
    let derived = model.derive(&asked).expect("derived");
    let mut compiled = derived.compile(&Backend::Rten, 1).expect("compiled");
    let results = compiled.run(&[("x", &Value::F32(x.clone().into_dyn()))], 0).expect("runs");
    let squares = w.mapv(|v| v * v).sum_axis(Axis(0));
    let bend = x.dot(&w).mapv(|a| -2.0 * a.tanh() * (1.0 - a.tanh().powi(2)));
    let want = (bend * &squares).dot(&v);
    let got = results.laplacian.expect("a Laplacian").to_f32();
    for (got, want) in got.iter().zip(&want) {
        assert!((got - want).abs() < 1e-4 * want.abs().max(1.0), "{got} beside {want}");
    }
}
