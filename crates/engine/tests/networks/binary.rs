//! `ReLU` networks with one sigmoid, as binary classifiers end.

use taste_engine::{
    Answer, Backend, Glimpse, LaplacianMethod, Outputs, Request, Target, Value, Wants,
};
use taste_onnx::builders;

use crate::common::{matrix, model, node, noise};

fn run(method: LaplacianMethod, diagonal: bool, backend: &Backend) -> Outputs {
    let weights = vec![
        matrix("a", &noise(5, 8, 1)),
        matrix("b", &noise(8, 1, 2)),
        builders::tensor_f32("c", &[1], &[0.1]),
    ];
    let nodes = vec![
        node("MatMul", &["x", "a"], "h"),
        node("Relu", &["h"], "r"),
        node("Gemm", &["r", "b", "c"], "z"),
        node("Sigmoid", &["z"], "y"),
    ];
    let model = model(nodes, weights, 5, 1);
    let wants = Wants { gradient: true, laplacian: true, diagonal, ..Wants::default() };
    let target = Some(Target::output(0));
    let asked = Request { target, laplacian_method: method, wants, ..Request::default() };
    let derived = model.derive(&asked).expect("a derivative");
    let compiled = derived.compile(backend, 1).expect("compiles");
    let x = Value::F32(noise(40, 5, 3).into_dyn());
    compiled.run(&[("x", &x)], 0).expect("runs")
}

#[test]
fn one_sigmoid_has_its_derivatives_on_the_embedded_engine() {
    let close = |what: &str, got: &Value, want: &Value| {
        let (got, want) = (got.to_f64(), want.to_f64());
        assert_eq!(got.shape(), want.shape(), "{what}");
        let size = want.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let off = (&got - &want).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(size > 0.0 && off <= 1e-5 * size, "{what}: {off:e} of {size:e}");
    };
    for diagonal in [false, true] {
        let closed = run(LaplacianMethod::AUTO, diagonal, &Backend::RTEN);
        let exact = run("exact".parse().expect("a method"), diagonal, &Backend::REFERENCE);
        let parts = [
            ("gradient", closed.gradient, exact.gradient),
            ("Laplacian", closed.laplacian, exact.laplacian),
            ("diagonal", closed.diagonal, exact.diagonal),
        ];
        for (what, got, want) in parts {
            assert_eq!(got.is_some(), want.is_some(), "{what}");
            if let (Some(got), Some(want)) = (got, want) {
                close(what, &got, &want);
            }
        }
    }
}

#[test]
fn amounts_have_no_bound_above_wherever_some_values_lie() {
    for (ending, answer) in
        [("Relu", Answer::Numbers), ("Softplus", Answer::Numbers), ("Sin", Answer::Binary)]
    {
        let nodes = vec![node("MatMul", &["x", "a"], "h"), node(ending, &["h"], "y")];
        let model = model(nodes, vec![matrix("a", &noise(5, 1, 1))], 5, 1);
        let mut draft = model.draft(&Request::default()).expect("a draft");
        assert_eq!(draft.wants_a_look(), answer == Answer::Binary, "{ending}");
        draft.look(Glimpse { entries: (0.1, 0.9), sums: (0.1, 0.9) }).expect("fits");
        assert_eq!(draft.answer(), answer, "{ending}");
    }
}
