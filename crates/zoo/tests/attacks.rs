//! Attacks on small networks: laws that every attack keeps, and models of which the answer is known.

use std::{fs, ops::ControlFlow, sync::atomic::AtomicUsize, sync::atomic::Ordering::Relaxed};

use ndarray::{ArrayD, Axis, IxDyn};
use taste_data::InMemory;
use taste_detector::{Engine, Error, Stage};
use taste_engine::{Model, Request};
use taste_onnx::{DimSpec, ElemType, builders, proto::GraphProto};
use taste_stats::random::Random;
use taste_zoo::attacks::{
    ATTACKS, Adversarial, Attacker, Ball, Bounds, Needs, Norm, Victim, attack, folder,
};

const SHAPE: [i64; 3] = [2, 6, 5];
const ENTRIES: usize = 60;

fn draw(count: usize, scale: f64, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..count).map(|_| single(scale * random.normal())).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
fn single(value: f64) -> f32 {
    value as f32
}

/// Flatten, a hidden layer of rectifiers if it has a width, and what comes after the logits.
fn network(hidden: usize, classes: usize, last: Option<&str>, seed: u64) -> Model {
    let to_i64 = |n: usize| i64::try_from(n).expect("small");
    let mut node = vec![builders::node("Flatten", &["x"], &["flat"], "flat")];
    let mut initializer = Vec::new();
    let (mut value, mut width) = ("flat", ENTRIES);
    if hidden > 0 {
        let (w, b) = (draw(ENTRIES * hidden, 0.4, seed), draw(hidden, 0.2, seed + 1));
        initializer.push(builders::tensor_f32("w1", &[ENTRIES, hidden], &w));
        initializer.push(builders::tensor_f32("b1", &[hidden], &b));
        node.push(builders::node("MatMul", &["flat", "w1"], &["m1"], "m1"));
        node.push(builders::node("Add", &["m1", "b1"], &["a1"], "a1"));
        node.push(builders::node("Relu", &["a1"], &["h1"], "h1"));
        (value, width) = ("h1", hidden);
    }
    let w = draw(width * classes, 0.5, seed + 2);
    initializer.push(builders::tensor_f32("w2", &[width, classes], &w));
    node.push(builders::node(
        "MatMul",
        &[value, "w2"],
        &[if last.is_some() { "z" } else { "y" }],
        "z",
    ));
    if let Some(op) = last {
        node.push(builders::node(op, &["z"], &["y"], "last"));
    }
    let shape: Vec<DimSpec> = std::iter::once(DimSpec::Symbol("N".into()))
        .chain(SHAPE.into_iter().map(DimSpec::Fixed))
        .collect();
    let output = [DimSpec::Symbol("N".into()), DimSpec::Fixed(to_i64(classes))];
    let graph = GraphProto {
        name: "network".into(),
        node,
        initializer,
        input: vec![builders::value_info("x", ElemType::F32, &shape)],
        output: vec![builders::value_info("y", ElemType::F32, &output)],
        ..GraphProto::default()
    };
    Model::from_onnx("network.onnx", taste_onnx::Model::new(builders::model(graph, 17)))
}

fn images(count: usize, seed: u64) -> ArrayD<f32> {
    let mut random = Random::new(seed);
    // Away from the borders of the box now and then, so that they matter and do not.
    let shape = IxDyn(&[count, 2, 6, 5]);
    ArrayD::from_shape_fn(shape, |_| single((1.4 * random.uniform() - 0.2).clamp(0.0, 1.0)))
}

fn victim(model: &Model) -> Victim {
    Victim::new(model, &Request::default(), &Engine::default()).expect("a classifier")
}

fn ball(norm: Norm, eps: f64) -> Ball {
    Ball::new(norm, eps, Bounds::default()).expect("a ball")
}

