//! `taste fit`.

use ndarray::{Array2, Axis, concatenate, s};

use crate::{
    common::Place,
    models::{CLASSIFIER, Network, REGRESSOR, ready, samples},
};

const FIT: &str = "fit --model model.onnx --data train.npy -o detector.onnx --seed 5";

/// Fits with these flags and scores new samples: residuals and scores.
fn works(place: &Place, flags: &str) -> (Vec<f64>, Vec<f64>) {
    place.ok(&format!("{FIT} {flags} -q"));
    let run = place.ok("score detector.onnx new.npy -o scores.npy -q");
    assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""), "{flags}");
    let scores = place.array("scores.npy");
    assert_eq!(scores.shape(), [70, 5], "{flags}");
    assert!(scores.iter().all(|v| v.is_finite()), "{flags}");
    let column = |c: usize| scores.index_axis(Axis(1), c).iter().copied().collect::<Vec<f64>>();
    for (score, p) in column(2).iter().zip(column(3)) {
        assert!(score.is_finite() && p > 0.0 && p <= 1.0, "{flags}");
    }
    (column(1), column(2))
}

/// Four columns, a to d.
fn csv(rows: &Array2<f32>) -> String {
    let line = |r: ndarray::ArrayView1<'_, f32>| format!("{},{},{},{}", r[0], r[1], r[2], r[3]);
    let lines: Vec<String> = rows.axis_iter(Axis(0)).map(line).collect();
    format!("a,b,c,d\n{}\n", lines.join("\n"))
}

#[test]
fn every_operator_fits_and_scores() {
    let place = ready(&CLASSIFIER);
    let operators =
        ["langevin", "no-laplacian", "score-only", "first-order:1,0,-1,0.5", "first-order-norm"];
    let all: Vec<_> = operators
        .iter()
        .map(|operator| works(&place, &format!("--score-model gaussian --operator {operator}")).1)
        .collect();
    for (i, a) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|b| a != b), "{} repeats another", operators[i]);
    }
}

#[test]
fn every_aggregate_fits_and_scores() {
    let place = ready(&CLASSIFIER);
    let aggregates = ["l2", "max", "predicted", "class:2", "profile", "profile+score"];
    let all: Vec<_> = aggregates
        .iter()
        .map(|aggregate| {
            works(&place, &format!("--score-model gaussian --aggregate {aggregate}")).1
        })
        .collect();
    for (i, a) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|b| a != b), "{} repeats another", aggregates[i]);
    }
    for tail in ["upper", "two-sided"] {
        let (residual, score) =
            works(&place, &format!("--score-model gaussian --aggregate predicted --tail {tail}"));
        for (r, s) in residual.iter().zip(&score) {
            let want = if tail == "upper" { *r } else { r.abs() };
            assert_eq!(s.to_bits(), want.to_bits(), "{tail}");
        }
    }
}

#[test]
fn every_target_fits_and_scores() {
    let place = ready(&CLASSIFIER);
    let targets =
        ["prob", "prob:1", "logit:0", "logprob", "energy", "entropy", "margin", "output:2"];
    let all: Vec<_> = targets
        .iter()
        .map(|target| works(&place, &format!("--score-model gaussian --target {target}")).0)
        .collect();
    for (i, a) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|b| a != b), "{} repeats another", targets[i]);
    }
    let probs = works(&place, "--score-model gaussian --target probs");
    assert_eq!(probs, works(&place, "--score-model gaussian"));
}

#[test]
fn every_score_model_that_is_fitted_here_works() {
    let place = ready(&CLASSIFIER);
    for score in ["standard-normal", "gaussian", "gaussian:diagonal", "gmm:2", "kde"] {
        works(&place, &format!("--score-model {score}"));
        let manifest = place.json(&format!("{FIT} --score-model {score} --json -q"));
        let family = score.split(':').next().unwrap();
        assert_eq!(manifest["method"]["facts"]["score_model"]["family"], family, "{manifest}");
        let fitted = manifest["data"]["fitted"].as_u64().unwrap();
        assert_eq!(fitted == 0, score == "standard-normal", "{score}: {fitted}");
    }
    place.fails(&format!("{FIT} --score-model gauss"), "gauss");
    place.fails(&format!("{FIT} --score-model onnx:gone.onnx"), "gone.onnx");
}

