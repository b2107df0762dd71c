//! Times `taste fit` of two builds in turns: whether fitting takes no longer than before.
//!
//! `cargo run --release -p taste-bench --bin fit -- BEFORE NOW --model M.onnx --data X --score-model gaussian -- --no-map`,
//! with the paths of two `taste` programs. What stands behind the last `--` goes to both.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its results")]

use std::{
    error::Error,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use clap::Parser;
use taste_stats::quantile::median;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Parser)]
struct Args {
    /// The program of before
    before: PathBuf,
    /// The program of now
    now: PathBuf,
    /// The model
    #[arg(long)]
    model: PathBuf,
    /// Training data
    #[arg(long)]
    data: PathBuf,
    /// Score models, each measured by itself
    #[arg(long, value_delimiter = ';', default_value = "gaussian")]
    score: Vec<String>,
    /// Rounds in which both programs take a turn, after one to warm up; medians count
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Further arguments of `taste fit`
    #[arg(last = true)]
    further: Vec<OsString>,
}

fn main() -> Outcome<()> {
    let args = Args::parse();
    let folder = tempfile::tempdir()?;
    println!("| score model | before | now | now ÷ before | fastest ÷ fastest |");
    println!("|---|---:|---:|---:|---:|");
    for score in &args.score {
        let (mut before, mut now) = (Vec::new(), Vec::new());
        for round in 0..=args.rounds {
            // Whoever comes first finds colder caches: they take turns at that, too.
            let mut turns = [(&args.before, &mut before), (&args.now, &mut now)];
            if round % 2 == 1 {
                turns.reverse();
            }
            for (program, times) in turns {
                let seconds = fit(&args, program, score, folder.path())?;
                if round > 0 {
                    times.push(seconds);
                }
            }
            eprintln!("{score}: round {round} of {}", args.rounds);
        }
        let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        let fastest = least(&now) / least(&before);
        let (before, now) = median(&before).zip(median(&now)).ok_or("no rounds")?;
        let ratio = now / before;
        println!("| `{score}` | {before:.3} s | {now:.3} s | {ratio:.3} | {fastest:.3} |");
    }
    Ok(())
}

/// Seconds that a program takes to fit a detector.
fn fit(args: &Args, program: &Path, score: &str, folder: &Path) -> Outcome<f64> {
    let mut command = Command::new(program);
    command.arg("fit").arg("--model").arg(&args.model).arg("--data").arg(&args.data);
    command.args(["--score", score, "--threads", &args.threads.to_string(), "--quiet"]);
    command.arg("--out").arg(folder.join("detector.onnx")).args(&args.further);
    let started = Instant::now();
    let output = command.output()?;
    let seconds = started.elapsed().as_secs_f64();
    if output.status.success() {
        return Ok(seconds);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}: {}", program.display(), said.trim()).into())
}
