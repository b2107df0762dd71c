//! Units never decide: a change of units of columns changes no score, no flag and no verdict, whatever the target, the
//! score model, the operator and the aggregate.

use std::slice;

use ndarray::{Array1, ArrayD};
use taste_data::{Chunks, InMemory, Samples};
use taste_detector::{Detector, Level, shift::Batch};
use taste_engine::{Backend, Model};
use taste_onnx::{DimSpec, ElemType, builders};
use taste_stein::Tail;

use crate::common::{Trial, engine, network, normal};

const WIDTH: usize = 5;
const UNITS: [f32; WIDTH] = [1e4, 1e-4, 37.0, 0.003, 50.0];
const ALPHA: f64 = 0.05;

/// Correlated columns, of which the last is the same everywhere.
pub(crate) fn table(rows: usize, shift: f32, seed: u64) -> ArrayD<f32> {
    let mut x = normal(rows, WIDTH, 0.0, seed).values().clone();
    for mut row in x.outer_iter_mut() {
        row[0] += shift;
        row[1] = 0.7 * row[0] + 0.7 * row[1];
        row[2] += shift;
        row[3] = 2.0 + (0.5 * row[3]).exp();
        row[4] = 3.0;
    }
    x
}

pub(crate) fn in_units(x: &ArrayD<f32>) -> ArrayD<f32> {
    x * &Array1::from(UNITS.to_vec())
}

/// The same model, for samples in other units.
pub(crate) fn of_units(model: &Model) -> Model {
    let mut onnx = model.onnx().clone();
    let graph = onnx.proto.graph.as_mut().expect("a graph");
    for node in &mut graph.node {
        node.input.iter_mut().filter(|i| *i == "x").for_each(|i| "plain".clone_into(i));
    }
    graph.node.insert(0, builders::node("Div", &["x", "units"], &["plain"], "units"));
    graph.initializer.push(builders::tensor_f32("units", &[1, WIDTH], &UNITS));
    Model::from_onnx("units.onnx", onnx)
}

/// What a detector says of samples, and whether its score or its residuals show a shift of batches.
struct Said {
    score: Vec<f32>,
    flag: Vec<bool>,
    map: Option<ArrayD<f32>>,
    shifted: Vec<bool>,
    findings: Vec<(String, Level)>,
}

fn said(detector: &Detector, batches: &[ArrayD<f32>]) -> Said {
    let scorer = detector.start(&engine(&Backend::RTEN), true).expect("a scorer");
    let scores = |batch: &ArrayD<f32>| scorer.score(batch.view()).expect("scores");
    let shifted = |batch: &ArrayD<f32>| {
        let mut test = Batch::new(detector, 3);
        test.add(&batch.view(), &scores(batch)).expect("rows");
        let found = test.test(99).expect("a test");
        // The score, or the mean residual, which the score of one residual need not show.
        let residuals = &found.information.tests;
        found.p_value <= ALPHA || residuals.iter().any(|t| t.adjusted_p_value <= ALPHA)
    };
    let first = scores(&batches[0]);
    let findings = &detector.manifest().findings;
    Said {
        shifted: batches.iter().map(shifted).collect(),
        score: first.score,
        flag: first.flag,
        map: first.map,
        findings: findings.iter().map(|f| (f.check.clone(), f.level)).collect(),
    }
}

/// The largest difference, in standard deviations.
fn apart<'a>(a: impl Iterator<Item = &'a f32> + Clone, b: impl Iterator<Item = &'a f32>) -> f32 {
    let count = a.clone().count() as f32;
    let mean = a.clone().sum::<f32>() / count;
    let spread = (a.clone().map(|v| (v - mean).powi(2)).sum::<f32>() / count).sqrt();
    a.zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max) / spread
}

/// Fits with `choose` in both units, and compares. Scores differ by at most so much of their spread.
fn is_same(
    what: &str,
    model: &Model,
    field: &str,
    choose: impl for<'m> Fn(Trial<'m>) -> Trial<'m>,
) -> Said {
    let train = table(600, 0.0, 1);
    let mut batches = [table(120, 0.3, 2), table(120, 0.0, 3), table(300, 2.0, 4)];
    // What never varied has no unit to be measured in.
    batches[0].slice_mut(ndarray::s![..;7, 4]).fill(4.5);
    let fit = |model: &Model, train: ArrayD<f32>| {
        let trial = choose(Trial::named(model, field));
        let data = InMemory::new("train", train);
        trial.run(&data).unwrap_or_else(|e| panic!("{what}: {e}"))
    };
    let plain = said(&fit(model, train.clone()), &batches);
    let (other_model, others) = (of_units(model), batches.each_ref().map(in_units));
    let other = said(&fit(&other_model, in_units(&train)), &others);
    let off = apart(plain.score.iter(), other.score.iter());
    assert!(off <= 1e-3, "{what}: scores are {off} standard deviations apart");
    assert_eq!(plain.flag, other.flag, "{what}: flags");
    assert_eq!(plain.shifted, other.shifted, "{what}: verdicts");
    assert_eq!(plain.findings, other.findings, "{what}: findings");
    if let (Some(a), Some(b)) = (&plain.map, &other.map) {
        let off = apart(a.iter(), b.iter());
        assert!(off <= 1e-3, "{what}: maps are {off} standard deviations apart");
    }
    plain
}

fn classifiers() -> [Model; 2] {
    [network(&[WIDTH, 12, 3], "Relu", 1), network(&[WIDTH, 12, 3], "Tanh", 2)]
}

