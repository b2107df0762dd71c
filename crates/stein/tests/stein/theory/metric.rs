//! With a metric A the operator is tr(A∇²f) + sᵀA∇f: its mean vanishes as well, entry by entry, and with A = Cov it does not
//! change under an invertible affine change of coordinates.

use ndarray::{Array1, Array2, ArrayD, Axis};
use taste_engine::{Backend, Metric, Model, Request, Target, Wants};
use taste_graph::{Build, Id, Tensor};
use taste_onnx::builders;
use taste_stats::{linear, random::Random};
use taste_stein::{Error, Raw, Residuals, fields::Field, operators};

use super::estimate::Estimate;
use crate::common::{engine, network};

const WIDTH: usize = 3;
const OPERATORS: [&str; 5] =
    ["langevin", "no-laplacian", "score-only", "first-order:1,-0.5,2", "first-order-norm"];

/// A Gaussian of any covariance: x = m + Bz with z standard normal.
#[derive(Clone, Debug)]
struct Gaussian {
    mean: Array1<f64>,
    root: Array2<f64>,
}

impl Gaussian {
    fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut draw = |from: f64, to: f64| from + (to - from) * random.uniform();
        let mean = Array1::from_shape_simple_fn(WIDTH, || draw(-1.0, 1.0));
        let mut root = Array2::from_shape_simple_fn((WIDTH, WIDTH), || draw(-0.6, 0.6));
        root.diag_mut().mapv_inplace(|v| v + 1.0);
        Self { mean, root }
    }

    fn covariance(&self) -> Array2<f64> {
        self.root.dot(&self.root.t())
    }

    fn rows(&self, rows: usize, seed: u64) -> ArrayD<f32> {
        let mut random = Random::new(seed);
        let z = Array2::from_shape_simple_fn((rows, WIDTH), || random.normal());
        #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
        let rows = (z.dot(&self.root.t()) + &self.mean).mapv(|v| v as f32);
        rows.into_dyn()
    }

    /// That of Bx + c.
    fn turned(&self, by: &Array2<f64>, shift: &Array1<f64>) -> Self {
        Self { mean: by.dot(&self.mean) + shift, root: by.dot(&self.root) }
    }
}

impl Field for Gaussian {
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "family": "exact" })
    }

    fn build(&self, b: &mut Build<'_>, y: Id) -> Result<Id, Error> {
        let mean = Tensor::floats(&[1, WIDTH], self.mean.to_vec())?;
        let mean = b.graph_mut().constant(mean);
        let below = b.sub(mean, y)?;
        let precision = linear::inverse(&self.covariance()).expect("definite");
        let precision = Tensor::floats(&[WIDTH, WIDTH], precision.iter().copied().collect())?;
        let precision = b.graph_mut().constant(precision);
        Ok(taste_ops::functions::matmul(b, below, precision)?)
    }
}

fn residuals(
    model: &Model,
    p: &Gaussian,
    operator: &str,
    target: Option<Target>,
    metric: Metric,
    samples: &ArrayD<f32>,
) -> Raw {
    let wants = Wants { diagonal: true, ..Wants::default() };
    let asked = Request { target, wants, metric, ..Request::default() };
    let operator = operators::parse(operator).expect("an operator");
    let made = Residuals::new(model, p, &*operator, &asked, &engine(&Backend::RTEN));
    made.expect("residuals").of(samples).expect("a run")
}

