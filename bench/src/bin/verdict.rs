//! What a verdict costs in forward passes: detectors beside the model alone, in turns, in one run.
//!
//! `cargo run --release -p taste-bench --bin verdict -- DETECTOR.onnx… --model M.onnx --data X.npy`

#![expect(clippy::print_stdout, reason = "prints its results")]

use std::{path::PathBuf, time::Instant};

use clap::Parser;
use taste_data::Samples;
use taste_detector::{Detector, Engine};
use taste_engine::{Backend, Model};
use taste_stats::quantile::median;

#[derive(Parser)]
struct Args {
    /// The detectors, of one model
    #[arg(required = true)]
    detectors: Vec<PathBuf>,
    /// The model
    #[arg(long)]
    model: PathBuf,
    /// Samples
    #[arg(long)]
    data: PathBuf,
    /// Samples at once
    #[arg(long, default_values_t = [64, 1])]
    batch: Vec<usize>,
    /// Repetitions, in turns
    #[arg(long, default_value_t = 31)]
    times: usize,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The engine
    #[arg(long, default_value = "rten")]
    backend: Backend,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    taste_engine::keep_freed_memory();
    let args = Args::parse();
    let engine = Engine { backend: args.backend, threads: args.threads };
    let detectors =
        args.detectors.iter().map(|p| Detector::open(p)).collect::<Result<Vec<_>, _>>()?;
    let facts = &detectors[0].manifest().model;
    let model = Model::open(&args.model)?;
    let forward = engine.backend.load(&model, &[&facts.output], engine.threads)?;
    let scorers =
        detectors.iter().map(|d| d.start(&engine, false)).collect::<Result<Vec<_>, _>>()?;
    let data = detectors[0].open_data(&args.data, false)?;
    for &batch in &args.batch {
        let samples = data.chunks(batch)?.next().ok_or("no samples")??.values;
        let mut times = vec![Vec::new(); 1 + scorers.len()];
        for round in 0..=args.times {
            for (which, own) in times.iter_mut().enumerate() {
                let started = Instant::now();
                match which.checked_sub(1) {
                    None => drop(forward.run(&[(&*facts.input, samples.view())])?),
                    Some(which) => drop(scorers[which].score(samples.view())?),
                }
                // The first round warms up.
                if round > 0 {
                    own.push(started.elapsed().as_secs_f64());
                }
            }
        }
        let medians: Vec<f64> = times.iter().filter_map(|t| median(t)).collect();
        println!("batch {batch}: the model alone {:.2} ms", 1e3 * medians[0]);
        for (path, time) in args.detectors.iter().zip(&medians[1..]) {
            let passes = time / medians[0];
            println!("  {}: {:.2} ms, {passes:.2} forward passes", path.display(), 1e3 * time);
        }
    }
    Ok(())
}