#[test]
fn a_score_network_gives_what_the_score_it_computes_gives() {
    let place = ready(&CLASSIFIER);
    let dims = [taste_onnx::DimSpec::Symbol("N".into()), taste_onnx::DimSpec::Fixed(4)];
    let graph = taste_onnx::proto::GraphProto {
        name: "score".into(),
        node: vec![taste_onnx::builders::node("Neg", &["y"], &["s"], "")],
        input: vec![taste_onnx::builders::value_info("y", taste_onnx::ElemType::F32, &dims)],
        output: vec![taste_onnx::builders::value_info("s", taste_onnx::ElemType::F32, &dims)],
        ..Default::default()
    };
    let model = taste_onnx::Model::new(taste_onnx::builders::model(graph, 17));
    model.save(&place.path("score.onnx")).unwrap();
    let network = works(&place, "--score-model onnx:score.onnx --score-input 0.5,0.25").1;
    assert_ne!(network, works(&place, "--score-model onnx:score.onnx").1);
    assert_eq!(
        works(&place, "--score-model standard-normal").1,
        works(&place, "--score-model onnx:score.onnx").1
    );
    assert_eq!(network, works(&place, "--score-model standard-normal --score-input 0.5,0.25").1);
}

#[test]
fn other_kinds_of_models_work() {
    let regressor = ready(&REGRESSOR);
    let (residual, score) = works(&regressor, "--score-model gaussian");
    assert!(residual.iter().zip(&score).all(|(r, s)| r.abs().to_bits() == s.to_bits()));
    regressor.fails(&format!("{FIT} --score-model gaussian --aggregate l2"), "for a classifier");
    let plain = works(&ready(&CLASSIFIER), "--score-model gaussian").1;
    let close = |other: &[f64], what: &str| {
        for (a, b) in plain.iter().zip(other) {
            assert!((a - b).abs() <= 1e-3 * a.abs().max(0.01), "{what}: {a} and {b}");
        }
    };
    let softmax = Network { softmax: true, ..CLASSIFIER };
    close(&works(&ready(&softmax), "--score-model gaussian").1, "probabilities");
    let fixed = Network { batch: Some(3), ..CLASSIFIER };
    close(&works(&ready(&fixed), "--score-model gaussian").1, "batch of 3");
    let open = Network { open: true, ..CLASSIFIER };
    close(&works(&ready(&open), "--score-model gaussian").1, "open width");
}

#[test]
fn models_of_both_exporters_work() {
    for case in ["legacy/mlp_relu", "dynamo/mlp_tanh", "legacy/cnn_relu_avg", "dynamo/cnn_silu_gn"]
    {
        let place = Place::golden(case);
        #[expect(clippy::cast_possible_truncation, reason = "the file is single precision")]
        let x = place.array("x.npy").mapv(|v| v as f32);
        let copies: Vec<_> = (0..80).map(|i| x.mapv(|v| v * (1.0 + 0.01 * i as f32))).collect();
        let views: Vec<_> = copies.iter().map(|c| c.view()).collect();
        place.write("train.npy", &concatenate(Axis(0), &views).unwrap());
        place.ok(&format!("{FIT} --score-model gaussian:diagonal --map -q"));
        let rten = place.ok("score detector.onnx x.npy -q");
        assert_eq!(rten.out.lines().count(), 1 + x.shape()[0], "{case}");
    }
}