fn metrics(p: &Gaussian) -> [(&'static str, Metric); 3] {
    let deviations = p.covariance().diag().mapv(f64::sqrt);
    [
        ("diagonal", Metric::diagonal(deviations.to_vec())),
        ("full", Metric::full(p.root.clone())),
        ("one left out", Metric::diagonal(vec![0.0, 2.0, 1.0])),
    ]
}

#[test]
fn residuals_and_their_parts_have_mean_zero_and_parts_add_up() {
    let p = Gaussian::random(3);
    let samples = p.rows(8192, 31);
    for activation in ["Tanh", "Gelu"] {
        let model = network(&[WIDTH, 16, 3], activation, 15);
        for (name, metric) in metrics(&p) {
            for operator in ["langevin", "first-order:1,-0.5,2"] {
                let what = format!("{operator}, {name}, {activation}");
                let found = residuals(&model, &p, operator, None, metric.clone(), &samples);
                let classes = Estimate::of_entries(&found.components.into_dyn());
                for (class, mean) in classes.into_iter().enumerate() {
                    mean.assert_vanishes(&format!("{what}, class {class}"));
                }
                let target = Some(Target::logit(Some(1)));
                let found = residuals(&model, &p, operator, target, metric.clone(), &samples);
                let map = found.map.expect("maps");
                for (entry, mean) in Estimate::of_entries(&map).into_iter().enumerate() {
                    if name != "one left out" || entry > 0 {
                        mean.assert_vanishes(&format!("{what}, entry {entry}"));
                    }
                }
            }
            for operator in OPERATORS {
                let target = Some(Target::logit(Some(1)));
                let found = residuals(&model, &p, operator, target, metric.clone(), &samples);
                let sums = found.map.expect("maps").sum_axis(Axis(1));
                for (sum, whole) in sums.iter().zip(&found.components.column(0)) {
                    let size = whole.abs().max(1.0);
                    assert!((sum - whole).abs() < 1e-4 * size, "{operator}: {sum} for {whole}");
                }
            }
        }
    }
}

/// The model of By + c for samples y, so that it answers as `of` does.
fn composed(of: &Model, by: &Array2<f64>, shift: &Array1<f64>) -> Model {
    let inverse = inverse(by);
    let offset = inverse.dot(shift).mapv(|v| -v);
    #[expect(clippy::cast_possible_truncation, reason = "models are single precision")]
    let [weights, offset] = [
        inverse.t().iter().map(|v| *v as f32).collect(),
        offset.iter().map(|v| *v as f32).collect::<Vec<f32>>(),
    ];
    let mut onnx = of.onnx().clone();
    let graph = onnx.proto.graph.as_mut().expect("a graph");
    for node in &mut graph.node {
        node.input.iter_mut().filter(|i| *i == "x").for_each(|i| "back".clone_into(i));
    }
    graph.node.insert(0, builders::node("Gemm", &["x", "turn", "move"], &["back"], "back"));
    graph.initializer.push(builders::tensor_f32("turn", &[WIDTH, WIDTH], &weights));
    graph.initializer.push(builders::tensor_f32("move", &[WIDTH], &offset));
    Model::from_onnx("composed.onnx", onnx)
}

/// B⁻¹ = (BᵀB)⁻¹Bᵀ.
fn inverse(of: &Array2<f64>) -> Array2<f64> {
    linear::inverse(&of.t().dot(of)).expect("definite").dot(&of.t())
}

#[test]
fn the_covariance_as_metric_does_not_see_affine_changes() {
    let p = Gaussian::random(5);
    let samples = p.rows(200, 7);
    let by = ndarray::arr2(&[[2.0, 0.3, -1.0], [0.0, 0.05, 0.02], [5.0, 1.0, 30.0]]);
    let shift = ndarray::arr1(&[1.0, -0.2, 4.0]);
    let turned = p.turned(&by, &shift);
    #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
    let others = {
        let rows = samples.mapv(f64::from).into_dimensionality().expect("a table");
        let rows: Array2<f64> = rows;
        (rows.dot(&by.t()) + &shift).mapv(|v| v as f32).into_dyn()
    };
    for activation in ["Tanh", "Relu"] {
        let model = network(&[WIDTH, 16, 3], activation, 15);
        let other = composed(&model, &by, &shift);
        for operator in OPERATORS {
            let of = |model, p: &Gaussian, samples| {
                residuals(model, p, operator, None, Metric::full(p.root.clone()), samples)
            };
            let (a, b) = (of(&model, &p, &samples), of(&other, &turned, &others));
            let size = a.components.iter().fold(0.0f32, |m, v| m.max(v.abs()));
            let off = (&a.components - &b.components).iter().fold(0.0f32, |m, v| m.max(v.abs()));
            assert!(off < 1e-3 * size, "{operator}, {activation}: {off} of {size}");
        }
    }
}
