//! How well detectors tell MNIST test digits from other pictures: AUROC for every fitted score model.
//!
//! `cargo run --release -p taste-bench --bin mnist -- --data DIR --model mnist_cnn.onnx`, with the folders `mnist` and
//! `fashion-mnist` of IDX files in DIR.

#![expect(clippy::print_stdout, reason = "prints its results")]

use std::{path::PathBuf, time::Instant};

use clap::Parser;
use ndarray::{Array3, ArrayD, Axis, Slice};
use taste_data::{Dataset, InMemory, Options, Samples};
use taste_engine::{Backend, Model};
use taste_stein::{Detector, Fit, score, stats::rank::auroc};

#[derive(Parser)]
struct Args {
    /// The folder that holds `mnist` and `fashion-mnist`
    #[arg(long)]
    data: PathBuf,
    /// The classifier
    #[arg(long)]
    model: PathBuf,
    /// Test pictures of each kind
    #[arg(long, default_value_t = 2000)]
    pictures: usize,
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
    let model = Model::open(&args.model)?;
    let options = Options { sample_shape: Some(vec![1, 28, 28]), ..Options::default() };
    let open = |name: &str| Dataset::open(&args.data.join(name), &options);
    let train = open("mnist/train-images-idx3-ubyte.gz")?;
    let digits = first(&open("mnist/t10k-images-idx3-ubyte.gz")?, args.pictures)?;
    let clothes = first(&open("fashion-mnist/t10k-images-idx3-ubyte.gz")?, args.pictures)?;
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
            let detector = Fit::new(&model, score::parse(spec)?)
                .aggregate(aggregate.parse()?)
                .backend(Backend::RTEN, args.threads)
                .run(&train, None)?;
            let seconds = started.elapsed().as_secs_f64();
            let (inside, flagged) = scores(&detector, &digits, args.threads)?;
            let mut cells = Vec::new();
            for (_, pictures) in &others {
                let (outside, _) = scores(&detector, pictures, args.threads)?;
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
    pictures: &ArrayD<f32>,
    threads: usize,
) -> Result<(Vec<f64>, f64), Failure> {
    let mut scorer = detector.start(&Backend::RTEN, threads, false)?;
    let (mut all, mut flagged) = (Vec::new(), 0);
    for start in (0..pictures.shape()[0]).step_by(128) {
        let end = pictures.shape()[0].min(start + 128);
        let part = pictures.slice_axis(Axis(0), Slice::from(start..end)).to_owned();
        let found = scorer.score(InMemory::new("part", part).values())?;
        all.extend(found.score.iter().map(|&s| f64::from(s)));
        flagged += found.flag.iter().filter(|f| **f).count();
    }
    let share = flagged as f64 / all.len() as f64;
    Ok((all, share))
}

/// Pictures turned about their centre, bilinear, with zeros outside.
fn rotated(pictures: &ArrayD<f32>, degrees: f64) -> ArrayD<f32> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let mut turned = pictures.clone();
    for (mut to, from) in turned.outer_iter_mut().zip(pictures.outer_iter()) {
        let from: Array3<f32> = from.to_owned().into_dimensionality().expect("1 × H × W");
        let (_, height, width) = from.dim();
        let (cy, cx) = ((height as f64 - 1.0) / 2.0, (width as f64 - 1.0) / 2.0);
        let at = |y: f64, x: f64| -> f64 {
            let inside = y >= 0.0 && x >= 0.0 && y < height as f64 && x < width as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "inside the picture"
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