#[test]
fn no_score_model_and_no_operator_depends_on_units() {
    for model in &classifiers() {
        for field in ["gaussian", "gaussian:diagonal,noise=0.2", "gmm:2", "kde"] {
            for operator in
                ["langevin", "no-laplacian", "score-only", "first-order:ones", "first-order-norm"]
            {
                let what = format!("{operator} along {field}");
                is_same(&what, model, field, |t| t.operator(operator));
            }
        }
    }
}

#[test]
fn no_aggregate_depends_on_units() {
    for model in &classifiers() {
        for aggregate in ["l2", "max", "predicted", "class:1", "profile", "profile+score"] {
            for precondition in ["diagonal", "full"] {
                let what = format!("{aggregate}, {precondition}");
                is_same(&what, model, "gaussian", |t| {
                    t.aggregate(aggregate).precondition(precondition)
                });
            }
        }
    }
}

#[test]
fn no_target_depends_on_units() {
    for model in &classifiers() {
        for target in ["prob", "logit", "logit:1", "margin", "energy", "output:0", "entropy"] {
            if target.parse::<taste_engine::Target>().is_ok() {
                is_same(target, model, "gmm:2", |t| t.target(target));
            }
        }
    }
    let regressor = network(&[WIDTH, 12, 1], "Relu", 3);
    for baseline in ["mean", "median", "none"] {
        is_same(baseline, &regressor, "gaussian", |t| t.baseline(baseline));
    }
}

#[test]
fn a_shift_that_the_model_reacts_to_is_seen_in_any_unit() {
    let model = network(&[WIDTH, 12, 1], "Tanh", 3);
    let said = is_same("a regressor", &model, "gaussian", |t| t);
    assert_eq!(said.shifted[1..], [false, true]);
    assert!(said.findings.iter().all(|f| f.0 != "one column"), "{:?}", said.findings);
}

/// The same model, exported for a fixed number of samples.
fn with_batch(model: &Model, rows: i64) -> Model {
    let mut onnx = model.onnx().clone();
    let graph = onnx.proto.graph.as_mut().expect("a graph");
    let value = |name: &str, width: i64| {
        let shape = [DimSpec::Fixed(rows), DimSpec::Fixed(width)];
        builders::value_info(name, ElemType::F32, &shape)
    };
    graph.input = vec![value("x", WIDTH as i64)];
    graph.output = vec![value(&graph.output[0].name, 3)];
    Model::from_onnx("fixed.onnx", onnx)
}

#[test]
fn a_fixed_batch_scores_as_an_open_one() {
    let (train, batch) = (InMemory::new("train", table(600, 0.0, 1)), table(30, 0.3, 2));
    for model in &classifiers() {
        for precondition in ["diagonal", "full"] {
            for (method, target) in [
                ("auto", "probs"),
                ("exact", "prob:1"),
                ("hutchinson:4", "prob:1"),
                ("closed-form", "energy"),
                ("probe:8", "prob:1"),
            ] {
                let fit = |model: &Model| {
                    let trial = Trial::named(model, "gaussian").precondition(precondition);
                    trial.target(target).laplacian(method).run(&train)
                };
                let fixed = with_batch(model, 4);
                let (Ok(open), Ok(fixed)) = (fit(model), fit(&fixed)) else {
                    assert!(method == "closed-form" || method == "probe:8", "{method}");
                    continue;
                };
                let what = format!("{precondition}, {method}");
                let only = slice::from_ref(&batch);
                let (a, b) = (said(&open, only), said(&fixed, only));
                // Random signs differ from sample to sample of a fixed batch.
                let limit = if method.contains(':') { 3.0 } else { 1e-4 };
                let off = apart(a.score.iter(), b.score.iter());
                assert!(off < limit, "{what}: {off}");
            }
        }
    }
}

/// Samples whose columns have names.
struct Named(InMemory, Vec<String>);

impl Samples for Named {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn sample_shape(&self) -> &[usize] {
        self.0.sample_shape()
    }

    fn count(&self) -> Option<usize> {
        self.0.count()
    }

    fn columns(&self) -> Option<&[String]> {
        Some(&self.1)
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, taste_data::Error> {
        self.0.chunks(rows)
    }
}

/// Without a metric the unit decides, and the fit says so.
#[test]
fn the_operator_of_the_paper_depends_on_units_and_says_so() {
    let model = of_units(&network(&[WIDTH, 12, 1], "Tanh", 3));
    let columns: Vec<String> = (0..WIDTH).map(|i| format!("column {i}")).collect();
    let train = Named(InMemory::new("train", in_units(&table(600, 0.0, 1))), columns);
    for (precondition, expected) in [("none", true), ("diagonal", false)] {
        let trial =
            Trial::named(&model, "gaussian").precondition(precondition).tail(Tail::TwoSided);
        let detector = trial.run(&train).expect("a detector");
        let manifest = detector.manifest();
        let plain_model = network(&[WIDTH, 12, 1], "Tanh", 3);
        let plain = Trial::named(&plain_model, "gaussian").precondition(precondition);
        let plain = plain.run(&InMemory::new("train", table(600, 0.0, 1))).expect("a detector");
        let batch = table(100, 0.3, 2);
        let (a, b) = (said(&plain, slice::from_ref(&batch)), said(&detector, &[in_units(&batch)]));
        let off = apart(a.score.iter(), b.score.iter());
        assert!(if expected { off > 0.1 } else { off < 1e-3 }, "{precondition}: {off}");
        let named = manifest.findings.iter().any(|f| f.check == "one column");
        assert_eq!(named, expected, "{precondition}: {:?}", manifest.findings);
        assert_eq!(manifest.method.facts["precondition"], precondition);
        assert_eq!(manifest.method.facts["baseline"], "mean");
    }
}
