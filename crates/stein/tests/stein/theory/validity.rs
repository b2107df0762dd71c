//! Without a shift, the method taste flags as many fresh samples as α says, over calibrations whose tails and scores are all
//! new: on tables and images, for classifiers and regressors, for harm and novelty. `TASTE_VALIDITY=full` looks at more
//! sizes of calibration sets and prints what it finds.

#![expect(clippy::print_stdout, reason = "the figures of the long run")]

use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};
use taste_choice::Arguments;
use taste_data::InMemory;
use taste_detector::{Fit, Method, Named, Settings};
use taste_engine::{Backend, Model};
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};
use taste_stats::{beta_binomial, random::Random};
use taste_stein::evidence::FAMILY;

use super::conformal::band;
use crate::common::{engine, network, single};

const CALIBRATIONS: u64 = 300;
const FRESH: usize = 20;
const TRAINING: usize = 300;
const LEVELS: [f64; 3] = [0.01, 0.05, 0.1];
/// The chance that any count of a run is outside of its band.
const MISS: f64 = 1e-4;

/// A model, and the shape of its samples.
struct Case {
    name: &'static str,
    model: Model,
    shape: &'static [usize],
}

#[test]
fn a_classifier_of_rows_is_flagged_as_often_as_asked_for() {
    let model = network(&[5, 8, 3], "Relu", 41);
    check(&Case { name: "table classifier", model, shape: &[5] }, "task");
}

#[test]
fn a_regressor_of_rows_is_flagged_as_often_as_asked_for() {
    let model = network(&[5, 8, 1], "Relu", 42);
    check(&Case { name: "table regressor", model, shape: &[5] }, "full");
}

#[test]
fn a_classifier_of_images_is_flagged_as_often_as_asked_for() {
    check(&Case { name: "image classifier", model: convolution(43), shape: &[1, 6, 6] }, "task");
}

/// 1 × 6 × 6 images, a convolution to 3 × 3, means of its four channels, three classes.
fn convolution(seed: u64) -> Model {
    let mut random = Random::new(seed);
    let mut draw =
        |n: usize| -> Vec<f32> { (0..n).map(|_| single(0.5 * random.normal())).collect() };
    let mut graph = GraphProto { name: "convolution".into(), ..GraphProto::default() };
    for (name, shape) in [("k", &[4, 1, 2, 2][..]), ("w", &[4, 3]), ("b", &[3])] {
        let values = draw(shape.iter().product());
        graph.initializer.push(builders::tensor_f32(name, shape, &values));
    }
    let mut conv = builders::node("Conv", &["x", "k"], &["c"], "conv");
    conv.attribute.push(builders::attr_ints("strides", &[2, 2]));
    graph.node.push(conv);
    graph.node.push(builders::node("Relu", &["c"], &["r"], "relu"));
    graph.node.push(builders::node("GlobalAveragePool", &["r"], &["p"], "pool"));
    graph.node.push(builders::node("Flatten", &["p"], &["f"], "flatten"));
    graph.node.push(builders::node("Gemm", &["f", "w", "b"], &["z"], "dense"));
    let dims = |sizes: &[usize]| -> Vec<DimSpec> {
        let fixed = sizes.iter().map(|&n| DimSpec::Fixed(n as i64));
        std::iter::once(DimSpec::Symbol("N".into())).chain(fixed).collect()
    };
    graph.input.push(builders::value_info("x", ElemType::F32, &dims(&[1, 6, 6])));
    graph.output.push(builders::value_info("z", ElemType::F32, &dims(&[3])));
    Model::from_onnx("convolution.onnx", taste_onnx::Model::new(builders::model(graph, 20)))
}

/// Samples whose entries go together, with long tails.
fn samples(rows: usize, shape: &[usize], seed: u64) -> ArrayD<f32> {
    let mut random = Random::new(seed);
    let width: usize = shape.iter().product();
    let mut values = Vec::with_capacity(rows * width);
    for _ in 0..rows {
        let (common, size) = (random.normal(), (0.3 * random.normal()).exp());
        values.extend((0..width).map(|_| single(size * (0.7 * common + random.normal()))));
    }
    let shape: Vec<usize> = std::iter::once(rows).chain(shape.iter().copied()).collect();
    ArrayD::from_shape_vec(IxDyn(&shape), values).expect("rows of that shape")
}

