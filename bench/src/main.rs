//! Times derivatives on every backend beside `PyTorch` and JAX, case by case in one run, and prints ratios.
//!
//! The other side is `pytorch_side.py`, which also writes the networks and inputs that both sides use.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its results")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use clap::Parser;
use taste_data::npy;
use taste_engine::{Backend, Method, Model, Request, Target, Value, Wants};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Compares derivatives here with `PyTorch` and JAX on this machine.
#[derive(Parser)]
struct Options {
    /// Folder with `cifar10_resnet20.onnx` and `cifar10_resnet56.onnx`.
    #[arg(long)]
    models: PathBuf,
    /// A CIFAR-10 test batch (`test_batch.bin.gz`); without it ResNet-20 sees smooth noise.
    #[arg(long)]
    cifar: Option<PathBuf>,
    /// A Python with torch, jax, folx, onnx and onnxruntime.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// The script of the other side.
    #[arg(long, default_value = "bench/pytorch_side.py")]
    script: PathBuf,
    /// Where networks, inputs and results go.
    #[arg(long, default_value = "target/bench")]
    work: PathBuf,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Runs of each case; the median counts.
    #[arg(long, default_value_t = 7)]
    repeat: usize,
    /// Threads on both sides.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Write the derivative graphs here.
    #[arg(long)]
    keep: Option<PathBuf>,
}

struct Case {
    /// The name on the other side.
    name: &'static str,
    model: &'static str,
    batch: usize,
    target: Option<Target>,
    method: Method,
    wants: Wants,
}

fn cases() -> Vec<Case> {
    let gradient = Wants { gradient: true, ..Wants::default() };
    let laplacian = Wants { laplacian: true, ..Wants::default() };
    let residual = Wants { drift: true, ..laplacian };
    let diagonal = Wants { diagonal: true, ..Wants::default() };
    let probabilities = Some(Target::EveryProb);
    let case = |name, model, batch, target, method, wants| Case {
        name,
        model,
        batch,
        target,
        method,
        wants,
    };
    vec![
        case("resnet20-gradient", "resnet20", 64, None, Method::Auto, gradient),
        case("mnist-gradient", "mnist", 64, None, Method::Auto, gradient),
        case("resnet20-closed-form", "resnet20", 64, probabilities, Method::ClosedForm, residual),
        case("mnist-closed-form", "mnist", 64, probabilities, Method::ClosedForm, residual),
        case("resnet20-hutchinson5", "resnet20", 64, None, Method::Probe(2), laplacian),
        case("mnist-hutchinson5", "mnist", 64, None, Method::Probe(2), laplacian),
        case("gelu-mlp-folx", "gelu", 16, None, Method::Exact, laplacian),
        case("gelu-mlp-hessian-diagonal", "gelu", 16, None, Method::Exact, diagonal),
    ]
}

fn main() -> Outcome<()> {
    let options = Options::parse();
    fs::create_dir_all(&options.work)?;
    println!("| case | PyTorch or JAX | backend | here | times faster |");
    println!("|---|---|---|---|---|");
    for case in cases().iter().filter(|c| c.name.contains(&options.only)) {
        let theirs = other_side(&options, case.name)?;
        let seconds = theirs["median"].as_f64().ok_or("no median from the other side")?;
        for backend in [Backend::Rten, Backend::Ort { library: None }] {
            match time(&options, case, &backend) {
                Ok(ours) => println!(
                    "| {} | {seconds:.4} s | {backend} | {ours:.4} s | {:.2} |",
                    case.name,
                    seconds / ours
                ),
                Err(cause) => eprintln!("{} on {backend}: {cause}", case.name),
            }
        }
        if let (Method::Probe(count), true) = (case.method, theirs["estimator"].is_object()) {
            compare_variance(&options, case, count, &theirs["estimator"])?;
        }
    }
    if options.only.is_empty() {
        growth(&options)?;
    }
    Ok(())
}

/// Runs one case of the script and returns its report.
fn other_side(options: &Options, name: &str) -> Outcome<serde_json::Value> {
    let out = options.work.join(format!("{name}.json"));
    let mut command = Command::new(&options.python);
    command.arg(&options.script).arg("--models").arg(&options.models).args(["--case", name]);
    command.arg("--out").arg(&out).arg("--export").arg(&options.work);
    command.args([
        "--repeat",
        &options.repeat.to_string(),
        "--threads",
        &options.threads.to_string(),
    ]);
    if let Some(cifar) = &options.cifar {
        command.arg("--cifar").arg(cifar);
    }
    let done = command.output()?;
    if !done.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&out)?)?;
    Ok(report["cases"][name].clone())
}

