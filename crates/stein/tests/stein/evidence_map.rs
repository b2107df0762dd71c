//! The method `evidence-map` from end to end, on pictures of waves.

use std::sync::Arc;

use ndarray::{Array4, ArrayD, Axis};
use taste_data::InMemory;
use taste_detector::{Detector, Fit, Method, Named, Scores, Settings};
use taste_engine::{Backend, Model};
use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{GraphProto, NodeProto},
};
use taste_stats::{random::Random, rank::auroc};
use taste_stein::evidence_map::FAMILY;

use crate::common::{engine, network, single};

const SIDE: usize = 32;

fn method(text: &str) -> Arc<dyn Method> {
    let (family, mut arguments) =
        taste_choice::pick("method", &[FAMILY], text).expect("the method");
    let method = family.read(&mut arguments, &Named::new()).expect("its arguments");
    arguments.finish().expect("nothing left");
    method
}

/// Two convolutions that halve the size, the mean over places and a linear layer.
fn convolutions() -> Model {
    let mut random = Random::new(2);
    let mut weights = |name: &str, dims: &[usize]| {
        let values: Vec<f32> =
            (0..dims.iter().product()).map(|_| single(0.4 * random.normal())).collect();
        builders::tensor_f32(name, dims, &values)
    };
    let node = |op: &str, args: &[&str], out: &str| builders::node(op, args, &[out], out);
    let conv = |args: &[&str], out: &str| NodeProto {
        attribute: vec![
            builders::attr_ints("strides", &[2, 2]),
            builders::attr_ints("pads", &[1, 1, 1, 1]),
        ],
        ..node("Conv", args, out)
    };
    let graph = GraphProto {
        name: "convolutions".into(),
        node: vec![
            conv(&["x", "k1"], "h1"),
            node("Relu", &["h1"], "r1"),
            conv(&["r1", "k2"], "h2"),
            node("Relu", &["h2"], "r2"),
            node("GlobalAveragePool", &["r2"], "pooled"),
            node("Flatten", &["pooled"], "features"),
            node("MatMul", &["features", "w"], "logits"),
        ],
        initializer: vec![
            weights("k1", &[6, 3, 3, 3]),
            weights("k2", &[8, 6, 3, 3]),
            weights("w", &[8, 3]),
        ],
        input: vec![builders::value_info(
            "x",
            ElemType::F32,
            &[
                DimSpec::Symbol("n".into()),
                DimSpec::Fixed(3),
                DimSpec::Fixed(SIDE as i64),
                DimSpec::Fixed(SIDE as i64),
            ],
        )],
        output: vec![builders::value_info("logits", ElemType::F32, &[])],
        ..GraphProto::default()
    };
    Model::from_onnx("convolutions", taste_onnx::Model::new(builders::model(graph, 17)))
}

/// Pictures of soft waves with some noise, in 0..1.
fn waves(count: usize, seed: u64) -> ArrayD<f32> {
    let mut random = Random::new(seed);
    let mut all = Array4::zeros((count, 3, SIDE, SIDE));
    for mut picture in all.axis_iter_mut(Axis(0)) {
        let phase = 6.3 * random.uniform();
        picture.indexed_iter_mut().for_each(|((c, y, x), v)| {
            let wave = ((x + y) as f64 / 4.0 + phase).sin();
            *v = single(0.5 + (0.2 - 0.04 * c as f64) * wave + 0.02 * random.normal());
        });
    }
    all.into_dyn()
}

/// The same with a flat dark square of 8 × 8 pixels at (12, 6).
fn with_squares(mut pictures: ArrayD<f32>) -> ArrayD<f32> {
    for mut picture in pictures.axis_iter_mut(Axis(0)) {
        picture.indexed_iter_mut().for_each(|(at, v)| {
            if (12..20).contains(&at[1]) && (6..14).contains(&at[2]) {
                *v = 0.1;
            }
        });
    }
    pictures
}

fn fit(model: &Model, text: &str, train: ArrayD<f32>) -> Detector {
    let settings = Settings { alpha: 0.1, ..Settings::default() };
    Fit::new(model, method(text))
        .settings(settings)
        .engine(engine(&Backend::RTEN))
        .run(&InMemory::new("waves", train), None)
        .expect("a detector")
}

