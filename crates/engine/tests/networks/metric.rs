//! A metric A = `RRᵀ` is a change of coordinates: what is derived of f with it at Rv is what is derived of f(R·) at v.

use ndarray::{Array1, Array2, ArrayD};
use taste_engine::{
    Backend, LaplacianMethod, Metric, Model, Outputs, Request, Target, Value, Wants,
};
use taste_onnx::proto::{NodeProto, TensorProto};

use crate::common::{matrix, model, node, noise};

const WIDTH: usize = 5;
const CLASSES: usize = 3;
const METHODS: [LaplacianMethod; 6] = [
    LaplacianMethod::CLOSED_FORM,
    LaplacianMethod::closed_form_top(2),
    LaplacianMethod::probe(3),
    LaplacianMethod::EXACT,
    LaplacianMethod::hutchinson(4),
    LaplacianMethod::hutchpp(6),
];

/// Columns in units that differ by four orders of magnitude, one of them left out.
fn diagonal() -> Array2<f32> {
    Array2::from_diag(&Array1::from(vec![1.0, 100.0, 0.0, 0.25, 0.01]))
}

fn full() -> Array2<f32> {
    noise(WIDTH, WIDTH, 5)
}

fn metric(root: &Array2<f32>) -> Metric {
    let root = root.mapv(f64::from);
    let is_diagonal = root.indexed_iter().all(|((i, j), v)| i == j || *v == 0.0);
    if is_diagonal { Metric::diagonal(root.diag().to_vec()) } else { Metric::full(root) }
}

/// Two layers, of R·x if a matrix is given.
fn network(activation: &str, root: Option<&Array2<f32>>) -> Model {
    let mut weights: Vec<TensorProto> =
        vec![matrix("w", &noise(WIDTH, 8, 1)), matrix("u", &noise(8, CLASSES, 2))];
    let mut nodes: Vec<NodeProto> = Vec::new();
    let mut first = "x";
    if let Some(root) = root {
        weights.push(matrix("r", &root.t().as_standard_layout().to_owned()));
        nodes.push(node("MatMul", &["x", "r"], "turned"));
        first = "turned";
    }
    nodes.extend([
        node("MatMul", &[first, "w"], "a"),
        node(activation, &["a"], "h"),
        node("MatMul", &["h", "u"], "y"),
    ]);
    model(nodes, weights, WIDTH, CLASSES)
}

fn run(of: &Model, asked: &Request, x: &Array2<f64>) -> Option<Outputs> {
    let derived = of.derive(asked).ok()?;
    let compiled = derived.compile(&Backend::REFERENCE, 1).expect("compiles");
    Some(compiled.run(&[("x", &Value::F64(x.clone().into_dyn()))], 0).expect("runs"))
}

fn near(what: &str, got: Option<&Value>, want: Option<&Value>) {
    let (Some(got), Some(want)) = (got, want) else {
        assert!(got.is_none() && want.is_none(), "{what}: one is missing");
        return;
    };
    close(what, &got.to_f64(), &want.to_f64());
}

fn close(what: &str, got: &ArrayD<f64>, want: &ArrayD<f64>) {
    let size = want.iter().fold(1e-3_f64, |m, v| m.max(v.abs()));
    let off = (got - want).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    assert!(off <= 1e-9 * size, "{what}: off by {off:e} of {size:e}");
}

