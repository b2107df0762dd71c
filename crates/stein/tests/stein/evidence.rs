//! The method `taste` from end to end.

use std::sync::Arc;

use ndarray::{Array4, ArrayD, Axis};
use taste_data::InMemory;
use taste_detector::{Detector, Fit, Method, Named, Role, Settings, shift::Batch};
use taste_engine::{Backend, Model};
use taste_onnx::{DimSpec, ElemType, Values, builders, proto::GraphProto};
use taste_stats::{random::Random, rank::auroc};
use taste_stein::evidence::FAMILY;

use crate::{
    common::{engine, network, normal, single},
    parts::fit_in_parts,
    units::{in_units, of_units, table},
};

fn method(text: &str) -> Arc<dyn Method> {
    let (family, mut arguments) =
        taste_choice::pick("method", &[FAMILY], text).expect("the method");
    let method = family.read(&mut arguments, &Named::new()).expect("its arguments");
    arguments.finish().expect("nothing left");
    method
}

fn fit(model: &Model, text: &str, train: ArrayD<f32>) -> Detector {
    let train = InMemory::new("train", train);
    Fit::new(model, method(text))
        .settings(Settings { seed: 3, ..Settings::default() })
        .engine(engine(&Backend::RTEN))
        .run(&train, None)
        .expect("a detector")
}

fn scores(detector: &Detector, x: &ArrayD<f32>, map: bool) -> taste_detector::Scores {
    let scorer = detector.start(&engine(&Backend::RTEN), map).expect("a scorer");
    scorer.score(x.view()).expect("scores")
}

#[test]
fn no_unit_of_a_column_decides() {
    for (widths, text) in [
        (&[5, 16, 8, 3][..], "taste"),
        (&[5, 16, 8, 3], "taste:set=full"),
        (&[5, 12, 1], "taste"),
        (&[5, 3], "taste"),
    ] {
        let model = network(widths, "Relu", 7);
        let (plain, train, new) = (of_units(&model), table(900, 0.0, 1), table(200, 0.7, 2));
        let one = scores(&fit(&model, text, train.clone()), &new, false);
        let two = scores(&fit(&plain, text, in_units(&train)), &in_units(&new), false);
        let spread = one.score.iter().fold(0.0f32, |m, s| m.max(*s));
        for (a, b) in one.score.iter().zip(&two.score) {
            assert!((a - b).abs() < 1e-3 * spread, "{widths:?} {text}: {a} {b}");
        }
        assert_eq!(one.flag, two.flag, "{widths:?} {text}");
        let (a, b) = (one.novelty.expect("novelty"), two.novelty.expect("novelty"));
        let apart = a.score.iter().zip(&b.score).filter(|(a, b)| (**a - **b).abs() > 0.01).count();
        assert!(apart <= 2, "{apart} of 200");
    }
}

/// A network that reads the first two of four columns.
fn blind(seed: u64) -> Model {
    let model = network(&[4, 24, 3], "Relu", seed);
    let mut onnx = model.onnx().clone();
    let graph = onnx.proto.graph.as_ref().expect("a graph");
    let w0 = graph.initializer.iter().position(|t| t.name == "w0").expect("weights");
    let tensor = onnx.tensor(&onnx.proto.graph.as_ref().expect("a graph").initializer[w0]);
    let Values::F32(mut values) = tensor.expect("values").values else { panic!("floats") };
    for v in &mut values {
        *v *= 3.0;
    }
    values[48..].fill(0.0);
    let graph = onnx.proto.graph.as_mut().expect("a graph");
    graph.initializer[w0] = builders::tensor_f32("w0", &[4, 24], &values);
    Model::from_onnx("blind.onnx", onnx)
}

#[test]
fn what_the_model_does_not_read_is_new_and_harmless() {
    let model = blind(5);
    let detector = fit(&model, "taste", normal(3000, 4, 0.0, 1).values().clone());
    let clean = normal(600, 4, 0.0, 2).values().clone();
    let moved = |column: usize| {
        let mut x = clean.clone();
        x.index_axis_mut(Axis(1), column).mapv_inplace(|v| v + 3.0);
        x
    };
    let wide = |v: &[f32]| v.iter().map(|&s| f64::from(s)).collect::<Vec<_>>();
    let usual = scores(&detector, &clean, false);
    for column in 0..4 {
        let found = scores(&detector, &moved(column), false);
        let harm = auroc(&wide(&usual.score), &wide(&found.score)).expect("samples");
        let of = |s: &taste_detector::Scores| wide(&s.novelty.as_ref().expect("novelty").score);
        let novelty = auroc(&of(&usual), &of(&found)).expect("samples");
        assert!(novelty > 0.9, "column {column}: novelty {novelty}");
        if column < 2 {
            assert!(harm > 0.75, "column {column}: harm {harm}");
        } else {
            assert!((harm - 0.5).abs() < 0.1, "column {column}: harm {harm}");
        }
    }
}

