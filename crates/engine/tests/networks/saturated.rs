//! Derivatives where a class is all but certain: what is left of 1 − p must not be rounding.

use ndarray::Array2;
use taste_engine::{Backend, LaplacianMethod, Model, Outputs, Request, Target, Value, Wants};
use taste_onnx::proto::NodeProto;

use crate::common::{matrix, model, node};

/// 1 − p is from 1e-3 to 1e-6 here: a few of the bits of single precision.
const MARGINS: [f32; 4] = [7.0, 9.0, 11.0, 13.5];

/// Nodes that use one matrix.
fn with(w: &Array2<f32>, nodes: &[NodeProto]) -> Model {
    model(nodes.to_vec(), vec![matrix("w", w)], w.nrows(), w.ncols())
}

fn run(
    model: &Model,
    target: Target,
    method: LaplacianMethod,
    x: &Array2<f32>,
    backend: &Backend,
) -> Outputs {
    let wants = Wants { gradient: true, laplacian: true, ..Wants::default() };
    let asked =
        Request { target: Some(target), laplacian_method: method, wants, ..Request::default() };
    let derived = model.derive(&asked).expect("a derivative");
    let compiled = derived.compile(backend, 1).expect("compiles");
    compiled.run(&[("x", &Value::F32(x.clone().into_dyn()))], 0).expect("runs")
}

/// Single precision against double, sample by sample.
fn agree(model: &Model, target: Target, method: LaplacianMethod, x: &Array2<f32>) {
    let [single, double] =
        [Backend::RTEN, Backend::REFERENCE].map(|b| run(model, target, method, x, &b));
    let pairs = [
        ("gradient", single.gradient, double.gradient),
        ("Laplacian", single.laplacian, double.laplacian),
    ];
    for (what, single, double) in pairs {
        let (single, double) =
            (single.expect("asked for").to_f64(), double.expect("asked for").to_f64());
        // Every class by itself, if there are several.
        let classes = if target == Target::every_prob() { double.shape()[1] } else { 1 };
        let rows = [single.shape()[0] * classes, single.len() / (single.shape()[0] * classes)];
        let [single, double] = [single, double].map(|a| a.to_shape(rows).expect("rows").to_owned());
        for (n, (got, want)) in single.outer_iter().zip(double.outer_iter()).enumerate() {
            let size = want.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            let off = (&got - &want).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            assert!(size > 0.0, "{what} of {target}, {method}, row {n} is zero");
            assert!(
                off <= 2e-5 * size,
                "{what} of {target}, {method}, row {n}: {off:e} of {size:e}"
            );
        }
    }
}

#[test]
fn a_likely_class_has_exact_derivatives() {
    // A softplus keeps logits from being piecewise affine; the closed form sees the matrix alone.
    let bent = [node("MatMul", &["x", "w"], "a"), node("Softplus", &["a"], "y")];
    let straight = [node("MatMul", &["x", "w"], "y")];
    let w = ndarray::arr2(&[[1.0_f32, -0.3, 0.2], [0.1, 0.4, -0.5]]);
    let x =
        Array2::from_shape_fn((MARGINS.len(), 2), |(n, d)| if d == 0 { MARGINS[n] } else { 0.5 });
    let targets =
        [Target::prob(None), Target::prob(Some(1)), Target::log_prob(None), Target::entropy()];
    for target in targets {
        agree(&with(&w, &bent), target, LaplacianMethod::EXACT, &x);
        agree(&with(&w, &straight), target, LaplacianMethod::EXACT, &x);
        agree(&with(&w, &straight), target, LaplacianMethod::CLOSED_FORM, &x);
    }
}

#[test]
fn a_sigmoid_near_one_has_exact_derivatives() {
    let nodes = [node("MatMul", &["x", "w"], "a"), node("Sigmoid", &["a"], "y")];
    let w = ndarray::arr2(&[[1.0_f32], [0.1]]);
    let x =
        Array2::from_shape_fn((MARGINS.len(), 2), |(n, d)| if d == 0 { MARGINS[n] } else { 0.5 });
    agree(&with(&w, &nodes), Target::output(0), LaplacianMethod::EXACT, &x);
}
