//! How well detectors tell MNIST test digits from other images: AUROC for every fitted score model.
//!
//! `cargo run --release -p taste-bench --bin mnist -- --data DIR --model mnist_cnn.onnx`, with the folders `mnist` and
//! `fashion-mnist` of IDX files in DIR.

#![expect(clippy::print_stdout, reason = "prints its results")]

use std::{path::PathBuf, sync::Arc, time::Instant};

use clap::Parser;
use ndarray::{Array3, ArrayD, Axis, Slice};
use taste_data::{Dataset, Options, Samples};
use taste_detector::{Detector, Engine, Fit};
use taste_engine::{Backend, Model};
use taste_stats::rank::auroc;
use taste_stein::{Settings, SteinMethod, aggregates};

#[derive(Parser)]
struct Args {
    /// The folder that holds `mnist` and `fashion-mnist`
    #[arg(long)]
    data: PathBuf,
    /// The classifier
    #[arg(long)]
    model: PathBuf,
    /// Test images of each kind
    #[arg(long, default_value_t = 2000)]
    images: usize,
    /// Score models
    #[arg(
        long,
        value_delimiter = ';',
        default_value = "standard-normal;gaussian:diagonal;gaussian;gmm:10;kde"
    )]
    scores: Vec<String>,
    /// Aggregates
    #[arg(long, value_delimiter = ',', default_value = "l2,predicted,profile,profile+score")]
    aggregates: Vec<String>,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

type Failure = Box<dyn std::error::Error>;

/// Degrees of the rotations.
const ANGLES: [f64; 4] = [15.0, 30.0, 45.0, 90.0];

fn main() -> Result<(), Failure> {
    taste_engine::keep_freed_memory();
    let args = Args::parse();
    let engine = Engine { backend: Backend::RTEN, threads: args.threads };
    let model = Model::open(&args.model)?;
    let options = Options { sample_shape: Some(vec![1, 28, 28]), ..Options::default() };
    let open = |name: &str| Dataset::open(&args.data.join(name), &options);
    let train = open("mnist/train-images-idx3-ubyte.gz")?;
    let digits = first(&open("mnist/t10k-images-idx3-ubyte.gz")?, args.images)?;
    let clothes = first(&open("fashion-mnist/t10k-images-idx3-ubyte.gz")?, args.images)?;
    let mut others = vec![("fashion".to_owned(), clothes)];
    for angle in ANGLES {
        others.push((format!("{angle}°"), rotated(&digits, angle)));
    }
    let names: Vec<&str> = others.iter().map(|o| o.0.as_str()).collect();
    println!("| score model | aggregate | {} | flagged digits | fit (s) |", names.join(" | "));
    println!("|---|---|{}---:|---:|", "---:|".repeat(others.len()));
    for spec in &args.scores {
        for aggregate in &args.aggregates {
            let started = Instant::now();
            let mut settings = Settings::new(spec)?;
            settings.aggregate = Some(aggregates::parse(aggregate)?);
            let detector = Fit::new(&model, Arc::new(SteinMethod::new(settings)))
                .engine(engine.clone())
                .run(&train, None)?;
            let seconds = started.elapsed().as_secs_f64();
            let (inside, flagged) = scores(&detector, &digits, &engine)?;
            let mut cells = Vec::new();
            for (_, images) in &others {
                let (outside, _) = scores(&detector, images, &engine)?;
                let area = auroc(&inside, &outside).ok_or("no scores")?;
                cells.push(format!("{area:.3}"));
            }
            println!(
                "| `{spec}` | `{aggregate}` | {} | {:.1} % | {seconds:.0} |",
                cells.join(" | "),
                100.0 * flagged
            );
        }
    }
    Ok(())
}

/// The first samples of a data set.
fn first(data: &dyn Samples, count: usize) -> Result<ArrayD<f32>, Failure> {
    let chunk = data.chunks(count)?.next().ok_or("no samples")??;
    Ok(chunk.values)
}

/// Scores, and the share that is flagged.
fn scores(
    detector: &Detector,
    images: &ArrayD<f32>,
    engine: &Engine,
) -> Result<(Vec<f64>, f64), Failure> {
    let scorer = detector.start(engine, false)?;
    let (mut all, mut flagged) = (Vec::new(), 0);
    for start in (0..images.shape()[0]).step_by(128) {
        let end = images.shape()[0].min(start + 128);
        let found = scorer.score(images.slice_axis(Axis(0), Slice::from(start..end)))?;
        all.extend(found.score.iter().map(|&s| f64::from(s)));
        flagged += found.flag.iter().filter(|f| **f).count();
    }
    let share = flagged as f64 / all.len() as f64;
    Ok((all, share))
}

/// Images turned about their centre, bilinear, with zeros outside.
fn rotated(images: &ArrayD<f32>, degrees: f64) -> ArrayD<f32> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let mut turned = images.clone();
    for (mut to, from) in turned.outer_iter_mut().zip(images.outer_iter()) {
        let from: Array3<f32> = from.to_owned().into_dimensionality().expect("1 × H × W");
        let (_, height, width) = from.dim();
        let (cy, cx) = ((height as f64 - 1.0) / 2.0, (width as f64 - 1.0) / 2.0);
        let at = |y: f64, x: f64| -> f64 {
            let inside = y >= 0.0 && x >= 0.0 && y < height as f64 && x < width as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "inside the image"
            )]
            let value = if inside { from[[0, y as usize, x as usize]] } else { 0.0 };
            f64::from(value)
        };
        for y in 0..height {
            for x in 0..width {
                let (dy, dx) = (y as f64 - cy, x as f64 - cx);
                let (sy, sx) = (cos * dy - sin * dx + cy, sin * dy + cos * dx + cx);
                let (fy, fx) = (sy.floor(), sx.floor());
                let (wy, wx) = (sy - fy, sx - fx);
                let top = (1.0 - wx) * at(fy, fx) + wx * at(fy, fx + 1.0);
                let bottom = (1.0 - wx) * at(fy + 1.0, fx) + wx * at(fy + 1.0, fx + 1.0);
                #[expect(clippy::cast_possible_truncation, reason = "pixels are single precision")]
                let value = ((1.0 - wy) * top + wy * bottom) as f32;
                to[[0, y, x]] = value;
            }
        }
    }
    turned
}