#[test]
fn terms_add_up_and_maps_are_what_goes_away() {
    let model = network(&[5, 16, 8, 3], "Tanh", 3);
    let detector = fit(&model, "taste", table(1500, 0.0, 1));
    let x = table(150, 0.6, 4);
    let found = scores(&detector, &x, true);
    let evidence = found.part("evidence").expect("terms");
    for (row, score) in evidence.outer_iter().zip(&found.score) {
        assert!((row.sum() - score).abs() < 1e-4 * (1.0 + score.abs()), "{row} {score}");
        assert!(row.iter().all(|e| *e >= -1e-5), "{row}");
    }
    // The map adds up to what a step toward the data takes off the score: more for samples that are further out.
    let map = found.map.expect("a map");
    let sums: Vec<f32> = map.outer_iter().map(|m| m.sum()).collect();
    let mut order: Vec<usize> = (0..sums.len()).collect();
    order.sort_by(|&a, &b| found.score[a].total_cmp(&found.score[b]));
    let mean = |of: &[usize]| of.iter().map(|&i| sums[i]).sum::<f32>() / of.len() as f32;
    let (near, far) = (mean(&order[..75]), mean(&order[75..]));
    assert!(far > 0.1 && far > near, "{near} near, {far} far out");
    // The last column is the same everywhere: nothing comes from it.
    assert!(map.outer_iter().all(|m| m[4].abs() < 1e-3), "{map}");
}

#[test]
fn parts_have_their_roles_and_drifts_are_white() {
    let model = network(&[5, 16, 8, 3], "Relu", 7);
    let detector = fit(&model, "taste", table(6000, 0.0, 1));
    let parts = &detector.manifest().parts;
    let roles: Vec<(&str, Role)> = parts.iter().map(|p| (p.name.as_str(), p.role)).collect();
    assert_eq!(
        roles,
        [
            ("evidence", Role::Evidence),
            ("novelty_evidence", Role::Novelty),
            ("components", Role::Component),
            ("residuals", Role::Residual),
            ("drift", Role::Drift),
        ]
    );
    let found = scores(&detector, &table(3000, 0.0, 9), false);
    let drift = found.part("drift").expect("drifts").mapv(f64::from);
    let mean = drift.mean_axis(Axis(0)).expect("rows");
    assert!(mean.iter().all(|m| m.abs() < 0.15), "{mean}");
    let residuals = found.part("residuals").expect("residuals").mapv(f64::from);
    // Classes sum to one, so their residuals sum to zero, less the baseline.
    let sums = residuals.sum_axis(Axis(1));
    assert!(sums.iter().all(|s| (s - sums[0]).abs() < 1e-3), "{sums}");
}

#[test]
fn labels_regressors_and_sigmoids_fit_and_a_batch_is_judged() {
    let sigmoid = |widths: &[usize]| {
        let model = network(widths, "Relu", 11);
        let mut onnx = model.onnx().clone();
        let graph = onnx.proto.graph.as_mut().expect("a graph");
        let name = graph.output[0].name.clone();
        graph.node.push(builders::node("Sigmoid", &[name.as_str()], &["p"], "sigmoid"));
        graph.output[0].name = "p".into();
        Model::from_onnx("sigmoid.onnx", onnx)
    };
    for (model, taken, terms) in [
        (sigmoid(&[5, 12, 1]), "two classes", 5),
        (sigmoid(&[5, 12, 4]), "4 yes-or-no answers", 4),
        (network(&[5, 12, 1], "Relu", 11), "a regressor", 2),
        (network(&[5, 4], "Relu", 11), "a classifier of 4 classes", 5),
    ] {
        let detector = fit(&model, "taste", table(1500, 0.0, 1));
        let facts = &detector.manifest().method.facts;
        let said = &detector.manifest().model.taken_for;
        assert!(said.contains(taken), "{said}");
        let listed = facts["evidence"].as_array().expect("terms").len();
        assert_eq!(listed, terms, "{taken}: {}", facts["evidence"]);
        for (shift, p_value) in [(0.0f32, 0.01..1.0), (2.0, 0.0..0.02)] {
            let x = table(200, shift, 5);
            let mut batch = Batch::new(&detector, 1);
            batch.add(&x.view(), &scores(&detector, &x, true)).expect("rows");
            let found = batch.test(199).expect("a test").p_value;
            assert!(p_value.contains(&found), "{taken}, shift {shift}: {found}");
        }
    }
}

