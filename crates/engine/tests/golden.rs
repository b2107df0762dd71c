//! Derivatives of exported models against `PyTorch`'s, in `fixtures/golden` and `fixtures/zoo` (their READMEs
//! tell how they were made), on every backend. `TASTE_GOLDEN` names another folder of that layout,
//! `TASTE_CASE` one model.

#![expect(clippy::print_stdout, reason = "says what is skipped")]

use std::{
    collections::HashMap,
    env,
    error::Error,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use taste_data::npy;
use taste_engine::{Backend, LaplacianMethod, Model, Outputs, Request, Value, Wants};
use taste_graph::{
    Build,
    diff::{Derivatives, vjp},
};

/// How far results may be off, relative to the largest.
#[derive(Clone, Copy)]
struct Tolerance {
    first: f64,
    second: f64,
}

impl Tolerance {
    /// The wider of two.
    fn max(self, other: Self) -> Self {
        if self.first < other.first { other } else { self }
    }
}

const SINGLE: Tolerance = Tolerance { first: 1e-4, second: 1e-3 };
/// Where the file has the weights that `PyTorch` derived with.
const DOUBLE: Tolerance = Tolerance { first: 1e-9, second: 1e-9 };
/// Where the exporter folded weights or constants in single precision.
const FOLDED: Tolerance = Tolerance { first: 1e-6, second: 1e-6 };
const FOLDED_CASES: &[&str] = &["cnn_relu_max_bn", "vit"];
/// Where it did so in a network of many layers.
const DEEP: Tolerance = Tolerance { first: 5e-5, second: 5e-5 };
/// Where it folded weights in half precision.
const HALF: Tolerance = Tolerance { first: 1e-3, second: 5e-3 };
const HALF_CASES: &[&str] = &["cnn_f16"];

/// Models that an engine can't run, with a part of what it says.
const EXCEPTIONS: &[(&str, &str, &str)] = &[("rten", "cnn_3d", "runs over 3 axes")];

/// Every model with the tolerance in double precision.
fn cases() -> Vec<(PathBuf, Tolerance)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let roots = match env::var_os("TASTE_GOLDEN") {
        Some(root) => vec![(PathBuf::from(root), DEEP)],
        None => vec![(fixtures.join("golden"), DOUBLE), (fixtures.join("zoo"), FOLDED)],
    };
    let only = env::var("TASTE_CASE").ok();
    let mut cases = Vec::new();
    for (root, tolerance) in roots {
        for exporter in ["legacy", "dynamo", "sklearn"] {
            let Ok(entries) = fs::read_dir(root.join(exporter)) else { continue };
            let paths = entries.map(|e| e.expect("an entry").path());
            // A folder without a model tells of an export that failed.
            let paths = paths.filter(|p| p.join("model.onnx").exists());
            let paths = paths.filter(|p| only.as_ref().is_none_or(|o| p.ends_with(o)));
            let is = |p: &Path, names: &[&str]| names.iter().any(|name| p.ends_with(name));
            cases.extend(paths.map(|p| {
                let tolerance = if is(&p, HALF_CASES) {
                    HALF
                } else if is(&p, FOLDED_CASES) {
                    tolerance.max(FOLDED)
                } else {
                    tolerance
                };
                (p, tolerance)
            }));
        }
    }
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!cases.is_empty(), "no cases");
    cases
}

/// The array in a file, if there is one; whatever is wrong with a file that is there fails the test.
fn read(case: &Path, name: &str) -> Option<Value> {
    let path = case.join(format!("{name}.npy"));
    if !path.exists() {
        return None;
    }
    let mut file = npy::Reader::open(&path).expect("an array");
    let rows = file.shape()[0];
    Some(match file.rows(0, rows).expect("its rows") {
        npy::Elements::F32(a) => Value::F32(a),
        npy::Elements::F64(a) => Value::F64(a),
        npy::Elements::U8(a) => Value::I64(a.mapv(i64::from)),
        npy::Elements::I64(a) => Value::I64(a),
    })
}

/// The inputs of a model by name, each in a file of that name; one input may also be in `x.npy`.
fn inputs(case: &Path, model: &Model) -> Vec<(String, Value)> {
    let proto = model.onnx().proto.graph.as_ref().expect("a graph");
    let names = proto.input.iter().map(|i| i.name.clone());
    names
        .map(|name| {
            let value = read(case, &name).or_else(|| read(case, "x")).expect("an input");
            (name, value)
        })
        .collect()
}

fn derive(
    case: &Path,
    backend: &Backend,
    method: LaplacianMethod,
    diagonal: bool,
) -> Result<Outputs, Box<dyn Error>> {
    let model = Model::open(&case.join("model.onnx"))?;
    let laplacian = case.join("lap.npy").exists();
    let wants =
        Wants { gradient: true, laplacian, diagonal: diagonal && laplacian, ..Wants::default() };
    let inputs = inputs(case, &model);
    let sample_shapes = inputs.iter().map(|(n, v)| (n.clone(), v.shape()[1..].to_vec())).collect();
    let request = Request { laplacian_method: method, wants, sample_shapes, ..Request::default() };
    let derived = model.derive(&request)?;
    let compiled = derived.compile(backend, 2)?;
    let feeds: Vec<(&str, &Value)> = inputs.iter().map(|(n, v)| (n.as_str(), v)).collect();
    Ok(compiled.run(&feeds, 0)?)
}