fn scores(detector: &Detector, x: &ArrayD<f32>) -> Scores {
    let scorer = detector.start(&engine(&Backend::RTEN), true).expect("a scorer");
    scorer.score(x.view()).expect("scores")
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}

#[test]
fn the_score_is_the_largest_value_of_the_map_and_the_sum_of_its_terms() {
    let model = convolutions();
    for (text, terms) in [("evidence-map", 3), ("evidence-map:zero-shot", 2)] {
        let detector = fit(&model, text, waves(120, 1));
        let found = scores(&detector, &waves(6, 2));
        let maps = found.map.as_ref().expect("maps");
        assert_eq!(maps.shape(), [6, 1, SIDE, SIDE]);
        let evidence = found.part("evidence").expect("terms");
        assert_eq!(evidence.ncols(), terms, "{text}");
        for (i, map) in maps.axis_iter(Axis(0)).enumerate() {
            let largest = map.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let slack = 1e-4 * largest.abs();
            assert!((largest - found.score[i]).abs() < slack, "{text}: {largest}");
            assert!((evidence.row(i).sum() - found.score[i]).abs() < slack, "{text}");
        }
        let facts = detector.manifest().map.as_ref().expect("maps");
        let threshold = detector.manifest().decision.threshold.expect("one");
        assert!((facts.threshold - threshold).abs() < 1e-3 * threshold && facts.one_sided);
    }
}

#[test]
fn a_square_is_found_where_it_is() {
    let model = convolutions();
    let (good, bad) = (waves(20, 3), with_squares(waves(20, 4)));
    // Tails are read from the batch, so that few of its places may be defects.
    let more = waves(60, 6);
    let all = [good.view(), bad.view(), more.view()];
    let both = ndarray::concatenate(Axis(0), &all).expect("pictures");
    for (text, train) in [
        ("evidence-map", waves(120, 1)),
        ("evidence-map:zero-shot", waves(40, 1)),
        ("evidence-map:batch", both),
    ] {
        let detector = fit(&model, text, train);
        let [of_good, of_bad] = [&good, &bad].map(|x| scores(&detector, x));
        let found = auroc(&doubles(&of_good.score), &doubles(&of_bad.score)).expect("both");
        // A batch reads its tails from defects as well, which costs it some of its power.
        let least = if text.ends_with("batch") { 0.9 } else { 0.95 };
        assert!(found > least, "{text}: {found}");
        let maps = of_bad.map.expect("maps");
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for (at, &v) in maps.indexed_iter() {
            let is_in = (12..20).contains(&at[2]) && (6..14).contains(&at[3]);
            if is_in { inside.push(f64::from(v)) } else { outside.push(f64::from(v)) }
        }
        let found = auroc(&outside, &inside).expect("both");
        assert!(found > 0.9, "{text}: {found}");
    }
}

#[test]
fn the_scale_of_pixels_does_not_matter() {
    let model = convolutions();
    let (plain, bytes) = (fit(&model, "evidence-map:zero-shot", waves(40, 1)), {
        let shape_of_bytes = waves(40, 1) * 255.0;
        fit(&model, "evidence-map:zero-shot", shape_of_bytes)
    });
    let x = with_squares(waves(8, 5));
    let [a, b] = [scores(&plain, &x), scores(&bytes, &(&x * 255.0))];
    for (a, b) in a.score.iter().zip(&b.score) {
        assert!((a - b).abs() < 2e-3 * a.abs(), "{a} {b}");
    }
}

#[test]
fn a_batch_does_not_calibrate_itself() {
    let of = |seed| InMemory::new("pictures", waves(60, seed));
    let model = convolutions();
    for text in ["evidence-map:zero-shot", "evidence-map:batch"] {
        let fit = |calibration| {
            Fit::new(&model, method(text))
                .engine(engine(&Backend::RTEN))
                .run(&of(1), Some(&of(calibration)))
        };
        let error = fit(1).expect_err("the same pictures").to_string();
        assert!(error.contains("are training samples"), "{text}: {error}");
        fit(2).expect("other pictures");
    }
}

#[test]
fn tables_are_refused_with_a_sentence() {
    let model = network(&[5, 16, 3], "Relu", 7);
    let train = InMemory::new("table", ArrayD::zeros(vec![200, 5]));
    let error = Fit::new(&model, method("evidence-map")).run(&train, None).expect_err("no images");
    assert!(error.to_string().contains("images"), "{error}");
}
