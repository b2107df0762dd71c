//! What scoring costs beyond the residuals themselves: a detector beside the bare graph of derivatives and score.
//!
//! `cargo run --release -p taste-bench --bin overhead -- --model M.onnx --data X --score-model gaussian:diagonal`

#![expect(clippy::print_stdout, reason = "prints its results")]

use std::{path::PathBuf, sync::Arc, time::Instant};

use clap::Parser;
use taste_data::{Dataset, Options, Samples};
use taste_detector::{Engine, Fit, Settings};
use taste_engine::{Backend, Model, Request};
use taste_stats::quantile::median;
use taste_stein::{Residuals, SteinMethod, fields, operators};

#[derive(Parser)]
struct Args {
    /// The model
    #[arg(long)]
    model: PathBuf,
    /// Samples
    #[arg(long)]
    data: PathBuf,
    /// The score model
    #[arg(long, default_value = "gaussian:diagonal")]
    score: String,
    /// Samples at once
    #[arg(long, default_value_t = 64)]
    batch: usize,
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
    let model = Model::open(&args.model)?;
    let sizes = model.inputs().first().and_then(|p| p.shape.clone()).unwrap_or_default();
    let sizes: Option<Vec<usize>> = sizes.into_iter().skip(1).map(Result::ok).collect();
    let options = Options { sample_shape: sizes, ..Options::default() };
    let data = Dataset::open(&args.data, &options)?;
    let engine = Engine { backend: args.backend, threads: args.threads };
    let method = SteinMethod::new(taste_stein::Settings::new(&args.score)?);
    let settings = Settings { held_out: 400, map: Some(false), ..Settings::default() };
    let detector = Fit::new(&model, Arc::new(method))
        .settings(settings)
        .engine(engine.clone())
        .run(&data, None)?;
    let scorer = detector.start(&engine, false)?;
    let field = fields::fit(&*fields::parse(&args.score)?, &data, 0)?;
    let operator = operators::langevin();
    let bare = Residuals::new(&model, &*field, &*operator, &Request::default(), &engine)?;
    let samples = data.chunks(args.batch)?.next().ok_or("no samples")??.values;
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for round in 0..=args.times {
        let started = Instant::now();
        bare.of(&samples)?;
        let middle = Instant::now();
        scorer.score(samples.view())?;
        // The first round warms up.
        if round > 0 {
            other.push((middle - started).as_secs_f64());
            own.push(middle.elapsed().as_secs_f64());
        }
    }
    let (own, other) = median(&own).zip(median(&other)).ok_or("no repetitions")?;
    println!(
        "residuals {:.2} ms, detector {:.2} ms, ratio {:.3}",
        1e3 * other,
        1e3 * own,
        own / other
    );
    Ok(())
}
