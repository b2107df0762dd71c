//! Times training steps on every backend beside `PyTorch`, in turns, and prints ratios.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its results")]

use std::{
    cell::RefCell,
    error::Error,
    io::{BufRead, BufReader, Write},
    ops::ControlFlow,
    path::PathBuf,
    process::{ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};

use clap::Parser;
use ndarray::ArrayD;
use taste_data::InMemory;
use taste_engine::Backend;
use taste_stats::{quantile, random::Random};
use taste_train::{Network, Training, networks};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Compares training steps here with those of `PyTorch` on this machine: two threads on both sides.
#[derive(Parser)]
struct Options {
    /// A Python with torch.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// The script of the other side.
    #[arg(long, default_value = "bench/training_side.py")]
    script: PathBuf,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Rounds in which every side takes a few steps; medians count.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Steps in a round.
    #[arg(long, default_value_t = 8)]
    steps: usize,
}

const BACKENDS: [Backend; 2] = [Backend::RTEN, Backend::ORT];
const THREADS: usize = 2;
/// The first steps of a run compile, and fill what is kept.
const WARM_UP: usize = 3;

/// Networks with the batch that a step sees.
fn cases() -> Vec<(&'static str, Network, usize)> {
    let small = Network::new(&[1, 16, 16])
        .conv(16, 3)
        .relu()
        .average_pool(2)
        .flatten()
        .dense(64)
        .relu()
        .dense(10);
    vec![
        ("mlp", networks::mlp(784, &[512, 512], 10), 128),
        ("small-convolutions", small, 128),
        ("paper-digits", networks::paper_digits(), 32),
        ("resnet20", networks::resnet20([3, 32, 32], 10), 64),
        ("paper-score", networks::paper_score([1, 64, 64]), 32),
    ]
}

/// The script that runs beside this program.
struct OtherSide {
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl OtherSide {
    fn start(options: &Options) -> Outcome<Self> {
        let mut process = Command::new(&options.python)
            .arg(&options.script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let questions = process.stdin.take().ok_or("no way to ask the other side")?;
        let answers = BufReader::new(process.stdout.take().ok_or("no way to hear it")?);
        Ok(Self { questions, answers })
    }

    /// Seconds of one step.
    fn step(&mut self, case: &str) -> Outcome<f64> {
        writeln!(self.questions, "{case}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

/// Seconds of every step of a short run.
fn steps(network: &Network, batch: usize, backend: &Backend, count: usize) -> Outcome<Vec<f64>> {
    let mut random = Random::new(1);
    let rows = 4 * batch;
    let shape = [&[rows], network.sample_shape()].concat();
    #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
    let values = ArrayD::from_shape_simple_fn(shape, || random.uniform() as f32);
    let labels = (0..rows as i64).map(|i| i % 10).collect();
    let samples = InMemory::new("random", values).with_labels(labels);
    let times = RefCell::new(Vec::new());
    let progress = |_: &taste_train::Progress<'_>| {
        times.borrow_mut().push(Instant::now());
        ControlFlow::Continue(())
    };
    let training = match network.result_shape()?[..] {
        [_] => Training::classifier(network),
        _ => Training::score(network, 0.2),
    };
    training
        .steps(WARM_UP + count)
        .batch(batch)
        .rate(1e-4)
        .backend(backend.clone(), THREADS)
        .progress(&progress)
        .run(&samples)?;
    let times = times.borrow();
    Ok(times[WARM_UP - 1..].windows(2).map(|w| (w[1] - w[0]).as_secs_f64()).collect())
}

fn median(numbers: &[f64]) -> f64 {
    quantile::median(numbers).unwrap_or(f64::NAN)
}

fn main() -> Outcome<()> {
    taste_engine::keep_freed_memory();
    let options = Options::parse();
    let mut other = OtherSide::start(&options)?;
    println!("| network | batch | PyTorch | backend | here | PyTorch ÷ here | fastest ÷ fastest |");
    println!("|---|---|---|---|---|---|---|");
    for (case, network, batch) in cases().iter().filter(|c| c.0.contains(&options.only)) {
        let mut theirs = Vec::new();
        let mut ours = vec![Vec::new(); BACKENDS.len()];
        for round in 0..options.rounds {
            for _ in 0..options.steps {
                theirs.push(other.step(case)?);
            }
            for (times, backend) in ours.iter_mut().zip(&BACKENDS) {
                times.extend(steps(network, *batch, backend, options.steps)?);
            }
            eprintln!("{case}: round {} of {}", round + 1, options.rounds);
        }
        let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        for (times, backend) in ours.iter().zip(&BACKENDS) {
            let fastest = least(&theirs) / least(times);
            let (there, here) = (median(&theirs), median(times));
            println!(
                "| {case} | {batch} | {:.1} ms | {} | {:.1} ms | {:.2} | {fastest:.2} |",
                1e3 * there,
                backend.name(),
                1e3 * here,
                there / here,
            );
        }
    }
    Ok(())
}