#[test]
fn the_report_and_the_manifest_say_what_was_done() {
    let place = ready(&CLASSIFIER);
    let run = place.ok(&format!("{FIT} --score-model gaussian"));
    for words in [
        "model.onnx: x (4,)",
        "langevin of probs, Laplacian by closed-form",
        "l2, two-sided tail",
        "gaussian",
        "train.npy: ",
        "alpha 0.05, conformal",
        "held out from the training data",
    ] {
        assert!(run.out.contains(words), "{words}\n{}", run.out);
    }
    assert!(
        run.err.starts_with("wrote detector.onnx\nnext: taste score detector.onnx"),
        "{}",
        run.err
    );
    let manifest =
        place.json(&format!("{FIT} --score-model gaussian --json --alpha 0.1 --tail two-sided"));
    assert_eq!(manifest["settings"]["seed"], 5);
    assert_eq!(
        (&manifest["decision"]["alpha"], &manifest["method"]["facts"]["tail"]),
        (&0.1.into(), &"two-sided".into())
    );
    let data = &manifest["data"];
    let parts = ["fitted", "tails", "calibrated"].map(|key| data[key].as_u64().unwrap());
    assert_eq!(parts.iter().sum::<u64>(), 500);
    let quiet = place.ok(&format!("{FIT} --score-model gaussian --quiet"));
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn a_fit_repeats_itself_to_the_byte_and_follows_its_seed() {
    let place = ready(&CLASSIFIER);
    let bytes = |flags: &str| {
        place.ok(&format!("fit --model model.onnx --data train.npy -o d.onnx -q {flags}"));
        std::fs::read(place.path("d.onnx")).unwrap()
    };
    let first = bytes("--score-model gmm:2 --seed 1");
    assert!(first == bytes("--score-model gmm:2 --seed 1"));
    assert!(first != bytes("--score-model gmm:2 --seed 2"));
}

#[test]
fn calibration_data_can_be_given() {
    let place = ready(&CLASSIFIER);
    place.write("held.npy", &samples(200, 0.0, 9).into_dyn());
    let manifest =
        place.json(&format!("{FIT} --score-model gaussian --calibration held.npy --json -q"));
    let data = &manifest["data"];
    assert_eq!((&data["fitted"], &data["calibration"]), (&500.into(), &"held.npy".into()));
    assert!(!manifest["health"].to_string().contains("held out from the training data"));
    place.write("wide.npy", &Array2::<f32>::zeros((50, 5)).into_dyn());
    place.fails(&format!("{FIT} --score-model gaussian --calibration wide.npy"), "wide.npy");
}

#[test]
fn too_few_calibration_samples_are_told_with_the_number_that_is_needed() {
    let place = ready(&CLASSIFIER);
    place.fails(&format!("{FIT} --score-model gaussian --alpha 0.001"), "needs at least 999");
    place.write("train.npy", &samples(30, 0.0, 3).into_dyn());
    place.fails(
        &format!("{FIT} --score-model gaussian"),
        "train.npy: alpha = 0.05 needs at least 19",
    );
    place.fails(&format!("{FIT} --score-model gaussian --alpha 0"), "between 0 and 1");
    place.fails(&format!("{FIT} --score-model gaussian --alpha 2"), "between 0 and 1");
}

#[test]
fn a_column_in_small_units_drowns_the_others_only_without_a_metric() {
    let place = ready(&CLASSIFIER);
    for (unit, metric, told) in [
        (1.0, "none", false),
        (1e-3, "none", true),
        (1e-3, "diagonal", false),
        (1e-3, "full", false),
    ] {
        let mut rows = samples(500, 0.0, 3);
        rows.column_mut(1).mapv_inplace(|v| v * unit);
        place.text("train.csv", &csv(&rows));
        let run = place.ok(&format!(
            "fit --model model.onnx --data train.csv -o d.onnx --precondition {metric}"
        ));
        assert_eq!(run.out.contains("parts comes from the column b"), told, "{}", run.out);
    }
    let fit = "fit --model model.onnx --data train.csv -o d.onnx --json -q";
    let facts = place.json(&format!("{fit} --method stein"))["method"]["facts"].clone();
    assert_eq!((&facts["precondition"], &facts["baseline"]), (&"diagonal".into(), &"mean".into()));
    let facts = place.json(&format!("{fit} --baseline median"))["method"]["facts"].clone();
    assert_eq!(facts["baseline"], "median");
    place.fails(&format!("{fit} --precondition diag"), "diagonal");
    place.fails(&format!("{fit} --baseline meen"), "did you mean mean?");
    place.fails(&format!("{fit} --method msp --baseline none"), "has no baseline");
}

#[test]
fn rows_that_are_not_finite_are_counted_and_constant_columns_are_named() {
    let place = ready(&CLASSIFIER);
    let mut rows = samples(500, 0.0, 3);
    for i in (0..500).step_by(50) {
        rows[[i, i / 50 % 2]] = if i % 100 == 0 { f32::NAN } else { f32::INFINITY };
    }
    rows.slice_mut(s![.., 2]).fill(7.0);
    place.text("train.csv", &csv(&rows));
    for score in ["gaussian", "gmm:2", "kde"] {
        let flags =
            format!("fit --model model.onnx --data train.csv -o d.onnx --score-model {score}");
        let manifest = place.json(&format!("{flags} --json"));
        let data = &manifest["data"];
        let counts = ["left_out", "not_finite"].map(|key| data[key].as_u64().unwrap());
        assert_eq!(counts.iter().sum::<u64>(), 10, "{score}: {data}");
        assert!(counts[0] > 0 && counts[1] > 0, "{score}: {data}");
        let run = place.ok(&flags);
        for words in ["entries; they were left out", "no finite score", "(c) have one value"] {
            assert!(run.out.contains(words), "{score}: {words}\n{}", run.out);
        }
    }
    rows.fill(f32::NAN);
    place.write("train.npy", &rows.into_dyn());
    place.fails(&format!("{FIT} --score-model gaussian"), "train.npy");
}

#[test]
fn samples_at_once_do_not_change_the_detector() {
    let place = ready(&CLASSIFIER);
    let threshold = |batch: usize| {
        let manifest =
            place.json(&format!("{FIT} --score-model gaussian --batch {batch} --json -q"));
        assert_eq!(manifest["model"]["chunk"], batch);
        manifest["decision"]["threshold"].as_f64().unwrap()
    };
    let (one, many) = (threshold(1), threshold(64));
    assert!((one - many).abs() < 1e-5 * one, "{one} and {many}");
}

#[test]
fn wrong_requests_are_refused_in_a_sentence() {
    let place = ready(&CLASSIFIER);
    for (flags, message) in [
        ("--score-model gaussian --target prob:3", "3"),
        ("--score-model gaussian --target prob --aggregate l2", "leave one of the two out"),
        (
            "--score-model gaussian --target output:9",
            "no output:9: the output of the model has 3 entries, and there are output:0 to output:2",
        ),
        (
            "--score-model gaussian --target logit:1 --aggregate predicted",
            "the target logit:1 has one residual, and the aggregate predicted",
        ),
        (
            "--score-model gaussian --target energy --aggregate predicted",
            "leave one of the two out",
        ),
        (
            "--score-model gaussian --operator score-only --aggregate max",
            "score-only does not look at the model, so an aggregate has nothing to do",
        ),
        (
            "--score-model gaussian --operator score-only --target margin",
            "score-only does not look at the model, so a target has nothing to do",
        ),
        ("--score-model gaussian --aggregate class:9", "9"),
        ("--score-model gaussian --aggregate sum", "sum"),
        ("--score-model gaussian --operator laplace", "no operator"),
        ("--score-model gaussian --operator first-order:1,2", "2 entries, and a sample has 4"),
        ("--score-model gaussian --tail middle", "upper, lower and two-sided"),
        ("--score-model gaussian --aggregate profile --tail two-sided", "one tail"),
        ("--score-model gaussian --output nothing", "nothing"),
        ("--score-model gaussian --std 0", "nothing to divide by"),
        ("--score-model gaussian --resize 8", "no images"),
        ("--score-model gaussian --score-input 0,1", "A not 0"),
        ("--score-model gaussian --map --no-map", "cannot be used with"),
        ("--score-model gaussian --ort-library gone.so", "gone.so"),
    ] {
        place.fails(&format!("{FIT} {flags}"), message);
    }
    place.fails(
        "fit --model gone.onnx --score-model gaussian --data train.npy -o d.onnx",
        "gone.onnx",
    );
    place.fails(
        "fit --model model.onnx --score-model gaussian --data gone.npy -o d.onnx",
        "gone.npy",
    );
    place.fails(
        "fit --model train.npy --score-model gaussian --data train.npy -o d.onnx",
        "train.npy",
    );
    place.fails(
        "fit --model model.onnx --score-model gaussian --data model.onnx -o d.onnx",
        "model.onnx",
    );
    place.fails(
        "fit --model model.onnx --score-model gaussian --data train.npy -o gone/d.onnx",
        "gone",
    );
    place.fails(
        "fit --model model.onnx --score-model gaussian --data train.npy -o train.npy",
        "overwrite",
    );
    place.write("wide.npy", &Array2::<f32>::zeros((500, 5)).into_dyn());
    place.fails(
        "fit --model model.onnx --score-model gaussian --data wide.npy -o d.onnx",
        "samples of shape (5,) can't be made (4,)",
    );
}

#[test]
fn a_model_is_taken_for_what_the_user_is_told() {
    let two = Network { widths: &[4, 8, 2], activation: "Tanh", ..CLASSIFIER };
    let place = ready(&two);
    let told = |flags: &str| {
        let line = |text: &str| {
            text.lines().find(|l| l.starts_with("taken for")).unwrap_or_default().to_owned()
        };
        let told = line(&place.ok(&format!("{FIT} --score-model gaussian {flags}")).out);
        assert_eq!(line(&place.ok("inspect detector.onnx").out), told);
        told
    };
    let as_classifier = told("");
    for words in ["a classifier of 2 classes: the softmax of", "--task labels or numbers"] {
        assert!(as_classifier.contains(words), "{as_classifier}");
        assert!(place.ok("inspect model.onnx").out.contains(words), "{words}");
    }
    assert_eq!(told("--target output:1"), "");
    let run = place.ok(&format!("{FIT} --score-model gaussian --operator score-only"));
    assert!(!run.out.contains("none") && !run.out.contains("taken for"), "{}", run.out);
    Network { softmax: true, ..two }.save(&place, "model.onnx");
    assert!(told("").contains("a classifier of 2 classes, as \"v3\" is a softmax"));
    REGRESSOR.save(&place, "model.onnx");
    assert!(told("").contains("is one number; if it is not, --task binary or labels"));
    let json = place.json("inspect model.onnx --json");
    assert!(json["derivative"]["taken_for"].as_str().unwrap().contains("one number"));
}

#[test]
fn a_detector_is_no_model() {
    let place = ready(&CLASSIFIER);
    place.ok(&format!("{FIT} --score-model gaussian -q"));
    place.fails(
        "fit --model detector.onnx --score-model gaussian --data train.npy -o d.onnx",
        "--model detector.onnx: this is a detector already",
    );
}

#[test]
fn one_command_and_no_choice_gives_harm_novelty_and_reasons() {
    let place = ready(&CLASSIFIER);
    let run = place.ok("fit --model model.onnx --data train.npy -o d.onnx");
    for words in ["a classifier of 3 classes", "harm", "novelty", "qcop + q + range", "WARNING"] {
        assert!(run.out.contains(words), "{words}\n{}", run.out);
    }
    let scores = place.ok("score d.onnx new.npy -q").out;
    let head = scores.lines().next().expect("a header");
    assert!(
        head.starts_with("index,score,p_value,flag,novelty,novelty_p_value,evidence_r,evidence_E"),
        "{head}"
    );
    // Terms add up to the score.
    for line in scores.lines().skip(1).take(20) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().expect("a number");
        let sum: f64 = (6..cells.len() - 1).map(number).sum();
        assert!((sum - number(1)).abs() < 1e-3 * (1.0 + sum.abs()), "{line}");
    }
    place
        .fails("fit --model model.onnx --data train.npy --method taste:set=all -o e.onnx", "task0");
    place.fails(
        "fit --model model.onnx --data train.npy --method msp --goal both -o e.onnx",
        "novelty",
    );
}