/// An image classifier of 1 × 12 × 12 with two convolutions.
fn images() -> Model {
    let mut random = Random::new(2);
    let mut weights = |name: &str, dims: &[usize]| {
        let fan: usize = dims[1..].iter().product();
        let scale = (2.0 / fan as f64).sqrt();
        let values: Vec<f32> =
            (0..dims.iter().product()).map(|_| single(scale * random.normal())).collect();
        builders::tensor_f32(name, dims, &values)
    };
    let node = |op: &str, args: &[&str], out: &str| builders::node(op, args, &[out], out);
    let graph = GraphProto {
        name: "images".into(),
        initializer: vec![
            weights("w1", &[6, 1, 3, 3]),
            weights("w2", &[8, 6, 3, 3]),
            weights("w3", &[3, 8]),
        ],
        node: vec![
            node("Conv", &["x", "w1"], "c1"),
            node("Relu", &["c1"], "r1"),
            node("Conv", &["r1", "w2"], "c2"),
            node("Relu", &["c2"], "r2"),
            node("GlobalAveragePool", &["r2"], "g"),
            node("Flatten", &["g"], "f"),
            builders::node("Transpose", &["w3"], &["w3t"], "turn"),
            node("MatMul", &["f", "w3t"], "z"),
        ],
        input: vec![builders::value_info(
            "x",
            ElemType::F32,
            &[
                DimSpec::Symbol("N".into()),
                DimSpec::Fixed(1),
                DimSpec::Fixed(12),
                DimSpec::Fixed(12),
            ],
        )],
        output: vec![builders::value_info(
            "z",
            ElemType::F32,
            &[DimSpec::Symbol("N".into()), DimSpec::Fixed(3)],
        )],
        ..GraphProto::default()
    };
    Model::from_onnx("images.onnx", taste_onnx::Model::new(builders::model(graph, 17)))
}

/// Smooth images between 0 and 1, with some noise on top.
fn pictures(count: usize, noise: f64, seed: u64) -> ArrayD<f32> {
    let mut random = Random::new(seed);
    let mut all = Array4::zeros((count, 1, 12, 12));
    for mut image in all.outer_iter_mut() {
        let (a, b, phase) = (random.normal(), random.normal(), random.uniform());
        for ((_, i, j), v) in image.indexed_iter_mut() {
            let wave = (0.4 * a * i as f64 + 0.4 * b * j as f64 + 6.3 * phase).sin();
            *v = single((0.5 + 0.35 * wave + noise * random.normal()).clamp(0.0, 1.0));
        }
    }
    all.into_dyn()
}

#[test]
fn images_have_cuts_a_filter_and_exact_levels() {
    let model = images();
    let detector = fit(&model, "taste:set=full", pictures(1500, 0.01, 1));
    let facts = &detector.manifest().method.facts;
    let cuts: Vec<&str> = facts["cuts"]
        .as_array()
        .expect("cuts")
        .iter()
        .filter_map(|c| c["tensor"].as_str())
        .collect();
    assert_eq!(cuts, ["r1", "f"]);
    assert_eq!(facts["score_model"], "dct");
    let wide = |v: &[f32]| v.iter().map(|&s| f64::from(s)).collect::<Vec<_>>();
    let clean = scores(&detector, &pictures(400, 0.01, 2), false);
    let noisy = scores(&detector, &pictures(400, 0.06, 3), false);
    let found = auroc(&wide(&clean.score), &wide(&noisy.score)).expect("samples");
    assert!(found > 0.9, "{found}");
    let flagged = clean.flag.iter().filter(|f| **f).count();
    assert!((5..=42).contains(&flagged), "{flagged} of 400");
}

#[test]
fn fits_do_not_depend_on_how_the_data_were_cut() {
    let model = network(&[5, 16, 8, 3], "Relu", 7);
    let whole = fit(&model, "taste", table(1000, 0.0, 1));
    let train = InMemory::new("train", table(1000, 0.0, 1));
    let fit = Fit::new(&model, method("taste"))
        .settings(Settings { seed: 3, ..Settings::default() })
        .engine(engine(&Backend::RTEN));
    let mut random = Random::new(5);
    let parts = fit_in_parts(&fit, &train, &engine(&Backend::RTEN), &mut random, |_, random| {
        (1..5).map(|_| random.below(1001)).collect()
    })
    .expect("a detector");
    let x = table(50, 0.3, 8);
    let (a, b) = (scores(&whole, &x, false), scores(&parts, &x, false));
    for (a, b) in a.score.iter().zip(&b.score) {
        assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{a} {b}");
    }
}
