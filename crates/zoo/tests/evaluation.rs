//! Evaluations of samples in memory, with a method that has a score of its own for novelty.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use ndarray::Array2;
use taste_data::{InMemory, Labels};
use taste_detector::{Detector, Engine, Error, Fit, Job, Method, Needs, Stage, Statistic, Step};
use taste_engine::Model;
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};
use taste_ops::functions;
use taste_stats::{random::Random, rank::auroc};
use taste_zoo::evaluation::{Evaluated, Set, Truth, evaluate};

/// The score is the first entry, novelty the second.
#[derive(Debug)]
struct Entries;

impl Method for Entries {
    fn name(&self) -> &'static str {
        "entries"
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let (x, rows) = (job.draft.input(), job.draft.rows());
        let mut b = job.draft.build();
        let mut entries = Vec::new();
        for i in 0..3 {
            let slice = functions::slice(&mut b, x, 1, i, 1)?;
            entries.push(b.reshape(slice, &[rows])?);
        }
        let mut statistic = Statistic::new(entries[0]);
        statistic.novelty = Some(entries[1]);
        Ok(statistic.into())
    }
}

/// Two logits: x₀ and −x₀, so that the class is 1 where x₀ < 0.
fn detector() -> Detector {
    let dims = |n: i64| [DimSpec::Symbol("N".into()), DimSpec::Fixed(n)];
    let graph = GraphProto {
        name: "linear".into(),
        node: vec![builders::node("MatMul", &["x", "w"], &["y"], "dense")],
        initializer: vec![builders::tensor_f32("w", &[3, 2], &[1.0, -1.0, 0.0, 0.0, 0.0, 0.0])],
        input: vec![builders::value_info("x", ElemType::F32, &dims(3))],
        output: vec![builders::value_info("y", ElemType::F32, &dims(2))],
        ..GraphProto::default()
    };
    let model = taste_onnx::Model::new(builders::model(graph, 17));
    let model = Model::from_onnx("linear.onnx", model);
    let train = InMemory::new("train", rows(400, 0.0, 1).into_dyn());
    Fit::new(&model, Arc::new(Entries)).run(&train, None).expect("a detector")
}

#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
fn rows(count: usize, shift: f64, seed: u64) -> Array2<f32> {
    let mut random = Random::new(seed);
    Array2::from_shape_fn((count, 3), |(_, column)| match column {
        2 => random.uniform() as f32,
        _ => (random.normal() + shift) as f32,
    })
}

fn wide(column: &ndarray::ArrayView1<'_, f32>) -> Vec<f64> {
    column.iter().map(|&v| f64::from(v)).collect()
}

fn run(sets: &[Set<'_>], id: &Set<'_>) -> Result<Evaluated, Error> {
    evaluate(&detector(), &Engine::default(), 7, id, sets, &|_| ControlFlow::Continue(()))
}

#[test]
fn novelty_is_judged_beside_the_score() {
    let (clean, moved) = (rows(60, 0.0, 2), rows(40, 0.8, 3));
    let (id, set) = (
        InMemory::new("id", clean.clone().into_dyn()),
        InMemory::new("moved", moved.clone().into_dyn()),
    );
    let clean_set = Set { name: "id".to_owned(), data: &id, truth: Truth::Unknown };
    let sets = [Set { name: "moved".to_owned(), data: &set, truth: Truth::Unknown }];
    let found = run(&sets, &clean_set).expect("an evaluation");
    let names: Vec<&str> = found.scores.iter().map(|s| s.score.as_str()).collect();
    assert_eq!(names, ["score", "novelty"]);
    for (i, score) in found.scores.iter().enumerate() {
        let area = auroc(&wide(&clean.column(i)), &wide(&moved.column(i)));
        assert_eq!(score.sets[0].value("auroc"), area);
        assert!(score.groups.is_empty() && score.all.sets == 1 && score.all.labelled == 0);
    }
    let scorer = detector().start(&Engine::default(), false).expect("a scorer");
    let novelty = scorer.score(moved.into_dyn().view()).expect("scores").novelty.expect("novelty");
    let few = novelty.p_value.iter().filter(|p| **p <= 0.05).count();
    let flagged = found.scores[1].sets[0].value("flagged");
    assert!(few > 5, "{few}");
    assert_eq!(flagged, Some(few as f64 / 40.0));
}

#[test]
fn labels_of_either_kind_say_the_same() {
    let values = rows(50, 0.0, 4);
    let answers: Vec<i64> = values.column(0).iter().map(|&v| i64::from(v < 0.0)).collect();
    let labels: Vec<i64> =
        answers.iter().enumerate().map(|(i, a)| (a + i64::from(i < 10)) % 2).collect();
    let own = InMemory::new("x", values.into_dyn()).with_labels(labels.clone());
    let given = Labels::new("y", labels.iter().map(|&l| l as f64).collect());
    let id = Set { name: "id".to_owned(), data: &own, truth: Truth::Own };
    let found = |truth| {
        run(&[Set { name: "A_x".to_owned(), data: &own, truth }], &id).expect("an evaluation")
    };
    let one = found(Truth::Own);
    assert_eq!(one, found(Truth::Given(&given)));
    let set = &one.scores[0].sets[0];
    assert_eq!((set.value("accuracy"), set.labelled), (Some(0.8), 50));
    assert_eq!(one.scores[0].groups[0].pooled["failure"], set.metrics["failure"]);
    // Samples without a label count for nothing that needs one.
    let mut part = given.values().to_vec();
    part[..10].fill(f64::NAN);
    let part = Labels::new("y", part);
    let set = found(Truth::Given(&part)).scores[0].sets[0].clone();
    assert_eq!((set.value("accuracy"), set.labelled), (Some(1.0), 40));
    assert_eq!((set.value("failure"), set.value("aurc")), (None, Some(0.0)));
}

#[test]
fn trouble_is_told_and_progress_names_the_set() {
    let data = InMemory::new("x.npy", rows(20, 0.0, 4).into_dyn());
    let id = Set { name: "id".to_owned(), data: &data, truth: Truth::Unknown };
    let set = |truth| [Set { name: "blur".to_owned(), data: &data, truth }];
    let message = |truth| run(&set(truth), &id).expect_err("trouble").to_string();
    assert!(message(Truth::Own).contains("x.npy: its samples have no labels of their own"));
    let short = Labels::new("y.npy", vec![0.0; 19]);
    assert_eq!(message(Truth::Given(&short)), "y.npy: 19 labels, and x.npy has more samples");
    let long = Labels::new("y.npy", vec![0.0; 21]);
    assert_eq!(message(Truth::Given(&long)), "y.npy: 21 labels for 20 samples of x.npy");
    let out = Labels::new("y.npy", vec![2.0; 20]);
    assert!(message(Truth::Given(&out)).contains("classes are numbered 0 to 1"));
    assert!(run(&[], &id).expect_err("no sets").to_string().contains("no shifted sets"));
    let told = Mutex::new(Vec::new());
    let listen = |stage: Stage<'_>| {
        told.lock().expect("a list").push(stage.purpose.to_owned());
        ControlFlow::Continue(())
    };
    let sets = set(Truth::Unknown);
    evaluate(&detector(), &Engine::default(), 100, &id, &sets, &listen).expect("an evaluation");
    assert_eq!(*told.lock().expect("a list"), ["samples of id", "samples of blur"]);
    let stop =
        evaluate(&detector(), &Engine::default(), 5, &id, &sets, &|_| ControlFlow::Break(()));
    assert!(matches!(stop, Err(Error::Cancelled)));
}