#[test]
fn the_goal_says_what_flags_and_can_be_changed() {
    let place = ready(&CLASSIFIER);
    place.ok("fit --model model.onnx --data train.npy -o d.onnx --goal both -q");
    let both = place.json("edit d.onnx --json");
    assert!(both["threshold"].is_number() && both["novelty_threshold"].is_number(), "{both}");
    let novelty = place.json("edit d.onnx --goal novelty --json");
    assert!(novelty["threshold"].is_null() && novelty["novelty_threshold"].is_number());
    // A row far out in a direction is new; flags follow the novelty alone.
    let lines = place.ok("score d.onnx new.npy -q").out;
    for line in lines.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let p: f64 = cells[5].parse().expect("a p-value");
        assert_eq!(cells[3] == "true", p <= 0.05 + 1e-6, "{line}");
    }
}

#[test]
fn a_detector_is_recalibrated_and_repeated() {
    let place = ready(&CLASSIFIER);
    place.ok("fit --model model.onnx --data train.npy -o d.onnx --alpha 0.1 --seed 4 -q");
    place.write("fresh.npy", &samples(400, 0.0, 77).into_dyn());
    let fresh = place.json("edit d.onnx --recalibrate fresh.npy -o fresh.onnx --json -q");
    assert_eq!(fresh["alpha"], 0.1);
    let said = place.ok("inspect fresh.onnx").out;
    assert!(said.contains("400 for the calibration") && !said.contains("WARNING"), "{said}");
    // At 10 %, fresh samples are flagged about as often as asked for.
    place.write("more.npy", &samples(1000, 0.0, 78).into_dyn());
    let summary = place.json("score fresh.onnx more.npy -o s.csv --json -q");
    let flagged = summary["flagged"].as_u64().expect("a count");
    assert!((50..=160).contains(&flagged), "{flagged}");
    place.fails("edit d.onnx --recalibrate train.npy -o t.onnx", "are training samples");
    assert!(!place.path("t.onnx").exists());
    let again =
        place.json("fit --model model.onnx --data train.npy --like d.onnx -o e.onnx --json -q");
    assert_eq!((&again["settings"]["seed"], &again["decision"]["alpha"]), (&4.into(), &0.1.into()));
    let one = place.ok("score d.onnx new.npy -q").out;
    assert_eq!(one, place.ok("score e.onnx new.npy -q").out);
    // What was decided since is repeated as well.
    place.ok("edit d.onnx --goal novelty --alpha 0.2 -o g.onnx -q");
    let again =
        place.json("fit --model model.onnx --data train.npy --like g.onnx -o e.onnx --json -q");
    let decision = &again["decision"];
    assert_eq!((&decision["goal"], &decision["alpha"]), (&"novelty".into(), &0.2.into()));
    // Many copies of one sample calibrate badly, which is said at once.
    let copies = vec![samples(1, 0.0, 5).into_dyn(); 100];
    let views: Vec<_> = copies.iter().map(|c| c.view()).collect();
    place.write("copies.npy", &ndarray::concatenate(ndarray::Axis(0), &views).expect("rows"));
    let run = place.ok("edit d.onnx --recalibrate copies.npy -o h.onnx");
    assert!(run.err.contains("look the same"), "{}", run.err);
    place.fails(
        "fit --model model.onnx --data train.npy --like d.onnx --alpha 0.2 -o f.onnx",
        "--like",
    );
}

#[test]
fn training_data_do_not_calibrate() {
    let place = ready(&CLASSIFIER);
    let fit = "fit --model model.onnx --data train.npy -o d.onnx --calibration";
    place.fails(&format!("{fit} train.npy"), "these are the training data");
    std::fs::copy(place.path("train.npy"), place.path("copy.npy")).expect("a copy");
    // However often a method goes through its training data, and in whichever way.
    for method in ["taste", "stein", "stein --score-model gaussian", "knn", "vim"] {
        place.fails(&format!("{fit} copy.npy --method {method}"), "are training samples");
    }
    assert!(!place.path("d.onnx").exists());
}
