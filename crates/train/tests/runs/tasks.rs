//! Runs on data with known answers.

use ndarray::{Array2, ArrayD, Axis, array};
use taste_data::InMemory;
use taste_engine::{Backend, Value};
use taste_stats::random::Random;
use taste_train::{Augment, Decay, Network, Trained, Training};

use crate::common::{normal, samples, settled};

/// Two classes that a circle divides.
fn rings(rows: usize, seed: u64) -> InMemory {
    let points = normal(rows, 2, seed);
    let labels = points.outer_iter().map(|p| i64::from(p.dot(&p) > 2.0 * 2f64.ln())).collect();
    samples(&points).with_labels(labels)
}

/// What a model makes of samples.
fn apply(trained: &Trained, values: &Array2<f64>) -> ArrayD<f64> {
    let model = trained.model().expect("a model");
    let graph = model.onnx().proto.graph.as_ref().expect("a graph");
    let (input, output) = (graph.input[0].name.clone(), graph.output[0].name.clone());
    let session = Backend::REFERENCE.load(&model, &[&output], 1).expect("a session");
    let values = Value::from(values.clone().into_dyn());
    session.run(&[(&input, &values)]).expect("results")[0].to_f64()
}

#[test]
fn a_classifier_learns_a_circle() {
    let network = Network::new(&[2]).dense(32).relu().dense(2);
    let trained = Training::classifier(&network)
        .steps(400)
        .batch(64)
        .rate(1e-2)
        .decay(Decay::Cosine)
        .held_out(0.2)
        .seed(1)
        .backend(Backend::RTEN, 1)
        .run(&rings(2000, 1))
        .expect("a run");
    let held_out = trained.held_out().expect("held-out samples");
    assert_eq!(held_out.samples, 400);
    assert!(held_out.accuracy.is_some_and(|a| a > 0.95), "{held_out:?}");
    assert_eq!(trained.curve().last().map(|p| p.step), Some(400));
    let far = apply(&trained, &array![[0.0, 0.0], [2.5, 0.0]]);
    assert!(far[[0, 0]] > far[[0, 1]] && far[[1, 0]] < far[[1, 1]]);
}

#[test]
fn a_regressor_learns_a_function() {
    let points = normal(2000, 2, 2);
    let f = |x: f64, y: f64| (1.5 * x).sin() + 0.5 * y;
    #[expect(clippy::cast_possible_truncation, reason = "targets are single precision")]
    let targets = points.map_axis(Axis(1), |p| f(p[0], p[1]) as f32).insert_axis(Axis(1));
    let network = Network::new(&[2]).dense(64).relu().dense(1);
    let trained = Training::regressor(&network)
        .steps(3000)
        .batch(64)
        .rate(5e-3)
        .decay(Decay::Cosine)
        .backend(Backend::RTEN, 1)
        .run_with_targets(&samples(&points), &targets.into_dyn())
        .expect("a run");
    let fresh = normal(500, 2, 3);
    let results = apply(&trained, &fresh);
    let gap: f64 = fresh
        .outer_iter()
        .zip(results.outer_iter())
        .map(|(p, r)| (f(p[0], p[1]) - r[0]).powi(2))
        .sum();
    assert!(gap / 500.0 < 5e-3, "{}", gap / 500.0);
}

/// ‖s − ŝ‖ / ‖s‖ over fresh points, in L²(p).
fn relative_error(
    trained: &Trained,
    points: &Array2<f64>,
    score: impl Fn([f64; 2]) -> [f64; 2],
) -> f64 {
    let found = apply(trained, points);
    let (mut gap, mut size) = (0.0, 0.0);
    for (point, found) in points.outer_iter().zip(found.outer_iter()) {
        let wanted = score([point[0], point[1]]);
        gap += (wanted[0] - found[0]).powi(2) + (wanted[1] - found[1]).powi(2);
        size += wanted[0].powi(2) + wanted[1].powi(2);
    }
    (gap / size).sqrt()
}

const SIGMA: f64 = 0.5;

fn score_training(network: &Network, steps: usize) -> Training<'_> {
    settled(Training::score(network, SIGMA)).steps(steps).seed(3)
}

#[test]
fn score_matching_finds_the_score_of_a_gaussian() {
    // Covariance [[1, 0.6], [0.6, 0.72]], to which the noise adds σ².
    let draw = |rows, seed| normal(rows, 2, seed).dot(&array![[1.0, 0.6], [0.0, 0.6]]);
    let (a, b, c) = (1.0 + SIGMA * SIGMA, 0.6, 0.72 + SIGMA * SIGMA);
    let determinant = a * c - b * b;
    let score =
        |x: [f64; 2]| [-(c * x[0] - b * x[1]) / determinant, -(a * x[1] - b * x[0]) / determinant];
    let fresh = draw(2000, 11) + normal(2000, 2, 12) * SIGMA;
    let network = Network::new(&[2]).dense(64).silu().dense(2);
    let error = |rows: usize| {
        let trained = score_training(&network, 4000).run(&samples(&draw(rows, 10))).expect("a run");
        relative_error(&trained, &fresh, score)
    };
    let (few, many) = (error(200), error(20_000));
    assert!(many < 0.05, "{many}");
    assert!(many < 0.5 * few, "{many} with much data, {few} with little");
}

