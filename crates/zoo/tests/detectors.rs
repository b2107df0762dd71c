//! Scores are those of pytorch-ood 0.4.0, on networks and data that `fixtures/make_detectors.py` makes.

#![expect(clippy::print_stdout, reason = "says what is skipped")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ndarray::{ArrayD, Axis};
use taste_choice::pick;
use taste_data::{Dataset, InMemory, Labels, Options, Samples};
use taste_detector::{Detector, Engine, Fit, Method, Named};
use taste_engine::Model;
use taste_onnx::{DimSpec, ElemType, builders};
use taste_zoo::DETECTORS;

/// Of the spread of the scores, from the 5 % quantile to that of 95 %.
const TOLERANCE: f64 = 1e-4;

struct Case {
    name: &'static str,
    model: Model,
    train: InMemory,
    test: InMemory,
    scores: BTreeMap<String, Vec<f64>>,
}

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/fixtures/detectors", name].iter().collect()
}

fn samples(path: &Path) -> ArrayD<f32> {
    let data = Dataset::open(path, &Options::default()).expect("data");
    let chunks: Vec<ArrayD<f32>> =
        data.chunks(1 << 20).expect("chunks").map(|c| c.expect("a chunk").values).collect();
    let views: Vec<_> = chunks.iter().map(|c| c.view()).collect();
    ndarray::concatenate(Axis(0), &views).expect("samples")
}

fn case(name: &'static str) -> Case {
    let folder = folder(name);
    let labels = Labels::open(&folder.join("labels.npy"), &Options::default()).expect("labels");
    let labels = labels.classes(None).expect("numbers of classes");
    let train = InMemory::new("train.npy", samples(&folder.join("train.npy"))).with_labels(labels);
    let scores = fs::read_to_string(folder.join("scores.json")).expect("scores");
    Case {
        name,
        model: Model::open(&folder.join("model.onnx")).expect("a model"),
        train,
        test: InMemory::new("test.npy", samples(&folder.join("test.npy"))),
        scores: serde_json::from_str(&scores).expect("scores by method"),
    }
}

fn cases() -> impl Iterator<Item = Case> {
    ["bias", "no_bias", "two_classes", "hundred_classes", "pooling"].into_iter().map(case)
}

fn method(text: &str) -> Arc<dyn Method> {
    let (family, mut arguments) = pick("method", DETECTORS, text).expect("a method");
    let method = family.read(&mut arguments, &Named::new()).expect("its arguments");
    arguments.finish().expect("nothing else");
    method
}

fn engine(name: &str) -> Engine {
    Engine { backend: name.parse().expect("a backend"), threads: 2 }
}

fn fit(case: &Case, text: &str, engine: Engine) -> Result<Detector, taste_detector::Error> {
    // Calibration data of their own leave all training samples to the fit.
    Fit::new(&case.model, method(text)).engine(engine).run(&case.train, Some(&case.test))
}

/// The largest difference, over the spread of what is wanted.
fn apart(got: &[f32], want: &[f64]) -> f64 {
    let mut sorted = want.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: usize| sorted[share * (sorted.len() - 1) / 100];
    let spread = at(95) - at(5);
    let off = got.iter().zip(want).map(|(g, w)| (f64::from(*g) - w).abs()).fold(0.0, f64::max);
    off / spread
}

fn scores(detector: &Detector, engine: &Engine, test: &InMemory) -> Vec<f32> {
    let scorer = detector.start(engine, false).expect("starts");
    let chunk = test.chunks(1 << 20).expect("chunks").next().expect("one").expect("samples");
    scorer.score(chunk.values.view()).expect("scores").score
}

