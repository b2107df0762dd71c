//! Times derivatives on every backend beside `PyTorch` and JAX, in turns, and prints ratios.
//!
//! The other side is `pytorch_side.py`, which also writes the networks and inputs that both sides use.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its results")]

mod cases;
mod here;
mod other_side;

use std::{
    error::Error,
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use taste_engine::{Backend, Request, Target, Wants};

use crate::{
    cases::{Case, cases},
    here::{Runner, median, open, read},
    other_side::OtherSide,
};

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
    /// The paper's MNIST network as `taste train classifier --network paper-mnist --pad 64x64` writes it; without it
    /// its weights are random.
    #[arg(long)]
    mnist: Option<PathBuf>,
    /// MNIST test images (`t10k-images-idx3-ubyte.gz`); without them that network sees smooth noise.
    #[arg(long)]
    digits: Option<PathBuf>,
    /// A Python with torch, torchvision, timm, jax, folx, onnx and onnxruntime.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// The script of the other side.
    #[arg(long, default_value = "bench/pytorch_side.py")]
    script: PathBuf,
    /// Where networks, inputs and results go.
    #[arg(long, default_value = "target/bench")]
    work: PathBuf,
    /// Only cases whose name contains this; `growth` for deriving and compiling alone.
    #[arg(long, default_value = "")]
    only: String,
    /// Rounds in which every side takes a turn; medians count.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Seconds after which a case has no further round, once it had three.
    #[arg(long, default_value_t = 40.0)]
    seconds: f64,
    /// Threads on both sides.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Write the derivative graphs here.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Count seconds on processors instead of those on the wall, where other programs run beside; for one thread.
    #[arg(long)]
    processor: bool,
    /// Vectors of AVX2 alone, where the processor has AVX-512: in our convolutions and in `PyTorch`. What rten and ONNX
    /// Runtime compute themselves stays as it is.
    #[arg(long)]
    avx2: bool,
    /// Leave the other side out, with the inputs that an earlier run wrote.
    #[arg(long)]
    alone: bool,
}

const BACKENDS: [Backend; 2] = [Backend::RTEN, Backend::ORT];
/// Between turns, so that one side's threads are asleep when the other's start.
const PAUSE: Duration = Duration::from_millis(20);

fn main() -> Outcome<()> {
    taste_engine::keep_freed_memory();
    let options = Options::parse();
    if options.avx2 {
        taste_conv::without_avx512();
    }
    fs::create_dir_all(&options.work)?;
    let mut other = None;
    if !options.alone {
        let (side, versions) = OtherSide::start(&options)?;
        println!("{} threads; {versions}\n", options.threads);
        other = Some(side);
    }
    println!("| case | against | there | backend | here | there ÷ here | fastest ÷ fastest |");
    println!("|---|---|---|---|---|---|---|");
    let mut notes = Vec::new();
    for case in cases().iter().filter(|c| c.name.contains(&options.only)) {
        measure(&options, case, other.as_mut(), &mut notes)?;
    }
    if let Some(other) = &mut other {
        for model in ["resnet20", "mnist"]
            .into_iter()
            .filter(|m| options.only.is_empty() || options.only.contains(m))
        {
            notes.push(arithmetic(model, other)?);
        }
    }
    for note in notes {
        println!("\n{note}");
    }
    if options.only.is_empty() || options.only == "growth" {
        growth(&options)?;
    }
    Ok(())
}

/// Both sides in turns; one row for each derivative and backend.
fn measure(
    options: &Options,
    case: &Case,
    mut other: Option<&mut OtherSide>,
    notes: &mut Vec<String>,
) -> Outcome<()> {
    let mut runners = Vec::new();
    if let Some(other) = &mut other {
        let prepared = other.ask("prepare", case.name)?;
        eprintln!("{}: {prepared}", case.name);
    }
    for backend in &BACKENDS {
        let derivative = |here| Runner::of_derivative(options, case, here, backend);
        let mut made: Vec<_> = case.here.iter().map(derivative).collect();
        if case.here.is_empty() {
            made.push(Runner::of_model(options, case, backend));
        }
        for runner in made {
            match runner {
                Ok(mut runner) => {
                    runner.warm_up(options, case)?;
                    runners.push(runner);
                }
                Err(cause) => eprintln!("{} on {backend}: {cause}", case.name),
            }
        }
    }
    let (start, mut theirs) = (Instant::now(), Vec::new());
    for round in 0..options.rounds {
        if round >= 3 && start.elapsed().as_secs_f64() > options.seconds {
            break;
        }
        if let Some(other) = &mut other {
            thread::sleep(PAUSE);
            theirs.extend(other.ask("run", case.name)?.as_f64());
        }
        for runner in &mut runners {
            thread::sleep(PAUSE);
            runner.turn()?;
        }
    }
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    for Runner { what, backend, times, .. } in &runners {
        let (there, here) = (median(&theirs), median(times));
        println!(
            "| {} {what} | {} | {there:.4} s | {backend} | {here:.4} s | {:.2} | {:.2} |",
            case.model,
            case.other,
            there / here,
            least(&theirs) / least(times)
        );
    }
    for here in &case.here {
        if let ("probe", Some(other)) = (here.method.kind().choice.name, &mut other) {
            notes.push(compare_variance(options, case, here, other)?);
        }
    }
    Ok(())
}

