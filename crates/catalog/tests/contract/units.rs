//! A trained score model does not depend on the units of columns either.

use ndarray::{Array1, ArrayD};
use taste_data::InMemory;
use taste_detector::{Fit, Named, Settings};
use taste_engine::Model;
use taste_onnx::builders;

use super::{WIDTH, engine, networks, normal, scores};

const UNITS: [f32; WIDTH] = [1e4, 1e-4, 37.0, 0.003, 1.0, 500.0];

fn in_units(x: &ArrayD<f32>) -> ArrayD<f32> {
    x * &Array1::from(UNITS.to_vec())
}

/// The same model, for samples in other units.
fn of_units(model: &Model) -> Model {
    let mut onnx = model.onnx().clone();
    let graph = onnx.proto.graph.as_mut().expect("a graph");
    let name = graph.input[0].name.clone();
    for node in &mut graph.node {
        node.input.iter_mut().filter(|i| **i == name).for_each(|i| "plain".clone_into(i));
    }
    graph.node.insert(0, builders::node("Div", &[&name, "units"], &["plain"], "units"));
    graph.initializer.push(builders::tensor_f32("units", &[1, WIDTH], &UNITS));
    Model::from_onnx("units.onnx", onnx)
}

#[test]
fn a_trained_score_model_does_not_depend_on_units() {
    let model = networks::classifier(WIDTH, 4, 3);
    let named = Named::new().with("score-model", "train:steps=100,width=16");
    let method = taste_catalog::method("stein", &named).expect("a method");
    let said = |model: &Model, train: ArrayD<f32>, test: &ArrayD<f32>| {
        let train = InMemory::new("train", train);
        let fit = Fit::new(model, method.clone()).settings(Settings::default());
        let detector = fit.engine(engine("rten")).run(&train, None).expect("a detector");
        scores(&detector, &engine("rten"), test)
    };
    let (train, test) = (normal(900, 1), normal(100, 2));
    let a = said(&model, train.clone(), &test);
    let b = said(&of_units(&model), in_units(&train), &in_units(&test));
    let mean = a.score.iter().sum::<f32>() / a.score.len() as f32;
    let spread = a.score.iter().map(|s| (s - mean).powi(2)).sum::<f32>() / a.score.len() as f32;
    let off = a.score.iter().zip(&b.score).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(off <= 1e-3 * spread.sqrt(), "{off} of {}", spread.sqrt());
    assert_eq!(a.flag, b.flag);
}
