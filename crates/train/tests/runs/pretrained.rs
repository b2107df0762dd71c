//! Training that starts from an exported network.

use ndarray::Array2;
use taste_data::InMemory;
use taste_engine::{Backend, Model, Value};
use taste_train::{Network, Pretrained, Trained, Training};

use crate::common::{normal, samples};

/// Samples with the sector of the plane that they lie in.
fn sectors(rows: usize, classes: usize) -> InMemory {
    let points = normal(rows, 2, 7);
    let sector = |angle: f64| {
        let share = angle / std::f64::consts::TAU + 0.5;
        (0..classes).rposition(|c| c as f64 <= share * classes as f64).unwrap_or(0)
    };
    let labels = points.outer_iter().map(|p| sector(p[1].atan2(p[0])) as i64).collect();
    samples(&points).with_labels(labels)
}

/// With biases of zero in two layers of one width.
fn network() -> Network {
    Network::new(&[2]).dense(16).relu().dense(16).relu().dense(16).relu().dense(2)
}

fn train(training: Training<'_>, steps: usize, data: &InMemory) -> Trained {
    let training = training.steps(steps).held_out(0.2).backend(Backend::RTEN, 1);
    training.run(data).expect("a run")
}

fn logits(model: &Model, points: &Array2<f64>) -> Vec<f64> {
    let session = Backend::REFERENCE.load(model, &["logits"], 1).expect("a session");
    let points = Value::from(points.clone().into_dyn());
    session.run(&[("input", &points)]).expect("logits")[0].to_f64().into_iter().collect()
}

fn accuracy(trained: &Trained) -> f64 {
    trained.held_out().and_then(|h| h.accuracy).expect("an accuracy")
}

#[test]
fn a_network_goes_on_from_its_file() {
    let (network, data) = (network(), sectors(1000, 2));
    let first = train(Training::classifier(&network).rate(3e-3), 150, &data);
    let model = first.model().expect("a model");
    let start = Pretrained::new(&model, &[2], 2).expect("a start");
    assert!(!start.has_new_head);
    assert_eq!(start.parameters.count(), first.parameters().count());
    let points = normal(50, 2, 8);
    let training = Training::classifier(&start.network).start(&start.parameters);
    // At a rate that changes nothing, the network is what it was.
    let same = train(training.clone().rate(1e-12), 1, &data).model().expect("a model");
    for (a, b) in logits(&model, &points).into_iter().zip(logits(&same, &points)) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    let longer = train(training.rate(3e-3), 150, &data);
    let loss = |t: &Trained| t.held_out().expect("held-out samples").loss;
    assert!(loss(&longer) < loss(&first), "{} {}", loss(&longer), loss(&first));
}

#[test]
fn equal_constants_are_weights_of_their_own() {
    let (network, data) = (network(), sectors(200, 2));
    // Before the first step that counts, all biases are zero: one constant in the file.
    let model = train(Training::classifier(&network).rate(1e-12), 1, &data);
    let zeroed = model.model().expect("a model");
    let start = Pretrained::new(&zeroed, &[2], 2).expect("a start");
    assert_eq!(
        start.parameters.iter().count(),
        network.parameters(0).expect("weights").iter().count()
    );
}

#[test]
fn other_classes_get_a_new_head() {
    let network = network();
    let two = train(Training::classifier(&network).rate(3e-3), 200, &sectors(1000, 2));
    let data = sectors(2000, 4);
    let start = Pretrained::new(&two.model().expect("a model"), &[2], 4).expect("a start");
    assert!(start.has_new_head);
    assert_eq!(start.network.result_shape().expect("a shape"), [4]);
    let training = Training::classifier(&start.network).start(&start.parameters).rate(5e-3);
    let four = train(training, 400, &data);
    assert!(accuracy(&four) > 0.9, "{}", accuracy(&four));
}

#[test]
fn what_can_not_be_started_from_is_refused() {
    let network = network();
    let trained = train(Training::classifier(&network), 1, &sectors(200, 2));
    let model = trained.model().expect("a model");
    let wrong = Pretrained::new(&model, &[3], 2).expect_err("three columns").to_string();
    assert!(wrong.contains("[2]") && wrong.contains("[3]"), "{wrong}");
}
