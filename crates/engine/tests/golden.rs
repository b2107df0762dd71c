//! Derivatives of exported models against PyTorch's, in `fixtures/golden` (its README tells how they were
//! made), on every backend.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use ndarray::ArrayD;
use ndarray_npy::read_npy;
use taste_engine::{Backend, Method, Model, Outputs, Request, Value, Wants};

fn cases() -> Vec<PathBuf> {
    let root = std::env::var_os("TASTE_GOLDEN").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden"),
        PathBuf::from,
    );
    let only = std::env::var("TASTE_CASE").ok();
    let mut cases = Vec::new();
    for exporter in ["legacy", "dynamo"] {
        for entry in fs::read_dir(root.join(exporter)).expect("a folder of cases") {
            let path = entry.expect("an entry").path();
            if only.as_ref().is_none_or(|o| path.ends_with(o)) {
                cases.push(path);
            }
        }
    }
    cases.sort();
    assert!(!cases.is_empty(), "no cases in {}", root.display());
    cases
}

fn array(case: &Path, name: &str) -> Option<ArrayD<f64>> {
    let path = case.join(name);
    read_npy::<_, ArrayD<f64>>(&path)
        .or_else(|_| read_npy::<_, ArrayD<f32>>(&path).map(|a| a.mapv(f64::from)))
        .ok()
}

fn input(case: &Path) -> Value {
    let path = case.join("x.npy");
    match read_npy::<_, ArrayD<f32>>(&path) {
        Ok(x) => Value::F32(x),
        Err(_) => Value::F64(read_npy(&path).expect("x.npy")),
    }
}

fn derive(case: &Path, backend: &Backend, method: Method, diagonal: bool) -> Outputs {
    let x = input(case);
    let model = Model::open(&case.join("model.onnx")).unwrap_or_else(|e| panic!("{e}"));
    let wants = Wants { gradient: true, laplacian: true, diagonal, ..Wants::default() };
    let name = model.onnx().proto.graph.as_ref().expect("a graph").input[0].name.clone();
    let sample_shapes = HashMap::from([(name.clone(), x.shape()[1..].to_vec())]);
    let request = Request { method, wants, sample_shapes, ..Request::default() };
    let derived = model.derive(&request).unwrap_or_else(|e| panic!("{e}"));
    let mut compiled = derived.compile(backend, 2).unwrap_or_else(|e| panic!("{e}"));
    compiled.run(&[(name.as_str(), &x)], 0).unwrap_or_else(|e| panic!("{e}"))
}

/// The largest difference, relative to the largest entry.
fn distance(got: &Value, want: &ArrayD<f64>) -> f64 {
    assert_eq!(got.shape(), want.shape(), "shapes");
    let scale = want.iter().fold(0.0f64, |m, v| m.max(v.abs())).max(1e-12);
    let got = got.to_f64();
    got.iter().zip(want).fold(0.0f64, |m, (g, w)| {
        let d = (g - w).abs() / scale;
        if d.is_nan() { f64::INFINITY } else { m.max(d) }
    })
}

fn check(backend: &Backend, method: Method, first: f64, second: f64) {
    let mut failures = Vec::new();
    for case in cases() {
        let run = || {
            let results = derive(&case, backend, method, true);
            let alone = derive(&case, backend, method, false);
            let mut worst = Vec::new();
            for (name, got, tolerance) in [
                ("f.npy", Some(&results.value), first),
                ("grad.npy", results.gradient.as_ref(), first),
                ("lap.npy", results.laplacian.as_ref(), second),
                ("lap.npy", alone.laplacian.as_ref(), second),
                ("diag.npy", results.diagonal.as_ref(), second),
            ] {
                let Some(want) = array(&case, name) else { continue };
                let d = distance(got.expect("asked for"), &want);
                if d > tolerance {
                    worst.push(format!("{name} off by {d:.1e}"));
                }
            }
            worst
        };
        let place = case.display().to_string();
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(worst) if worst.is_empty() => {}
            Ok(worst) => failures.push(format!("{place}: {}", worst.join(", "))),
            Err(_) => failures.push(format!("{place}: panicked")),
        }
    }
    assert!(failures.is_empty(), "{backend}, {method}:\n{}", failures.join("\n"));
}

#[test]
fn reference_agrees_with_pytorch() {
    check(&Backend::Reference, Method::Auto, 1e-9, 1e-9);
}

#[test]
fn reference_along_the_basis_agrees_with_pytorch() {
    check(&Backend::Reference, Method::Exact, 1e-9, 1e-9);
}

#[test]
fn rten_agrees_with_pytorch() {
    check(&Backend::Rten, Method::Auto, 1e-4, 1e-3);
}

#[test]
fn rten_along_the_basis_agrees_with_pytorch() {
    check(&Backend::Rten, Method::Exact, 1e-4, 1e-3);
}

#[test]
fn ort_agrees_with_pytorch() {
    if std::env::var_os("ORT_DYLIB_PATH").is_none() {
        assert!(std::env::var_os("CI").is_none(), "ORT_DYLIB_PATH must be set in CI");
        println!("skipped: ORT_DYLIB_PATH is not set");
        return;
    }
    check(&Backend::Ort { library: None }, Method::Auto, 1e-4, 1e-3);
    check(&Backend::Ort { library: None }, Method::Exact, 1e-4, 1e-3);
}