fn read(path: &Path, rows: usize) -> Outcome<Value> {
    match npy::Reader::open(path)?.rows(0, rows)? {
        npy::Elements::F32(a) => Ok(Value::F32(a)),
        _ => Err(format!("{}: not float32", path.display()).into()),
    }
}

fn open(options: &Options, model: &str) -> Outcome<Model> {
    let path = match model {
        "resnet20" | "resnet56" => options.models.join(format!("cifar10_{model}.onnx")),
        other => options.work.join(format!("{other}.onnx")),
    };
    Ok(Model::open(&path)?)
}

fn request(case: &Case, seed: u64) -> Request {
    Request {
        target: case.target,
        method: case.method,
        wants: case.wants,
        seed,
        ..Request::default()
    }
}

/// The median of several runs after one to warm up.
fn time(options: &Options, case: &Case, backend: &Backend) -> Outcome<f64> {
    let model = open(options, case.model)?;
    let derived = model.derive(&request(case, 0))?;
    if let Some(folder) = &options.keep {
        model.derive_file(&request(case, 0))?.save(&folder.join(format!("{}.onnx", case.name)))?;
    }
    let mut compiled = derived.compile(backend, options.threads)?;
    let x = read(&options.work.join(format!("{}_x.npy", case.model)), case.batch)?;
    let score = read(&options.work.join(format!("{}_score.npy", case.model)), case.batch)?;
    let mut feeds = vec![(derived.wrt(), &x)];
    if case.wants.drift {
        feeds.push(("score", &score));
    }
    let mut times = Vec::with_capacity(options.repeat);
    for run in 0..=options.repeat {
        let start = Instant::now();
        compiled.run(&feeds, 0)?;
        if run > 0 {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// The variance of both estimators on the same samples, over seeds.
fn compare_variance(
    options: &Options,
    case: &Case,
    count: usize,
    theirs: &serde_json::Value,
) -> Outcome<()> {
    let other: Vec<f64> = theirs["variance"]
        .as_array()
        .ok_or("no variance")?
        .iter()
        .filter_map(serde_json::Value::as_f64)
        .collect();
    let x = read(&options.work.join(format!("{}_x.npy", case.model)), other.len())?;
    let model = open(options, case.model)?;
    let draws: Vec<Vec<f64>> = (0..30)
        .map(|seed| -> Outcome<Vec<f64>> {
            let derived = model.derive(&request(case, seed))?;
            let mut compiled = derived.compile(&Backend::Rten, options.threads)?;
            let results = compiled.run(&[(derived.wrt(), &x)], 0)?;
            Ok(results.laplacian.ok_or("no Laplacian")?.to_f64().into_iter().collect())
        })
        .collect::<Outcome<_>>()?;
    let runs = draws.len() as f64;
    let ratios: Vec<f64> = (0..other.len())
        .map(|n| {
            let mean = draws.iter().map(|d| d[n]).sum::<f64>() / runs;
            let variance = draws.iter().map(|d| (d[n] - mean).powi(2)).sum::<f64>() / (runs - 1.0);
            variance / other[n].max(f64::MIN_POSITIVE)
        })
        .collect();
    let mut sorted = ratios.clone();
    sorted.sort_by(f64::total_cmp);
    println!(
        "\nVariance of probe:{count} over that of Hutchinson with {} probes, {} samples: median {:.2}, largest {:.2}\n",
        theirs["probes"],
        ratios.len(),
        sorted[sorted.len() / 2],
        sorted[sorted.len() - 1]
    );
    Ok(())
}

/// Deriving and compiling all-class closed forms of networks of different depth.
fn growth(options: &Options) -> Outcome<()> {
    println!("\n| network | operators | derive | compile (rten) |");
    println!("|---|---|---|---|");
    for name in ["resnet20", "resnet56"] {
        let model = open(options, name)?;
        let wants = Wants { laplacian: true, drift: true, diagonal: true, ..Wants::default() };
        let asked = Request { target: Some(Target::EveryProb), wants, ..Request::default() };
        let start = Instant::now();
        let derived = model.derive(&asked)?;
        let deriving = start.elapsed().as_secs_f64();
        derived.compile(&Backend::Rten, options.threads)?;
        let compiling = start.elapsed().as_secs_f64() - deriving;
        println!("| {name} | {} | {deriving:.3} s | {compiling:.3} s |", derived.node_count());
    }
    Ok(())
}
