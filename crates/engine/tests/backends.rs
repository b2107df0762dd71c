//! Every sample of every operator on the engines that run derivatives, in single precision, against the
//! interpreter in double precision.

#![expect(clippy::print_stdout, reason = "says what is skipped")]

use std::collections::HashMap;

use ndarray::{ArrayD, IxDyn};
use taste_engine::{Backend, Value};
use taste_graph::{
    Build, DType, Graph, Id, Tensor,
    diff::{Derivatives, jvp, vjp},
};
use taste_ops::{Entry, Sample, import, operators};

/// Samples that an engine can't run, and a part of what it says: rten knows windows over one or two axes.
const EXCEPTIONS: &[(&str, &str, &str, &str)] =
    &[("rten", "Conv", "three axes", "runs over 3 axes")];

/// A sample with its derivatives, and values for its inputs.
struct Case {
    graph: Graph,
    ends: Vec<(String, Id)>,
    feeds: Vec<(String, Value)>,
}

fn noise(shape: &[usize], seed: &mut u64) -> ArrayD<f64> {
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

fn to_value(tensor: &Tensor) -> Value {
    match tensor {
        Tensor::Float(a) => Value::F64(a.to_owned()),
        Tensor::Int(a) => Value::I64(a.to_owned()),
        Tensor::Bool(a) => Value::I64(a.mapv(i64::from)),
    }
}

/// The values, and one product with the Jacobian of each from either side.
fn case(entry: &Entry, sample: &Sample, open_batch: bool) -> Case {
    let model = sample.model(entry, open_batch);
    let imported = import(&model, &[], &HashMap::new()).expect("sample imports");
    let (mut graph, mut ends) = (imported.graph, imported.outputs);
    let mut feeds: Vec<(String, Value)> =
        sample.feeds().map(|(name, tensor)| (name, to_value(tensor))).collect();
    let batch = feeds.iter().filter_map(|f| f.1.shape().first().copied()).max().unwrap_or(1);
    let active: Vec<Id> = imported
        .inputs
        .iter()
        .map(|i| i.1)
        .filter(|&id| graph.fact(id).dtype == DType::Float)
        .collect();
    let mut seed = 53;
    let mut feed = |graph: &mut Graph, like: Id| {
        let fact = graph.fact(like).clone();
        let name = format!("fed{}", feeds.len());
        feeds.push((name.clone(), Value::F64(noise(&fact.at(batch).shape, &mut seed))));
        graph.input(&name, fact)
    };
    for (name, out) in ends.clone() {
        if graph.fact(out).dtype != DType::Float {
            continue;
        }
        let ct = feed(&mut graph, out);
        let seeds: Derivatives = active.iter().map(|&x| (x, feed(&mut graph, x))).collect();
        let mut b = Build::new(&mut graph);
        let cts = vjp(&mut b, &Derivatives::from([(out, ct)]), &active).expect("vjp");
        let tangent = jvp(&mut b, &[out], &seeds).expect("jvp")[0];
        ends.extend(tangent.map(|t| (format!("{name}_tangent"), t)));
        let cts = cts.into_iter().enumerate();
        ends.extend(cts.filter_map(|(i, ct)| ct.map(|ct| (format!("{name}_cotangent{i}"), ct))));
    }
    Case { graph, ends, feeds }
}

fn run(case: &Case, backend: &Backend) -> Result<Vec<Value>, taste_engine::Error> {
    let feeds: Vec<(&str, &Value)> = case.feeds.iter().map(|(n, v)| (n.as_str(), v)).collect();
    backend.compile(&case.graph, &case.ends, 1)?.run(&feeds)
}

/// What is off, if anything is.
fn compare(case: &Case, backend: &Backend) -> Option<String> {
    let want = run(case, &Backend::REFERENCE).expect("the interpreter runs it");
    let got = match run(case, backend) {
        Ok(got) => got,
        Err(e) => return Some(e.to_string()),
    };
    for (((name, _), want), got) in case.ends.iter().zip(&want).zip(&got) {
        if want.shape() != got.shape() {
            return Some(format!("{name}: shape {:?}, not {:?}", got.shape(), want.shape()));
        }
        let (want, got) = (want.to_f64(), got.to_f64());
        let scale = want.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        for (w, g) in want.iter().zip(&got) {
            let same = w.to_bits() == g.to_bits() || (w.is_nan() && g.is_nan());
            let near = (w - g).abs() < 1e-5 * scale;
            if !same && !near {
                return Some(format!("{name}: {g}, not {w}"));
            }
        }
    }
    None
}

fn check(backend: &Backend) {
    let only = std::env::var("TASTE_OPERATOR").ok();
    let mut failures = Vec::new();
    for entry in operators().filter(|e| only.as_ref().is_none_or(|o| o == e.name)) {
        for sample in &(entry.samples)() {
            let exception = EXCEPTIONS.iter().find(|(engine, name, title, _)| {
                *engine == backend.name() && *name == entry.name && *title == sample.title
            });
            for open_batch in [false, true].into_iter().take(1 + usize::from(sample.batched)) {
                let place = format!("{} ({}), open batch {open_batch}", entry.name, sample.title);
                let attempt = std::panic::AssertUnwindSafe(|| {
                    compare(&case(entry, sample, open_batch), backend)
                });
                let off = std::panic::catch_unwind(attempt)
                    .unwrap_or_else(|_| Some("it panicked".to_owned()));
                match (off, exception) {
                    (Some(off), Some((.., says))) if off.contains(says) => {}
                    (Some(off), _) => failures.push(format!("{place}: {off}")),
                    (None, Some(_)) => failures.push(format!("{place}: is no exception any more")),
                    (None, None) => {}
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "operators that {backend} runs otherwise:\n{}",
        failures.join("\n")
    );
}

#[test]
fn rten_runs_every_operator() {
    check(&Backend::RTEN);
}

/// ONNX Runtime, if there is one; in CI there must be.
fn ort() -> Option<Backend> {
    if std::env::var_os("ORT_DYLIB_PATH").is_some() {
        return Some(Backend::ORT);
    }
    assert!(std::env::var_os("CI").is_none(), "ORT_DYLIB_PATH must be set in CI");
    println!("skipped: ORT_DYLIB_PATH is not set");
    None
}

#[test]
fn ort_runs_every_operator() {
    if let Some(ort) = ort() {
        check(&ort);
    }
}

/// Another session takes over once a number of samples comes again, and the results stay what they are.
#[test]
fn ort_runs_any_number_of_samples_in_any_order() {
    let Some(ort) = ort() else { return };
    let entry = operators().find(|e| e.name == "Softmax").expect("an operator");
    let sample = (entry.samples)().into_iter().find(|s| s.batched).expect("a sample");
    let Case { graph, ends, feeds } = case(entry, &sample, true);
    let session = ort.compile(&graph, &ends, 1).expect("compiles");
    let rows = feeds[0].1.shape()[0];
    for count in [rows, rows, rows, 1, 1, rows] {
        let part: Vec<(String, Value)> =
            feeds.iter().map(|(n, v)| (n.clone(), v.rows(0, count))).collect();
        let part: Vec<(&str, &Value)> = part.iter().map(|(n, v)| (n.as_str(), v)).collect();
        let want = Backend::REFERENCE.compile(&graph, &ends, 1).expect("compiles").run(&part);
        let got = session.run(&part).expect("runs");
        for (got, want) in got.iter().zip(want.expect("the interpreter runs it")) {
            assert_eq!(got.shape(), want.shape());
            let off = (got.to_f64() - want.to_f64()).iter().fold(0.0f64, |m, d| m.max(d.abs()));
            assert!(off < 1e-4, "off by {off} with {count} samples");
        }
    }
}
