//! The Laplacian of a network whose first layer is narrower than its input.

use ndarray::{Array2, Axis};
use taste_engine::{Backend, LaplacianMethod, Model, Request, Target, Value, Wants};
use taste_onnx::{builders, proto::NodeProto};

use crate::common::{matrix, model, node, noise};

const INPUTS: usize = 784;
const WIDTH: usize = 512;

/// y = v·g(x·W), where g is made of nodes from `a` to `h`.
fn network(w: &Array2<f32>, v: &Array2<f32>, g: &[NodeProto]) -> Model {
    let nodes = [&[node("MatMul", &["x", "w"], "a")], g, &[node("MatMul", &["h", "v"], "y")]];
    let number = |name: &str, value: f32| builders::tensor_f32(name, &[], &[value]);
    let weights = vec![
        matrix("w", w),
        matrix("v", v),
        number("root", std::f32::consts::SQRT_2),
        number("one", 1.0),
        number("half", 0.5),
    ];
    model(nodes.concat(), weights, INPUTS, 1)
}

/// Directions are taken where the first layer ends: neither the basis of the inputs nor anything as long is in the file, and
/// Δy = Σⱼ vⱼ·‖Wⱼ‖²·g''(aⱼ).
fn directions_start_after_the_first_layer(g: &[NodeProto], bend: impl Fn(f64) -> f64) {
    let (w, v, x) = (noise(INPUTS, WIDTH, 1) / 28.0, noise(WIDTH, 1, 2), noise(3, INPUTS, 3));
    let model = network(&w, &v, g);
    let wants = Wants { laplacian: true, ..Wants::default() };
    let target = Some(Target::output(0));
    let asked =
        Request { target, laplacian_method: LaplacianMethod::EXACT, wants, ..Request::default() };
    let file = model.derive_file(&asked).expect("a file");
    let sizes: Vec<Vec<i64>> =
        file.proto.graph.expect("a graph").initializer.into_iter().map(|t| t.dims).collect();
    let weights = [INPUTS as i64, WIDTH as i64];
    for size in sizes.iter().filter(|d| **d != weights) {
        assert!(!size.contains(&(INPUTS as i64)), "{size:?} among {sizes:?}");
    }
    let squares = [1, WIDTH as i64];
    assert!(sizes.iter().any(|d| *d == squares), "squared lengths are folded: {sizes:?}");
    let derived = model.derive(&asked).expect("derived");
    let compiled = derived.compile(&Backend::RTEN, 1).expect("compiled");
    let results = compiled.run(&[("x", &Value::F32(x.clone().into_dyn()))], 0).expect("runs");
    let squares = w.mapv(|v| f64::from(v).powi(2)).sum_axis(Axis(0));
    let bent = x.dot(&w).mapv(|a| bend(f64::from(a)));
    let want = (bent * &squares).dot(&v.mapv(f64::from));
    let got = results.laplacian.expect("a Laplacian").to_f64();
    for (got, want) in got.iter().zip(&want) {
        assert!((got - want).abs() < 1e-4 * want.abs().max(1.0), "{got} beside {want}");
    }
}

#[test]
fn behind_a_hyperbolic_tangent() {
    directions_start_after_the_first_layer(&[node("Tanh", &["a"], "h")], |a| {
        -2.0 * a.tanh() * (1.0 - a.tanh().powi(2))
    });
}

/// As exporters write GELU: the first layer's result enters twice.
#[test]
fn behind_a_gelu_in_parts() {
    let parts = [
        node("Div", &["a", "root"], "b"),
        node("Erf", &["b"], "c"),
        node("Add", &["c", "one"], "d"),
        node("Mul", &["a", "d"], "e"),
        node("Mul", &["e", "half"], "h"),
    ];
    // g = a·Φ(a), so g'' = φ(a)·(2 − a²).
    let density = |a: f64| (-a * a / 2.0).exp() / std::f64::consts::TAU.sqrt();
    directions_start_after_the_first_layer(&parts, |a| density(a) * (2.0 - a * a));
}