#[test]
fn scores_are_those_of_pytorch_ood() {
    let mut engines = vec!["rten", "reference"];
    if std::env::var_os("ORT_DYLIB_PATH").is_some() {
        engines.push("ort");
    } else {
        println!("skipped: ONNX Runtime, as ORT_DYLIB_PATH names no library");
    }
    let mut bad = Vec::new();
    for case in cases() {
        for (text, want) in &case.scores {
            let detector = match fit(&case, text, engine("rten")) {
                Ok(detector) => detector,
                Err(e) => panic!("{} {text}: {e}", case.name),
            };
            for name in &engines {
                let off = apart(&scores(&detector, &engine(name), &case.test), want);
                if off.is_nan() || off > TOLERANCE {
                    bad.push(format!(
                        "{} {text} on {name}: off by {off:.1e} of the spread",
                        case.name
                    ));
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn every_method_of_the_table_has_scores_to_compare_with() {
    for case in cases() {
        for family in DETECTORS {
            let name = family.choice().name;
            let has = case.scores.keys().any(|text| text.split(':').next() == Some(name));
            assert!(has, "{}: {name}", case.name);
        }
    }
}

#[test]
fn a_method_is_read_as_it_is_written() {
    for case in cases().take(1) {
        for text in case.scores.keys() {
            let written = method(text).written();
            assert_eq!(method(&written).written(), written, "{text}");
        }
    }
}

/// The sentence with which a fit is refused.
fn refusal(case: &Case, text: &str) -> String {
    match fit(case, text, engine("rten")) {
        Ok(_) => panic!("{text} was fitted"),
        Err(e) => e.to_string(),
    }
}

/// The same network with other labels.
fn relabelled(labels: impl Fn(usize) -> i64) -> Case {
    let case = case("bias");
    let labels = (0..case.train.values().shape()[0]).map(labels).collect();
    Case { train: case.train.clone().with_labels(labels), ..case }
}

#[test]
fn labels_that_do_not_fit_are_refused_in_a_sentence() {
    let unlabelled = case("bias");
    let unlabelled =
        Case { train: InMemory::new("train.npy", unlabelled.train.values().clone()), ..unlabelled };
    let [high, negative] = [relabelled(|i| (i % 6) as i64), relabelled(|i| (i % 5) as i64 - 1)];
    let absent = relabelled(|i| [0, 1, 2, 4][i % 4]);
    let labelled: Vec<&str> = DETECTORS.iter().map(|f| f.choice().name).collect();
    let labelled = labelled.into_iter().filter(|name| method(name).needs().labels);
    let mut count = 0;
    for name in labelled {
        count += 1;
        assert_eq!(
            refusal(&unlabelled, name),
            format!("the method {name} needs labels, and the samples of train.npy have none")
        );
        let wanted = "and the model's classes are 0 to 4";
        assert_eq!(refusal(&high, name), format!("train.npy: there is a label 5, {wanted}"));
        assert_eq!(refusal(&negative, name), format!("train.npy: there is a label -1, {wanted}"));
        let message = refusal(&absent, name);
        let counted = if name == "she" { " that the model is right about" } else { "" };
        assert!(message.ends_with(&format!("and none{counted} is of class 3")), "{message}");
        assert!(message.contains(name), "{message}");
    }
    assert_eq!(count, 5);
}

#[test]
fn what_does_not_fit_the_data_or_the_model_is_refused_in_a_sentence() {
    let case = case("bias");
    for name in ["knn", "nnguide"] {
        assert_eq!(
            refusal(&case, &format!("{name}:k=301")),
            format!(
                "the method {name} wants the 301 nearest training samples, and 300 have finite features"
            )
        );
    }
    assert_eq!(
        refusal(&case, "vim:dim=16"),
        "the method vim looks at features outside of 16 main directions, and there are 16 features"
    );
    // Six samples have nothing but rounding outside of eight directions, and a scale made of that would be noise.
    let few = case.train.values().slice_axis(Axis(0), (..6).into()).to_owned();
    let few = Case { train: InMemory::new("train.npy", few), ..self::case("bias") };
    let message = refusal(&few, "vim");
    assert!(message.contains("the features of 6 training samples have no part"), "{message}");
    let message = refusal(&case, "gsc:variant=c");
    assert!(message.contains("name features further in"), "{message}");
    for text in [
        "knn:k=0",
        "react:p=1",
        "energy:t=0",
        "odin:eps=-1",
        "gen:gamma=x",
        "odin:loss=l2",
        "gsc:variant=b",
    ] {
        let (family, mut arguments) = pick("method", DETECTORS, text).expect("a method");
        let read = family.read(&mut arguments, &Named::new());
        let message = read.expect_err(text).to_string();
        assert!(message.contains(" wants ") && message.contains(family.choice().name), "{message}");
    }
}

/// The same network with one more operator on its output.
fn ending_in(case: &Case, op: &str, attributes: Vec<taste_onnx::proto::AttributeProto>) -> Model {
    let mut onnx = case.model.onnx().clone();
    let graph = onnx.proto.graph.as_mut().expect("a graph");
    let mut node = builders::node(op, &["logits"], &["answer"], "answer");
    node.attribute = attributes;
    graph.node.push(node);
    let dims = [DimSpec::Symbol("n".into()), DimSpec::Fixed(5)];
    graph.output = vec![builders::value_info("answer", ElemType::F32, &dims)];
    Model::from_onnx("network.onnx", onnx)
}

#[test]
fn a_model_without_a_linear_head_or_without_classes_is_refused_in_a_sentence() {
    let bent = case("bias");
    let bent = Case { model: ending_in(&bent, "Tanh", Vec::new()), ..bent };
    for name in ["vim", "dice", "fdbd", "gradnorm"] {
        let message = refusal(&bent, name);
        assert!(
            message.starts_with(&format!("the method {name} needs a linear layer")),
            "{message}"
        );
    }
    let labels = case("bias");
    let labels = Case { model: ending_in(&labels, "Sigmoid", Vec::new()), ..labels };
    for family in DETECTORS.iter().filter(|f| f.choice().name != "knn") {
        let name = family.choice().name;
        let message = refusal(&labels, name);
        let wanted = format!("the method {name} looks at the classes of a classifier");
        assert!(message.starts_with(&wanted), "{message}");
    }
}

#[test]
fn probabilities_are_as_good_as_logits() {
    let plain = case("bias");
    let axis = builders::attr_int("axis", 1);
    let soft = Case { model: ending_in(&plain, "Softmax", vec![axis]), ..case("bias") };
    for (text, want) in plain.scores.iter().filter(|(text, _)| !text.contains('=')) {
        let detector = fit(&soft, text, engine("rten")).unwrap_or_else(|e| panic!("{text}: {e}"));
        let off = apart(&scores(&detector, &engine("rten"), &soft.test), want);
        assert!(off < TOLERANCE, "{text}: off by {off:.1e}");
    }
}