fn on(_: Stage<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Cheap settings of every attack in the table.
fn cheap() -> Vec<String> {
    let settings = |name: &str| match name {
        "fgsm" => "fgsm",
        "pgd" => "pgd:steps=8,random",
        "apgd-ce" => "apgd-ce:steps=12",
        "apgd-dlr" => "apgd-dlr:steps=12",
        "apgd-t" => "apgd-t:steps=12,targets=2",
        "fab-t" => "fab-t:steps=12,targets=2",
        "square" => "square:queries=60",
        "autoattack" => "autoattack:steps=5,queries=20",
        other => panic!("{other} has no cheap settings"),
    };
    ATTACKS.iter().map(|kind| settings(kind.choice.name).to_owned()).collect()
}

fn run(victim: &Victim, text: &str, ball: &Ball, seed: u64, x: &ArrayD<f32>) -> Adversarial {
    let attacker = Attacker::new(victim, attack(text).expect(text), ball.clone(), seed);
    attacker.expect(text).run(&x.view(), None, &on).expect(text)
}

fn rows(x: &ArrayD<f32>) -> Vec<Vec<f32>> {
    x.outer_iter().map(|row| row.iter().copied().collect()).collect()
}

#[test]
fn every_attack_stays_in_the_ball_and_the_box_and_depends_on_the_seed_alone() {
    let (model, x) = (network(24, 5, None, 1), images(24, 2));
    let victim = victim(&model);
    for (norm, eps) in [(Norm::Linf, 0.03), (Norm::L2, 0.2)] {
        let ball = ball(norm, eps);
        for text in cheap() {
            let found = run(&victim, &text, &ball, 7, &x);
            assert_eq!(found.samples.shape(), x.shape());
            for (before, after) in rows(&x).iter().zip(rows(&found.samples)) {
                assert!(norm.distance(before, &after) <= eps, "{text} {norm}");
                assert!(after.iter().all(|v| (0.0..=1.0).contains(v)), "{text} {norm}");
            }
            let outcome = &found.outcome;
            assert_eq!((outcome.samples, outcome.right_before), (24, 24), "{text}");
            assert!(
                outcome.misled() > 0 && outcome.right_after < 24,
                "{text} {norm} misleads nobody"
            );
            assert_eq!(outcome.misled() + outcome.right_after, 24);
            assert!(outcome.farthest <= eps && outcome.median().is_some_and(|m| m <= eps));
            let again = run(&victim, &text, &ball, 7, &x);
            assert_eq!(again.samples, found.samples, "{text}: one seed, one result");
        }
    }
}

#[test]
fn what_is_random_follows_the_seed() {
    let (model, x) = (network(24, 5, None, 1), images(8, 2));
    let (victim, ball) = (victim(&model), ball(Norm::Linf, 0.03));
    for text in ["pgd:steps=2,random", "apgd-ce:steps=3", "square:queries=5"] {
        let [a, b] = [1, 2].map(|seed| run(&victim, text, &ball, seed, &x).samples);
        assert!(a != b, "{text}");
    }
    let [a, b] = [1, 2].map(|seed| run(&victim, "fgsm", &ball, seed, &x).samples);
    assert_eq!(a, b);
}

#[test]
fn neither_the_order_of_samples_nor_the_size_of_chunks_matters() {
    let (model, x) = (network(24, 5, None, 1), images(20, 2));
    let victim = victim(&model);
    let order = Random::new(9).shuffled(20);
    let turned = x.select(Axis(0), &order);
    for norm in [Norm::Linf, Norm::L2] {
        let ball = ball(norm, 0.05);
        for text in cheap() {
            let whole = run(&victim, &text, &ball, 3, &x);
            let attacker = Attacker::new(&victim, attack(&text).expect("one"), ball.clone(), 3);
            let attacker = attacker.expect("an attacker").with_chunk(Some(7));
            let cut = attacker.run(&x.view(), None, &on).expect("samples");
            let moved = attacker.run(&turned.view(), None, &on).expect("samples");
            let near = |a: &ArrayD<f32>, b: &ArrayD<f32>| {
                (a - b).iter().fold(0.0f32, |most, v| most.max(v.abs())) < 1e-6
            };
            assert!(near(&cut.samples, &whole.samples), "{text} {norm}: chunks");
            assert!(near(&moved.samples, &whole.samples.select(Axis(0), &order)), "{text}: order");
            assert_eq!(cut.outcome.right_after, whole.outcome.right_after);
            assert_eq!(cut.outcome.stages, whole.outcome.stages);
        }
    }
}

/// Of a linear model with two classes, the distance to the boundary and so the best accuracy under attack are known.
#[test]
fn a_linear_model_is_misled_exactly_where_it_can_be() {
    const CLASSES: usize = 2;
    let model = network(0, CLASSES, None, 5);
    let victim = victim(&model);
    let w = draw(ENTRIES * CLASSES, 0.5, 7);
    // Far from the borders, so that the box does not matter.
    let x = images(60, 4).mapv(|v| 0.3 + 0.4 * v);
    let slopes: Vec<f64> =
        (0..ENTRIES).map(|i| f64::from(w[2 * i]) - f64::from(w[2 * i + 1])).collect();
    let lengths = |norm: Norm| -> Vec<f64> {
        let dual = match norm {
            Norm::Linf => slopes.iter().map(|s| s.abs()).sum::<f64>(),
            Norm::L2 => slopes.iter().map(|s| s * s).sum::<f64>().sqrt(),
        };
        let lead = |row: &Vec<f32>| -> f64 {
            row.iter().zip(&slopes).map(|(v, s)| f64::from(*v) * s).sum()
        };
        rows(&x).iter().map(|row| lead(row).abs() / dual).collect()
    };
    for norm in [Norm::Linf, Norm::L2] {
        let mut sorted = lengths(norm);
        sorted.sort_by(f64::total_cmp);
        // In the widest gap, so that rounding and the last percent of a search do not matter.
        let ratio = |i: &usize| sorted[i + 1] / sorted[*i];
        let near = (20..40).max_by(|a, b| ratio(a).total_cmp(&ratio(b))).expect("some");
        let eps = (sorted[near] * sorted[near + 1]).sqrt();
        let ball = ball(norm, eps);
        for text in ["fgsm", "pgd", "apgd-ce:steps=50", "apgd-t:steps=50", "fab-t:steps=50"] {
            let found = run(&victim, text, &ball, 1, &x);
            assert_eq!(found.outcome.misled(), near + 1, "{text} {norm}");
        }
        let found = run(&victim, "fab-t", &ball, 1, &x);
        let mut shortest = found.outcome.misled.clone();
        shortest.sort_by(f32::total_cmp);
        for (got, wanted) in shortest.iter().zip(&sorted) {
            let (got, wanted) = (f64::from(*got), *wanted);
            assert!(
                got >= wanted * (1.0 - 1e-3) && got <= wanted * 1.02,
                "{norm}: {got} for {wanted}"
            );
        }
    }
}

#[test]
fn stronger_attacks_mislead_more() {
    let (model, x) = (network(32, 6, None, 11), images(60, 12));
    let victim = victim(&model);
    for (norm, eps) in [(Norm::Linf, 0.02), (Norm::L2, 0.12)] {
        let left = |text: &str| run(&victim, text, &ball(norm, eps), 0, &x).outcome.right_after;
        let auto = "autoattack:steps=30,queries=20";
        let (one, many, auto) = (left("fgsm"), left("pgd"), left(auto));
        assert!(auto <= many && many <= one && auto < 60, "{norm}: {one}, {many}, {auto}");
        // Early or late, a sample is misled or not.
        assert_eq!(left("apgd-ce:steps=30"), left("apgd-ce:steps=30,early"), "{norm}");
        assert_eq!(left("autoattack:steps=30,queries=20,early"), auto, "{norm}");
    }
}

#[test]
fn labels_decide_what_is_led_away_from() {
    let (model, x) = (network(24, 5, None, 1), images(12, 2));
    let victim = victim(&model);
    let attacker = |text: &str| {
        Attacker::new(&victim, attack(text).expect("one"), ball(Norm::Linf, 0.03), 0).expect("fits")
    };
    let wrong = attacker("apgd-ce:steps=5").run(&x.view(), Some(&[4; 12]), &on).expect("samples");
    let outcome = &wrong.outcome;
    assert!(outcome.right_before < 12);
    // Where the model errs anyway, nothing is done.
    let same = rows(&x).iter().zip(rows(&wrong.samples)).filter(|(a, b)| **a == *b).count();
    assert!(same >= 12 - outcome.right_before);
    for (labels, message) in [
        (vec![5; 12], "sample 0: the label is 5, and the model has 5 classes, from 0 on"),
        (vec![-1; 12], "sample 0: the label is -1"),
        (vec![1; 3], "3 labels for 12 samples"),
    ] {
        let refused = attacker("fgsm").run(&x.view(), Some(&labels), &on).expect_err("refused");
        assert!(refused.to_string().contains(message), "{refused}");
    }
    let outside = x.mapv(|v| v + 0.5);
    let refused =
        attacker("fgsm").run(&outside.view(), None, &on).expect_err("refused").to_string();
    assert!(refused.contains("outside of the box [0, 1]"), "{refused}");
}

#[test]
fn models_that_attacks_are_not_for_are_refused_or_noted() {
    let refused = |model: &Model| {
        Victim::new(model, &Request::default(), &Engine::default())
            .expect_err("refused")
            .to_string()
    };
    assert!(refused(&network(8, 1, None, 1)).contains("taken for a regressor"));
    assert!(refused(&network(8, 3, Some("Sigmoid"), 1)).contains("yes-or-no answers"));
    // One number behind a sigmoid is two classes.
    let x = images(20, 2);
    let binary = network(8, 1, Some("Sigmoid"), 1);
    let found = run(&victim(&binary), "pgd", &ball(Norm::Linf, 0.1), 0, &x);
    assert!(found.outcome.misled() > 0);

    let notes = |classes: usize, text: &str| {
        let model = network(8, classes, None, 1);
        let victim = victim(&model);
        let made = Attacker::new(&victim, attack(text).expect(text), ball(Norm::Linf, 0.1), 0);
        made.map(|a| a.notes().to_vec()).map_err(|e: Error| e.to_string())
    };
    assert_eq!(notes(12, "autoattack"), Ok(vec![]));
    let three = notes(3, "apgd-t").expect("goes on");
    assert!(
        three[0].contains("2 classes to aim at") && three[1].contains("takes its place"),
        "{three:?}"
    );
    assert!(notes(2, "apgd-dlr").expect_err("refused").contains("needs 3 classes or more"));
    // A softmax at the end is seen, and logits are read.
    let soft = network(24, 5, Some("Softmax"), 1);
    let (plain, soft) = (network(24, 5, None, 1), soft);
    let [a, b] = [&plain, &soft].map(|m| run(&victim(m), "fgsm", &ball(Norm::Linf, 0.03), 0, &x));
    assert!(!b.outcome.looks_like_probabilities);
    assert_eq!(a.samples, b.samples);
}

#[test]
fn gradients_that_vanish_are_told() {
    // Sign has no slope; one that is zero is a constant.
    let flat = network(8, 4, Some("Sign"), 1);
    let made = Victim::new(&flat, &Request::default(), &Engine::default());
    let victim = made.expect("answers can be had");
    let x = images(6, 2);
    let with =
        |text: &str| Attacker::new(&victim, attack(text).expect(text), ball(Norm::Linf, 0.1), 0);
    match with("fgsm") {
        Err(refused) => assert!(refused.to_string().contains("gradient"), "{refused}"),
        Ok(attacker) => {
            let found = attacker.run(&x.view(), None, &on).expect("samples");
            assert_eq!(found.outcome.flat, 6);
            assert!(found.outcome.warnings()[0].contains("gradients of the loss were zero"));
        }
    }
    assert!(with("square:queries=3").is_ok());
    let needs_none = |kind: &&taste_zoo::attacks::AttackKind| kind.needs == Needs::Answers;
    assert_eq!(ATTACKS.iter().filter(needs_none).count(), 1);
}

#[test]
fn a_run_that_was_stopped_goes_on_and_ends_alike() {
    let home = tempfile::tempdir().expect("a folder");
    let (model, x) = (network(24, 5, None, 1), images(23, 2));
    let victim = victim(&model);
    let data = InMemory::new("images", x.clone());
    let made = |seed: u64| {
        let attacker = Attacker::new(
            &victim,
            attack("apgd-ce:steps=6").expect("one"),
            ball(Norm::Linf, 0.03),
            seed,
        );
        attacker.expect("fits").with_chunk(Some(5))
    };
    let (whole, broken) = (home.path().join("whole.npy"), home.path().join("broken.npy"));
    let uninterrupted = made(0).write(&data, &whole, &on).expect("written");
    assert_eq!((uninterrupted.taken_up, uninterrupted.has_labels), (0, false));
    assert!(!folder(&whole).exists(), "parts are gone when all is written");

    let stop = |stage: Stage<'_>| {
        if stage.done >= 12 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let stopped = made(0).write(&data, &broken, &stop).expect_err("stopped");
    assert!(matches!(stopped, Error::Cancelled));
    assert!(!broken.exists() && folder(&broken).is_dir());
    let steps = AtomicUsize::new(0);
    let counting = |_: Stage<'_>| {
        steps.fetch_add(1, Relaxed);
        ControlFlow::Continue(())
    };
    let resumed = made(0).write(&data, &broken, &counting).expect("written");
    assert_eq!(resumed.taken_up, 10);
    assert_eq!(resumed.outcome, uninterrupted.outcome);
    assert_eq!(fs::read(&broken).expect("a file"), fs::read(&whole).expect("a file"));
    assert!(!folder(&broken).exists());

    // Other settings, other samples: nothing is taken up.
    let other = home.path().join("other.npy");
    made(0).write(&data, &other, &stop).expect_err("stopped");
    assert_eq!(made(1).write(&data, &other, &on).expect("written").taken_up, 0);
    made(0).write(&data, &other, &stop).expect_err("stopped");
    let moved = InMemory::new("images", x.mapv(|v| 0.9 * v));
    assert_eq!(made(0).write(&moved, &other, &on).expect("written").taken_up, 0);
}