#[test]
fn score_matching_finds_the_score_of_a_mixture() {
    let centre = 1.5;
    let draw = |rows: usize, seed: u64| {
        let mut points = normal(rows, 2, seed) * 0.5;
        for (at, mut point) in points.outer_iter_mut().enumerate() {
            point[0] += if at % 3 == 0 { centre } else { -centre };
        }
        points
    };
    let variance = 0.25 + SIGMA * SIGMA;
    let score = |x: [f64; 2]| {
        let odds = 0.5 * (2.0 * centre * x[0] / variance).exp();
        let mean = centre * (odds - 1.0) / (odds + 1.0);
        [(mean - x[0]) / variance, -x[1] / variance]
    };
    let fresh = draw(3000, 21) + normal(3000, 2, 22) * SIGMA;
    let network = Network::new(&[2]).dense(64).silu().dense(64).silu().dense(2);
    let trained = score_training(&network, 2000).run(&samples(&draw(30_000, 20))).expect("a run");
    let error = relative_error(&trained, &fresh, score);
    assert!(error < 0.05, "{error}");
}

#[test]
fn a_seed_determines_the_weights() {
    let network = Network::new(&[1, 6, 6]).conv(4, 3).relu().conv(1, 3);
    let images = InMemory::new("images", {
        let mut random = Random::new(4);
        #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
        ArrayD::from_shape_simple_fn(vec![100, 1, 6, 6], || random.normal() as f32)
    });
    let run = |seed: u64| {
        Training::score(&network, 0.3)
            .steps(20)
            .batch(16)
            .augment(Augment { flip: true, shift: 1 })
            .average(0.9)
            .seed(seed)
            .backend(Backend::RTEN, 2)
            .run(&images)
            .expect("a run")
    };
    let first = run(1);
    assert_eq!(first.parameters(), run(1).parameters());
    assert_ne!(first.parameters(), run(2).parameters());
}

#[test]
fn the_best_weights_are_kept() {
    // Labels that are noise: whatever is learnt makes the held-out loss worse.
    let points = normal(200, 2, 5);
    let mut random = Random::new(6);
    let labels = (0..200).map(|_| i64::from(random.bits() >> 63 == 1)).collect();
    let network = Network::new(&[2]).dense(64).relu().dense(64).relu().dense(2);
    let trained = Training::classifier(&network)
        .steps(2000)
        .batch(32)
        .rate(1e-2)
        .held_out(0.3)
        .patience(5)
        .backend(Backend::RTEN, 1)
        .run(&samples(&points).with_labels(labels))
        .expect("a run");
    let losses: Vec<f64> = trained.curve().iter().filter_map(|p| p.held_out).collect();
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(losses.len() < 100, "stopped after {} judgements", losses.len());
    assert_eq!(trained.held_out().map(|h| h.loss), Some(best));
    assert!(losses.last().is_some_and(|last| *last > best));
}

#[test]
fn bad_data_are_refused_in_words() {
    let network = Network::new(&[2]).dense(4).relu().dense(2);
    let training = Training::classifier(&network).steps(5).backend(Backend::RTEN, 1);
    let fails = |samples: &InMemory, part: &str| {
        let error = training.run(samples).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    fails(&InMemory::new("none", ArrayD::zeros(vec![0, 2])).with_labels(vec![]), "no samples");
    let nan = InMemory::new("nan", ArrayD::from_elem(vec![3, 2], f32::NAN));
    fails(&nan.with_labels(vec![0, 1, 0]), "finite");
    let constant = InMemory::new("constant", ArrayD::ones(vec![9, 2]));
    fails(&constant.with_labels(vec![0; 9]), "the same");
    fails(&InMemory::new("wide", ArrayD::ones(vec![9, 3])), "shape [2], got [3]");
    let points = samples(&normal(9, 2, 7));
    fails(&points, "no labels");
    fails(&points.clone().with_labels(vec![0, 1, 2, 0, 1, 0, 1, 0, 1]), "sample 2 has the label 2");
    fails(&points.clone().with_labels(vec![0, 1, -1, 0, 1, 0, 1, 0, 1]), "label -1");
    fails(&points.clone().with_labels(vec![1; 9]), "every sample has the label 1");
    let small = Training::classifier(&network).memory(16);
    let labelled = points.clone().with_labels(vec![0, 1, 0, 1, 0, 1, 0, 1, 0]);
    let error = small.run(&labelled).expect_err("too large").to_string();
    assert!(error.contains("memory"), "{error}");
    #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
    let huge = (normal(64, 2, 8) * 1e30).mapv(|v| v as f32);
    let huge = InMemory::new("huge", huge.into_dyn());
    let error = Training::score(&Network::new(&[2]).dense(2), 0.1).run(&huge).expect_err("huge");
    assert!(error.to_string().contains("diverged"), "{error}");
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let network = Network::new(&[2]).dense(3);
    let points = samples(&normal(9, 2, 9));
    let targets = ArrayD::zeros(vec![9, 3]);
    assert!(Training::score(&network, 0.1).run(&points).is_err());
    assert!(Training::score(&Network::new(&[2]).dense(2), 0.0).run(&points).is_err());
    assert!(Training::regressor(&network).run(&points).is_err());
    assert!(Training::classifier(&network).run_with_targets(&points, &targets).is_err());
    let short = ArrayD::zeros(vec![4, 3]);
    let regressor = Training::regressor(&network).steps(2).backend(Backend::RTEN, 1);
    assert!(regressor.run_with_targets(&points, &short).is_err());
    assert!(regressor.run_with_targets(&points, &targets).is_ok());
    assert!(regressor.clone().rate(f64::NAN).run_with_targets(&points, &targets).is_err());
    assert!(regressor.clone().batch(0).run_with_targets(&points, &targets).is_err());
    assert!(regressor.clone().patience(2).run_with_targets(&points, &targets).is_err());
    let augment = Augment { flip: true, shift: 0 };
    assert!(regressor.augment(augment).run_with_targets(&points, &targets).is_err());
}