#[test]
fn every_method_derives_as_after_a_change_of_coordinates() {
    let v = noise(4, WIDTH, 9).mapv(f64::from);
    let mut compared = 0;
    for (root, activation) in
        [(diagonal(), "Relu"), (diagonal(), "Tanh"), (full(), "Relu"), (full(), "Tanh")]
    {
        let x = v.dot(&root.mapv(f64::from).t());
        for target in [Target::prob(None), Target::every_prob(), Target::output(1)] {
            for method in METHODS {
                for memory in [1 << 30, 1] {
                    let random =
                        matches!(method.to_string().as_str(), "hutchinson:4" | "hutchpp:6");
                    let wants = Wants { laplacian: true, stderr: random, ..Wants::default() };
                    let plain = Request {
                        target: Some(target),
                        laplacian_method: method,
                        wants,
                        memory,
                        ..Request::default()
                    };
                    let asked = Request { metric: metric(&root), ..plain.clone() };
                    let what = format!("{target} of {activation} by {method}");
                    let got = run(&network(activation, None), &asked, &x);
                    let want = run(&network(activation, Some(&root)), &plain, &v);
                    let (Some(got), Some(want)) = (&got, &want) else {
                        assert_eq!(got.is_some(), want.is_some(), "{what}");
                        continue;
                    };
                    near(&what, got.laplacian.as_ref(), want.laplacian.as_ref());
                    near(&what, got.stderr.as_ref(), want.stderr.as_ref());
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 60, "{compared} were compared");
}

/// Σⱼ Aᵢⱼ∂ᵢⱼf from second derivatives along single directions.
fn by_directions(of: &Model, plain: &Request, root: &Array2<f64>, x: &Array2<f64>) -> ArrayD<f64> {
    let along = |r: &Array1<f64>| -> ArrayD<f64> {
        let mut root = Array2::zeros((WIDTH, WIDTH));
        root.column_mut(0).assign(r);
        let wants = Wants { laplacian: true, ..Wants::default() };
        let asked = Request {
            metric: Metric::full(root),
            laplacian_method: LaplacianMethod::EXACT,
            wants,
            ..plain.clone()
        };
        run(of, &asked, x).and_then(|o| o.laplacian).expect("rᵀ∇²f·r").to_f64()
    };
    let a = root.dot(&root.t());
    let unit = |i: usize| Array2::<f64>::eye(WIDTH).row(i).to_owned();
    let mut diagonal = Array2::zeros(x.raw_dim());
    for i in 0..WIDTH {
        for j in 0..WIDTH {
            let [plus, minus] = [along(&(unit(i) + unit(j))), along(&(unit(i) - unit(j)))];
            let mixed = (plus - minus) * (0.25 * a[[i, j]]);
            let mut column = diagonal.column_mut(i);
            column.iter_mut().zip(&mixed).for_each(|(d, m)| *d += m);
        }
    }
    diagonal.into_dyn()
}

#[test]
fn diagonals_are_those_of_the_product_and_add_up() {
    let x = noise(4, WIDTH, 9).mapv(f64::from);
    for root in [diagonal(), full()] {
        for activation in ["Relu", "Tanh"] {
            let of = network(activation, None);
            for method in METHODS {
                let wants =
                    Wants { laplacian: true, diagonal: true, gradient: true, ..Wants::default() };
                let plain = Request {
                    target: Some(Target::prob(Some(1))),
                    laplacian_method: method,
                    wants,
                    ..Request::default()
                };
                let asked = Request { metric: metric(&root), ..plain.clone() };
                let Some(got) = run(&of, &asked, &x) else { continue };
                let what = format!("{activation} by {method}");
                let first = Wants { gradient: true, ..Wants::default() };
                let first = run(&of, &Request { wants: first, ..plain.clone() }, &x);
                near(&what, got.gradient.as_ref(), first.and_then(|f| f.gradient).as_ref());
                let diagonal = got.diagonal.expect("asked for").to_f64();
                let sum = diagonal.sum_axis(ndarray::Axis(1));
                close(&what, &sum, &got.laplacian.expect("asked for").to_f64());
                // ReLU networks have no second derivatives along the way but those of the head.
                let exact = activation == "Tanh" && method == LaplacianMethod::EXACT
                    || activation == "Relu" && method == LaplacianMethod::CLOSED_FORM;
                if exact {
                    let want = by_directions(&of, &plain, &root.mapv(f64::from), &x);
                    close(&what, &diagonal, &want);
                }
            }
        }
    }
}

#[test]
fn a_metric_of_other_samples_is_refused() {
    let of = network("Tanh", None);
    for metric in [Metric::diagonal(vec![1.0; 4]), Metric::full(Array2::eye(6))] {
        let message = of.derive(&Request { metric, ..Request::default() }).expect_err("refused");
        assert!(message.to_string().contains("5 entries"), "{message}");
    }
}