#[test]
fn behind_a_normalisation_pixels_are_moved() {
    let (model, x) = (network(24, 5, None, 1), images(24, 2));
    let (mean, std) = (0.4f32, 0.25f32);
    for (norm, eps) in [(Norm::Linf, 0.02), (Norm::L2, 0.1)] {
        let behind = victim(&model).with_normalisation(&[mean], &[std, std]).expect("channels");
        let found = run(&behind, "pgd:steps=8", &ball(norm, eps), 3, &x);
        // The same in the units that the model sees.
        let seen = x.mapv(|v| (v - mean) / std);
        let bounds = Bounds::All(-mean / std, (1.0 - mean) / std);
        let scaled = Ball::new(norm, eps / f64::from(std), bounds).expect("a ball");
        let wanted = run(&victim(&model), "pgd:steps=8", &scaled, 3, &seen);
        assert_eq!(found.outcome.misled(), wanted.outcome.misled());
        assert!(found.outcome.misled() > 0);
        let far = (&found.samples - &wanted.samples.mapv(|v| v * std + mean)).mapv(f32::abs);
        assert!(far.iter().all(|d| *d < 1e-5), "{norm}: {far}");
    }
    let error = victim(&model).with_normalisation(&[0.1, 0.2, 0.3], &[]).expect_err("two channels");
    assert!(error.to_string().contains("mean has 3 numbers"), "{error}");
}
