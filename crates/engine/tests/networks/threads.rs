//! Threads share samples out; what comes back is the same.

use ndarray::{ArrayD, Axis};
use taste_engine::{Backend, LaplacianMethod, Model, Request, Target, Value, Wants};
use taste_graph::{Build, DType, Dim, Fact, Graph};

use crate::common::{matrix, model, node, noise};

const INPUTS: usize = 5;
const CLASSES: usize = 3;

/// Logits of a network with one hidden layer.
fn classifier(activation: &str) -> Model {
    let nodes = vec![
        node("MatMul", &["x", "w"], "a"),
        node(activation, &["a"], "h"),
        node("MatMul", &["h", "v"], "y"),
    ];
    let weights = vec![matrix("w", &noise(INPUTS, 8, 1)), matrix("v", &noise(8, CLASSES, 2))];
    model(nodes, weights, INPUTS, CLASSES)
}

/// Everything that a derivative gives.
fn results(
    model: &Model,
    asked: &Request,
    backend: &Backend,
    threads: usize,
    rows: usize,
) -> Vec<ArrayD<f64>> {
    let compiled =
        model.derive(asked).expect("a derivative").compile(backend, threads).expect("compiles");
    let x = Value::F32(noise(rows, INPUTS, 3).into_dyn());
    let found = compiled.run(&[("x", &x)], 0).expect("runs");
    let all = [Some(found.value), found.gradient, found.laplacian, found.stderr, found.diagonal];
    all.into_iter().flatten().map(|v| v.to_f64()).collect()
}

#[test]
fn a_derivative_does_not_depend_on_the_number_of_threads() {
    let exact = Wants { gradient: true, laplacian: true, diagonal: true, ..Wants::default() };
    let estimated = Wants { gradient: true, laplacian: true, stderr: true, ..Wants::default() };
    let cases = [
        ("Relu", LaplacianMethod::CLOSED_FORM, Target::every_prob(), exact),
        ("Tanh", LaplacianMethod::EXACT, Target::logit(Some(1)), exact),
        ("Tanh", LaplacianMethod::hutchinson(4), Target::prob(None), estimated),
        ("Tanh", LaplacianMethod::hutchpp(6), Target::prob(None), estimated),
        ("Relu", LaplacianMethod::probe(2), Target::prob(None), estimated),
    ];
    for (activation, method, target, wants) in cases {
        let model = classifier(activation);
        let asked =
            Request { target: Some(target), laplacian_method: method, wants, ..Request::default() };
        for backend in [Backend::RTEN, Backend::REFERENCE] {
            let near = if backend == Backend::REFERENCE { 1e-12 } else { 1e-5 };
            for rows in [1, 2, 7, 64] {
                let one = results(&model, &asked, &backend, 1, rows);
                for threads in [2, 3] {
                    let several = results(&model, &asked, &backend, threads, rows);
                    assert_eq!(one.len(), several.len());
                    for (a, b) in one.iter().zip(&several) {
                        assert_eq!(a.shape(), b.shape());
                        let off = (a - b).iter().fold(0.0_f64, |m, d| m.max(d.abs()));
                        assert!(
                            off <= near,
                            "{method:?} on {backend}, {rows} samples, {threads} threads: {off:e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn sums_over_samples_are_sums_over_threads() {
    let mut graph = Graph::default();
    let fact = |shape: &[Dim]| Fact { dtype: DType::Float, shape: shape.to_vec() };
    let x = graph.input("x", fact(&[Dim::BATCH, INPUTS.into()]));
    let w = graph.input("w", fact(&[INPUTS.into()]));
    let mut b = Build::new(&mut graph);
    let product = b.mul(x, w).expect("a product");
    let total = b.sum(product, &[0]).expect("a sum");
    let outputs = [("total".to_owned(), total), ("product".to_owned(), product)];
    let (x, w) = (noise(7, INPUTS, 5), noise(1, INPUTS, 6).remove_axis(Axis(0)));
    let each = (&x * &w).mapv(f64::from);
    let feeds: [(&str, &Value); 2] = [("x", &x.into_dyn().into()), ("w", &w.into_dyn().into())];
    for backend in [Backend::RTEN, Backend::REFERENCE] {
        for threads in [1, 2, 3] {
            let session = backend.compile_sums(&graph, &outputs, threads).expect("compiles");
            let found = session.run(&feeds).expect("runs");
            let wanted = [each.sum_axis(Axis(0)).into_dyn(), each.clone().into_dyn()];
            for (found, wanted) in found.iter().zip(wanted) {
                let found = found.clone().reshaped(wanted.shape()).to_f64();
                let off = (found - wanted).iter().fold(0.0_f64, |m, d| m.max(d.abs()));
                assert!(off < 1e-5, "{backend}, {threads} threads: {off:e}");
            }
        }
    }
}
