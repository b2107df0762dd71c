//! Units never decide: a change of units of columns changes no score, no flag and no verdict of any method.

use std::sync::Arc;

use ndarray::{Array1, ArrayD};
use taste_data::InMemory;
use taste_detector::{Detector, Fit, Method, Named, Scores, shift::Batch};
use taste_engine::Model;
use taste_onnx::builders;

use super::{WIDTH, engine, every, labelled, networks, normal, scores};

/// They move samples by a step that is the same for all columns, which has a unit.
const EXEMPT: [&str; 2] = ["odin", "mahalanobis-odin"];

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

/// What a method says of samples like the training data and of others, one by one and as batches.
struct Said {
    scores: [Scores; 2],
    is_shift: [bool; 2],
}

fn said(detector: &Detector, batches: [&ArrayD<f32>; 2]) -> Said {
    let scores = batches.map(|batch| scores(detector, &engine("rten"), batch));
    let is_shift = [0, 1].map(|i| {
        let mut test = Batch::new(detector, 3);
        test.add(&batches[i].view(), &scores[i]).expect("rows");
        test.test(99).expect("a test").p_value <= 0.05
    });
    Said { scores, is_shift }
}

fn spread(values: &[f32]) -> f32 {
    let mean = values.iter().sum::<f32>() / values.len() as f32;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / values.len() as f32).sqrt()
}

/// Fits in both units and compares.
fn same(model: &Model, method: &Arc<dyn Method>) {
    let name = method.name();
    let fit = |model: &Model, train: &InMemory| {
        let fit = Fit::new(model, Arc::clone(method)).engine(engine("rten"));
        fit.run(train, None).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let (train, clean, far) = (normal(1500, 1), normal(200, 2), normal(200, 3) * 1.5);
    let own = fit(model, &labelled(model, train.clone()));
    let other_model = of_units(model);
    let other = fit(&other_model, &labelled(&other_model, in_units(&train)));
    let a = said(&own, [&clean, &far]);
    let b = said(&other, [&in_units(&clean), &in_units(&far)]);
    assert_eq!(a.is_shift, b.is_shift, "{name}: verdicts");
    for (a, b) in a.scores.iter().zip(&b.scores) {
        let mut pairs = vec![(&a.score, &b.score)];
        pairs.extend(a.novelty.as_ref().zip(b.novelty.as_ref()).map(|(a, b)| (&a.score, &b.score)));
        for (a, b) in pairs {
            let off = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off <= 1e-3 * spread(a), "{name}: {off} of {}", spread(a));
        }
        assert_eq!(a.flag, b.flag, "{name}: flags");
    }
}

#[test]
fn no_method_depends_on_units() {
    let model = networks::classifier(WIDTH, 4, 3);
    let methods = every();
    for name in EXEMPT {
        assert!(methods.iter().any(|m| m.name() == name), "{name} is no method");
    }
    // Images have no columns.
    let of_columns = methods.iter().filter(|m| !m.needs().images);
    for method in of_columns.filter(|m| !EXEMPT.contains(&m.name())) {
        same(&model, method);
    }
}

#[test]
fn a_trained_score_model_does_not_depend_on_units() {
    let model = networks::classifier(WIDTH, 4, 3);
    let named = Named::new().with("score-model", "train:steps=100,width=16");
    let method = taste_catalog::method("stein", &named).expect("a method");
    same(&model, &method);
}