fn method(set: &str) -> Arc<dyn Method> {
    let set = format!("set={set}");
    let mut arguments = Arguments::new("method", FAMILY.choice().usage, Some(&set));
    FAMILY.read(&mut arguments, &Named::new()).expect("a set")
}

/// The number of calibration scores, and how many fresh samples have p-values of harm and of novelty within every level.
fn counts(case: &Case, set: &str, size: usize) -> (usize, [[usize; LEVELS.len()]; 2]) {
    let train = InMemory::new("train", samples(TRAINING, case.shape, 1));
    let settings = Settings { map: Some(false), alpha: 0.1, ..Settings::default() };
    let engine = engine(&Backend::RTEN);
    let fit = Fit::new(&case.model, method(set)).settings(settings).engine(engine.clone());
    let (mut scores, mut within) = (0, [[0; LEVELS.len()]; 2]);
    for round in 0..CALIBRATIONS {
        let seed = 10_000 * size as u64 + 2 * round;
        let calibration = InMemory::new("calibration", samples(size, case.shape, seed));
        let detector = fit.run(&train, Some(&calibration)).expect("a detector");
        scores = detector.calibration().len();
        let scorer = detector.start(&engine, false).expect("a scorer");
        let fresh = samples(FRESH, case.shape, seed + 1);
        let found = scorer.score(fresh.view()).expect("scores");
        let novelty = found.novelty.expect("novelty").p_value;
        for (counts, p) in within.iter_mut().zip([&found.p_value, &novelty]) {
            for (count, alpha) in counts.iter_mut().zip(LEVELS) {
                *count += p.iter().filter(|p| f64::from(**p) <= alpha + 1e-6).count();
            }
        }
    }
    (scores, within)
}

/// Looks at a set and at novelty, with few calibration samples; in the long run at both sets and more sizes.
fn check(case: &Case, set: &'static str) {
    let is_full = std::env::var("TASTE_VALIDITY").is_ok_and(|v| v == "full");
    let sizes: &[usize] = if is_full { &[50, 200, 1000, 5000] } else { &[50] };
    let sets = if is_full { vec!["task", "full"] } else { vec![set] };
    let looks = (sets.len() * sizes.len() * 2 * LEVELS.len()) as f64;
    for &size in sizes {
        for set in &sets {
            let (scores, within) = counts(case, set, size);
            for (what, counts) in [*set, "novelty"].into_iter().zip(within) {
                for (count, alpha) in counts.into_iter().zip(LEVELS) {
                    let (low, high) = expected(scores, alpha, MISS / looks);
                    let row = row(case.name, what, (size, scores), alpha, [count, low, high]);
                    if is_full {
                        println!("{row}");
                    }
                    assert!((low..=high).contains(&count), "{row}");
                }
            }
        }
    }
}

/// A row of a table: the model, the set, samples and scores, the level, what is flagged, and its band.
fn row(
    name: &str,
    set: &str,
    (size, scores): (usize, usize),
    alpha: f64,
    counts: [usize; 3],
) -> String {
    let all = CALIBRATIONS as f64 * FRESH as f64;
    let [found, low, high] = counts.map(|n| format!("{:.2}", 100.0 * n as f64 / all));
    format!("| {name} | {set} | {size} | {scores} | {alpha} | {found} % | {low} to {high} % |")
}

/// The counts that are no surprise at a level.
fn expected(scores: usize, alpha: f64, miss: f64) -> (usize, usize) {
    let rank = (alpha * (scores as f64 + 1.0) + 1e-9).floor();
    if rank < 1.0 {
        return (0, 0);
    }
    let one = beta_binomial::chances(FRESH, rank, scores as f64 + 1.0 - rank);
    band(&one, CALIBRATIONS, miss)
}