/// The first output, and its derivative against `cot.npy`.
fn pull_back(case: &Path, backend: &Backend) -> Result<[Value; 2], Box<dyn Error>> {
    let model = Model::open(&case.join("model.onnx"))?;
    let mut inputs = inputs(case, &model);
    let imported = taste_ops::import(model.onnx(), &[], &HashMap::new())?;
    let (mut graph, x, z) = (imported.graph, imported.inputs[0].1, imported.outputs[0].1);
    let ct = graph.input("cot", graph.fact(z).clone());
    inputs.push(("cot".to_owned(), read(case, "cot").expect("cot.npy")));
    let mut b = Build::new(&mut graph);
    let ct = vjp(&mut b, &Derivatives::from([(z, ct)]), &[x])?[0].expect("a derivative");
    let ends = [("value".to_owned(), z), ("vjp".to_owned(), ct)];
    let feeds: Vec<(&str, &Value)> = inputs.iter().map(|(n, v)| (n.as_str(), v)).collect();
    let results = backend.compile(&graph, &ends, 2)?.run(&feeds)?;
    Ok(results.try_into().expect("two results"))
}

/// The largest difference, relative to the largest entry.
fn distance(got: &Value, want: &Value) -> f64 {
    assert_eq!(got.shape(), want.shape(), "shapes");
    let (got, want) = (got.to_f64(), want.to_f64());
    let scale = want.iter().fold(0.0f64, |m, v| m.max(v.abs())).max(1e-12);
    got.iter().zip(&want).fold(0.0f64, |m, (g, w)| {
        let d = (g - w).abs() / scale;
        if d.is_nan() { f64::INFINITY } else { m.max(d) }
    })
}

/// What is off, by file; empty if nothing is.
fn compare(
    case: &Path,
    backend: &Backend,
    method: LaplacianMethod,
    tolerance: Tolerance,
) -> Result<String, Box<dyn Error>> {
    let Tolerance { first, second } = tolerance;
    let mut results = Vec::new();
    if case.join("cot.npy").exists() {
        let [value, ct] = pull_back(case, backend)?;
        results.extend([("z", Some(value), first), ("vjp", Some(ct), first)]);
    } else {
        let all = derive(case, backend, method, true)?;
        results.push(("f", Some(all.value), first));
        results.push(("grad", all.gradient, first));
        results.push(("lap", all.laplacian, second));
        results.push(("diag", all.diagonal, second));
        let alone = derive(case, backend, method, false)?;
        results.push(("lap", alone.laplacian, second));
    }
    let mut off = Vec::new();
    for (name, got, tolerance) in results {
        let Some(got) = got else { continue };
        let d = distance(&got, &read(case, name).ok_or("nothing to compare with")?);
        if d > tolerance {
            off.push(format!("{name}.npy off by {d:.1e}"));
        }
    }
    Ok(off.join(", "))
}

fn check(backend: &Backend, method: LaplacianMethod, single: Option<Tolerance>) {
    let mut failures = Vec::new();
    let mut fail = |place: &Path, what: &str| {
        println!("{}: {what}", place.display());
        failures.push(format!("{}: {what}", place.display()));
    };
    for (case, double) in cases() {
        let exception =
            EXCEPTIONS.iter().find(|(b, name, _)| *b == backend.name() && case.ends_with(name));
        let tolerance = single.unwrap_or(double).max(double);
        let run = AssertUnwindSafe(|| {
            compare(&case, backend, method, tolerance).map_err(|e| e.to_string())
        });
        match (catch_unwind(run), exception) {
            (Ok(Ok(off)), None) if off.is_empty() => {}
            (Ok(Ok(off)), None) => fail(&case, &off),
            (Ok(Ok(_)), Some(_)) => fail(&case, "is no exception any more"),
            (Ok(Err(e)), Some((.., says))) if e.contains(says) => {}
            (Ok(Err(e)), _) => fail(&case, &e),
            (Err(_), _) => fail(&case, "panicked"),
        }
    }
    assert!(failures.is_empty(), "{backend}, {method}:\n{}", failures.join("\n"));
}

#[test]
fn reference_agrees_with_pytorch() {
    check(&Backend::REFERENCE, LaplacianMethod::AUTO, None);
}

#[test]
fn reference_along_the_basis_agrees_with_pytorch() {
    check(&Backend::REFERENCE, LaplacianMethod::EXACT, None);
}

#[test]
fn rten_agrees_with_pytorch() {
    check(&Backend::RTEN, LaplacianMethod::AUTO, Some(SINGLE));
}

#[test]
fn rten_along_the_basis_agrees_with_pytorch() {
    check(&Backend::RTEN, LaplacianMethod::EXACT, Some(SINGLE));
}

/// ONNX Runtime, if there is one; in CI there must be.
fn ort() -> Option<Backend> {
    if env::var_os("ORT_DYLIB_PATH").is_some() {
        return Some(Backend::ORT);
    }
    assert!(env::var_os("CI").is_none(), "ORT_DYLIB_PATH must be set in CI");
    println!("skipped: ORT_DYLIB_PATH is not set");
    None
}

#[test]
fn ort_agrees_with_pytorch() {
    if let Some(ort) = ort() {
        check(&ort, LaplacianMethod::AUTO, Some(SINGLE));
    }
}

#[test]
fn ort_along_the_basis_agrees_with_pytorch() {
    if let Some(ort) = ort() {
        check(&ort, LaplacianMethod::EXACT, Some(SINGLE));
    }
}