/// How long the operations of a derivative take at the machine's best, whoever computes them: a gradient has those of
/// two forward passes, the closed form those of one and of a product with the Jacobian for all classes but one.
fn arithmetic(model: &str, other: &mut OtherSide) -> Outcome<String> {
    let told = other.ask("arithmetic", model)?;
    let number = |name: &str| told[name].as_f64().ok_or("no arithmetic");
    let (forward, best) = (number("forward")?, number("best")?);
    let pass = forward / best;
    Ok(format!(
        "{model}: a forward pass has {:.1} Gflop; products of large matrices run at {:.0} Gflop/s here, at which it takes {pass:.4} s, \
         a gradient {:.4} s, the closed form {:.4} s.",
        forward / 1e9,
        best / 1e9,
        2.0 * pass,
        10.0 * pass
    ))
}

/// The variance of both estimators on the same samples, over seeds.
fn compare_variance(
    options: &Options,
    case: &Case,
    here: &cases::Here,
    other: &mut OtherSide,
) -> Outcome<String> {
    let spread = other.ask("spread", case.name)?;
    let variances = spread["variance"].as_array().ok_or("no variance")?;
    let theirs: Vec<f64> = variances.iter().filter_map(serde_json::Value::as_f64).collect();
    let x = read(&options.work.join(format!("{}_x.npy", case.model)), theirs.len())?;
    let model = open(options, case.model)?;
    let draws: Vec<Vec<f64>> = (0..30)
        .map(|seed| -> Outcome<Vec<f64>> {
            let derived = model.derive(&here.request(seed))?;
            let compiled = derived.compile(&Backend::RTEN, options.threads)?;
            let results = compiled.run(&[(derived.wrt(), &x)], 0)?;
            Ok(results.laplacian.ok_or("no Laplacian")?.to_f64().into_iter().collect())
        })
        .collect::<Outcome<_>>()?;
    let runs = draws.len() as f64;
    let variance = |n: usize| {
        let mean = draws.iter().map(|d| d[n]).sum::<f64>() / runs;
        draws.iter().map(|d| (d[n] - mean).powi(2)).sum::<f64>() / (runs - 1.0)
    };
    let ours: Vec<f64> = (0..theirs.len()).map(variance).collect();
    let ratios: Vec<f64> =
        ours.iter().zip(&theirs).map(|(o, t)| o / t.max(f64::MIN_POSITIVE)).collect();
    Ok(format!(
        "{}: variance of {} over that of Hutchinson with {} probes, {} samples: {:.2} in all, median {:.2}, largest {:.2}.",
        case.model,
        here.what,
        spread["probes"],
        ratios.len(),
        ours.iter().sum::<f64>() / theirs.iter().sum::<f64>(),
        median(&ratios),
        ratios.iter().copied().fold(0.0, f64::max)
    ))
}

/// Deriving and compiling all-class residuals with maps, of networks of different depth. Some engines put work off to
/// the first run: what that takes longer than the second counts as well.
fn growth(options: &Options) -> Outcome<()> {
    println!("\n| network | nodes | derive | compile, rten | compile, ort |");
    println!("|---|---|---|---|---|");
    let feed = |name: &str| read(&options.work.join(format!("resnet20_{name}.npy")), 16);
    let (x, score) = (feed("x")?, feed("score")?);
    for name in ["resnet20", "resnet56"] {
        let model = open(options, name)?;
        let wants = Wants { laplacian: true, drift: true, diagonal: true, ..Wants::default() };
        let asked = Request { target: Some(Target::every_prob()), wants, ..Request::default() };
        let (mut deriving, mut compiling) = (Vec::new(), [Vec::new(), Vec::new()]);
        let mut nodes = 0;
        for _ in 0..5 {
            let start = Instant::now();
            let derived = model.derive(&asked)?;
            deriving.push(start.elapsed().as_secs_f64());
            nodes = derived.node_count();
            for (backend, times) in BACKENDS.iter().zip(&mut compiling) {
                let start = Instant::now();
                match derived.compile(backend, options.threads) {
                    Ok(compiled) => {
                        let field = derived.field().ok_or("no field")?;
                        let run = || compiled.run(&[(derived.wrt(), &x), (field, &score)], 0);
                        run()?;
                        let (first, start) = (start.elapsed(), Instant::now());
                        run()?;
                        times.push(first.saturating_sub(start.elapsed()).as_secs_f64());
                    }
                    Err(cause) => eprintln!("{name} on {backend}: {cause}"),
                }
            }
        }
        let (derive, [rten, ort]) = (median(&deriving), compiling.map(|t| median(&t)));
        println!("| {name} | {nodes} | {derive:.3} s | {rten:.3} s | {ort:.3} s |");
    }
    Ok(())
}
