//! `taste evaluate`, and labels on their way there.

use std::{fmt::Write as _, fs};

use ndarray::{Array1, Array2, Axis, array};
use serde_json::Value as Json;

use crate::{
    common::Place,
    models::{CLASSIFIER, REGRESSOR, ready, samples},
};

const FIT: &str = "fit --model model.onnx --method msp --data train.npy -q -o";

/// A detector, clean samples, and shifted sets of two groups.
fn shifted() -> Place {
    let place = ready(&CLASSIFIER);
    place.ok(&format!("{FIT} msp.onnx"));
    place.write("id.npy", &samples(120, 0.0, 20).into_dyn());
    for (name, shift, seed) in [("A_near", 0.4, 21), ("A_far", 2.0, 22), ("C_odd", -1.5, 23)] {
        place.write(&format!("{name}.npy"), &samples(50, shift, seed).into_dyn());
    }
    place
}

/// The scores and flags that `taste score` gives.
fn scores(place: &Place, detector: &str, data: &str) -> (Vec<f64>, Vec<bool>) {
    let run = place.ok(&format!("score {detector} {data} --json -q"));
    let rows: Vec<Json> = run.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let score = rows.iter().map(|r| r["score"].as_f64().unwrap()).collect();
    (score, rows.iter().map(|r| r["flag"].as_bool().unwrap()).collect())
}

/// The model's answers: the largest of its outputs.
fn answers(place: &Place, data: &str) -> Vec<i64> {
    let outputs: Vec<Vec<f64>> = (0..3)
        .map(|k| {
            place.ok(&format!(
                "derive model.onnx -i {data} --target logit:{k} --value v.npy --want value -q"
            ));
            place.array("v.npy").into_iter().collect()
        })
        .collect();
    let best = |i: usize| (0..3).max_by(|&a, &b| outputs[a][i].total_cmp(&outputs[b][i])).unwrap();
    (0..outputs[0].len()).map(|i| best(i) as i64).collect()
}

/// Labels of which every third is wrong; which ones are.
fn spoilt(place: &Place, data: &str, file: &str) -> Vec<bool> {
    let answers = answers(place, data);
    let wrong: Vec<bool> = (0..answers.len()).map(|i| i % 3 == 1).collect();
    let labels = answers.iter().zip(&wrong).map(|(&a, &w)| if w { (a + 1) % 3 } else { a });
    place.write(file, &labels.collect::<Array1<i64>>().into_dyn());
    wrong
}

fn pairs(low: &[f64], high: &[f64]) -> f64 {
    let wins = |h: f64, l: f64| if h > l { 1.0 } else { f64::from(h >= l) / 2.0 };
    let sum: f64 = high.iter().map(|&h| low.iter().map(|&l| wins(h, l)).sum::<f64>()).sum();
    sum / (low.len() * high.len()) as f64
}

fn metric(set: &Json, name: &str) -> f64 {
    set["metrics"][name]["value"].as_f64().unwrap_or_else(|| panic!("no {name} in {set}"))
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} and {b}");
}

#[test]
fn numbers_are_those_that_counting_gives() {
    let place = shifted();
    let wrong = spoilt(&place, "A_far.npy", "y.npy");
    let report = place.json(
        "evaluate msp.onnx --id id.npy --ood A_near.npy A_far.npy C_odd.npy --labels A_far=y.npy --json -q",
    );
    let found = &report["detectors"][0];
    assert_eq!((&found["method"], &found["alpha"]), (&"msp:t=1".into(), &0.05.into()));
    let score = &found["scores"][0];
    let (clean, flags) = scores(&place, "msp.onnx", "id.npy");
    let share = |flags: &[bool]| flags.iter().filter(|f| **f).count() as f64 / flags.len() as f64;
    close(metric(&score["id"], "flagged"), share(&flags));
    let mut areas = Vec::new();
    for (set, name) in score["sets"].as_array().unwrap().iter().zip(["A_near", "A_far", "C_odd"]) {
        assert_eq!(set["name"], name);
        let (own, flags) = scores(&place, "msp.onnx", &format!("{name}.npy"));
        areas.push(pairs(&clean, &own));
        close(metric(set, "auroc"), areas[areas.len() - 1]);
        close(metric(set, "flagged"), share(&flags));
        let mut sorted = clean.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let accepted = own.iter().filter(|s| **s <= sorted[113]).count();
        close(metric(set, "fpr95"), accepted as f64 / 50.0);
        let auroc = &set["metrics"]["auroc"];
        assert!(auroc["low"].as_f64() < auroc["high"].as_f64(), "{auroc}");
    }
    let far = &score["sets"][1];
    close(metric(far, "accuracy"), 33.0 / 50.0);
    let (own, _) = scores(&place, "msp.onnx", "A_far.npy");
    let of = |mistakes: bool| -> Vec<f64> {
        own.iter().zip(&wrong).filter(|(_, w)| **w == mistakes).map(|(s, _)| *s).collect()
    };
    close(metric(far, "failure"), pairs(&of(false), &of(true)));
    assert_eq!(score["sets"][0]["metrics"].get("accuracy"), None);
    assert_eq!(score["groups"][0]["name"], "A");
    close(
        score["groups"][0]["means"]["auroc"].as_f64().unwrap(),
        f64::midpoint(areas[0], areas[1]),
    );
    close(score["all"]["means"]["auroc"].as_f64().unwrap(), areas.iter().sum::<f64>() / 3.0);
    let pooled = &score["all"]["pooled"]["failure"]["value"];
    assert_eq!(pooled, &far["metrics"]["failure"]["value"]);
    assert!(report["fpr95"].as_str().unwrap().contains("ID positive"));
}

#[test]
fn detectors_stand_side_by_side_and_in_a_table() {
    let place = shifted();
    place.ok("fit --model model.onnx --method knn:k=5 --data train.npy -q -o knn.onnx");
    let run =
        place.ok("evaluate msp.onnx knn.onnx --id id.npy --ood A_near.npy far=A_far.npy -o t.csv");
    assert!(run.err.contains("wrote t.csv"), "{}", run.err);
    for words in ["AUROC", "FPR95, ID positive", "msp", "knn", "mean of 2 sets", "flagged"] {
        assert!(run.out.contains(words), "{words}\n{}", run.out);
    }
    let table = fs::read_to_string(place.path("t.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("detector,score,set,group,samples,"), "{}", lines[0]);
    assert!(lines[0].contains(",auroc,auroc_low,auroc_high,"), "{}", lines[0]);
    assert_eq!(lines.len(), 1 + 2 * 3);
    assert!(lines[2].starts_with("msp.onnx,score,A_near,A,50,0,0,"), "{}", lines[2]);
    assert!(lines[6].starts_with("knn.onnx,score,far,,50,0,0,"), "{}", lines[6]);
    let alone = place.ok("evaluate knn.onnx --id id.npy --ood A_near.npy A_far.npy");
    assert!(
        alone.out.contains("mean of A (2)") && !alone.out.contains("failures"),
        "{}",
        alone.out
    );
    assert!(alone.out.contains("% expected"), "{}", alone.out);
    assert!(!alone.err.contains("warning"), "{}", alone.err);
    let seen = place.ok("evaluate knn.onnx --id train.npy --ood A_near.npy").err;
    assert!(seen.contains("warning: knn.onnx was made of train.npy"), "{seen}");
}

#[test]
fn every_array_in_a_folder_is_a_set() {
    let place = shifted();
    fs::create_dir(place.path("sets")).unwrap();
    for name in ["A_near.npy", "C_odd.npy", "id.npy"] {
        fs::copy(place.path(name), place.path("sets").join(name)).unwrap();
    }
    place.write("sets/bytes.npy", &Array2::<u8>::from_elem((9, 4), 7).into_dyn());
    spoilt(&place, "A_near.npy", "sets/labels.npy");
    let names = |flags: &str| -> Vec<String> {
        let report = place.json(&format!("evaluate msp.onnx --id sets/id.npy --json -q {flags}"));
        let sets = report["detectors"][0]["scores"][0]["sets"].as_array().unwrap().clone();
        sets.iter().map(|s| s["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("--ood sets/"), ["A_near", "C_odd", "bytes"]);
    assert_eq!(names("--ood x=sets A_far.npy"), ["x/A_near", "x/C_odd", "x/bytes", "A_far"]);
    let run = place.ok("evaluate msp.onnx --id sets/id.npy --ood sets --labels sets/labels.npy");
    assert!(
        run.err.contains("the labels of the 2 sets with 50 samples: A_near, C_odd"),
        "{}",
        run.err
    );
    // What the detector was made of is no set.
    fs::copy(place.path("train.npy"), place.path("sets/train.npy")).unwrap();
    place.ok("fit --model model.onnx --method msp --data sets/train.npy -q -o msp.onnx");
    assert_eq!(names("--ood sets/"), ["A_near", "C_odd", "bytes"]);
    let run = place.ok("evaluate msp.onnx --id sets/id.npy --ood sets");
    assert!(run.err.contains("note: left out sets/labels.npy"), "{}", run.err);
}

#[test]
fn regressors_are_judged_by_their_errors() {
    let place = ready(&REGRESSOR);
    place.ok("fit --model model.onnx --score-model gaussian --data train.npy -q -o d.onnx");
    let table = |name: &str, shift: f32, seed: u64| -> Vec<f64> {
        let rows = samples(60, shift, seed);
        place.write("rows.npy", &rows.clone().into_dyn());
        place.ok("derive model.onnx -i rows.npy --target output:0 --value v.npy --want value -q");
        let errors: Vec<f64> =
            (0..60).map(|i| f64::from(i % 10) * f64::from(1.0 + shift)).collect();
        let mut text = "a,b,c,d,price".to_owned();
        for ((row, value), error) in rows.axis_iter(Axis(0)).zip(place.array("v.npy")).zip(&errors)
        {
            let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
            write!(text, "\n{},{}", cells.join(","), value + error).unwrap();
        }
        place.text(name, &text);
        errors
    };
    table("id.csv", 0.0, 5);
    let errors = table("late.csv", 1.0, 6);
    let report = place.json(
        "evaluate d.onnx --id id.csv --id-labels price --ood late.csv --labels price --json -q",
    );
    let found = &report["detectors"][0];
    assert_eq!(found["model"]["is"], "regressor");
    let limit = found["mistake_above"].as_f64().unwrap();
    assert!((limit - 8.1).abs() < 1e-3, "{limit}");
    let late = &found["scores"][0]["sets"][0];
    let mean = errors.iter().sum::<f64>() / 60.0;
    assert!((late["mean_absolute_error"].as_f64().unwrap() - mean).abs() < 1e-3);
    let (scores, wrong): (Vec<f64>, Vec<bool>) = {
        let (scores, _) = scores_of_table(&place);
        (scores, errors.iter().map(|e| *e > limit).collect())
    };
    let of = |mistakes: bool| -> Vec<f64> {
        scores.iter().zip(&wrong).filter(|(_, w)| **w == mistakes).map(|(s, _)| *s).collect()
    };
    close(metric(late, "failure"), pairs(&of(false), &of(true)));
    let text =
        place.ok("evaluate d.onnx --id id.csv --id-labels price --ood late.csv --labels price");
    assert!(
        text.out.contains("mean abs. error") && text.out.contains("an error above 8.1"),
        "{}",
        text.out
    );
}

/// Scores of `late.csv` without its last column.
fn scores_of_table(place: &Place) -> (Vec<f64>, Vec<bool>) {
    let text = fs::read_to_string(place.path("late.csv")).unwrap();
    let cut: Vec<&str> = text.lines().map(|l| l.rsplit_once(',').unwrap().0).collect();
    place.text("cut.csv", &cut.join("\n"));
    scores(place, "d.onnx", "cut.csv")
}

#[test]
fn labels_of_the_data_themselves_are_taken_if_that_is_said() {
    let place = shifted();
    spoilt(&place, "id.npy", "id-labels.npy");
    let report =
        place.json("evaluate msp.onnx --id id.npy --ood A_far.npy --id-labels own --json -q");
    let score = &report["detectors"][0]["scores"][0];
    close(metric(&score["id"], "accuracy"), 80.0 / 120.0);
    place.fails(
        "evaluate msp.onnx --id id.npy --ood A_far.npy --labels own",
        "A_far.npy: its samples have no labels of their own",
    );
    // A damaged file stops only those who ask for it.
    place.text("id-labels.npy", "damaged");
    place.ok("evaluate msp.onnx --id id.npy --ood A_far.npy -q");
    place.fails("evaluate msp.onnx --id id.npy --ood A_far.npy --id-labels own", "id-labels.npy");
}

#[test]
fn what_does_not_fit_is_refused_in_a_sentence() {
    let place = shifted();
    place.write("wide.npy", &samples(9, 0.0, 1).select(Axis(1), &[0, 1, 2, 3, 0]).into_dyn());
    place.write("empty.npy", &samples(0, 0.0, 1).into_dyn());
    place.text("nothing.npy", "");
    place.write("short.npy", &array![0i64, 1, 2].into_dyn());
    place.write("out.npy", &Array1::<i64>::from_elem(50, 3).into_dyn());
    place.write("half.npy", &Array1::<f32>::from_elem(50, 0.5).into_dyn());
    place.text("words.csv", "label\n1\ndog\n");
    fs::create_dir(place.path("none")).unwrap();
    let evaluate = "evaluate msp.onnx --id id.npy";
    for (flags, message) in [
        ("", "--ood"),
        ("--ood wide.npy", "wide.npy: samples of shape (5,) can't be made (4,)"),
        ("--ood empty.npy", "empty.npy: it holds no samples"),
        ("--ood nothing.npy", "nothing.npy: it is empty"),
        ("--ood gone.npy", "gone.npy: there is no such file"),
        ("--ood none", "none: the folder holds no data"),
        (
            "--ood A_far.npy --labels A_far=short.npy",
            "short.npy: 3 labels for 50 samples of A_far.npy",
        ),
        (
            "--ood A_far.npy --labels short.npy",
            "short.npy: 3 labels, and no shifted set has as many",
        ),
        ("--ood A_far.npy --id-labels short.npy", "short.npy: 3 labels for 120 samples of id.npy"),
        (
            "--ood A_far.npy --labels out.npy",
            "row 0 (counted from 0) is 3, and classes are numbered 0 to 2",
        ),
        ("--ood A_far.npy --labels half.npy", "is 0.5, not a whole number"),
        ("--ood A_far.npy --labels words.csv", "\"dog\" is not a number"),
        (
            "--ood A_far.npy --labels gone.npy",
            "gone.npy: there is no such file, and A_far.npy is no table",
        ),
        ("--ood A_far.npy --labels B=out.npy", "no set and no group of sets is called B"),
        ("--ood A_far.npy A_far=C_odd.npy", "A_far.npy is called A_far as well"),
        ("--ood A_far.npy -o t.npy", ".csv, .jsonl or .parquet"),
        ("--ood A_far.npy -o id.npy", "overwrite what is read"),
        ("--ood A_far.npy -o t.txt", ".csv"),
    ] {
        let flags =
            if flags.contains("--labels") { format!("{flags} -q") } else { flags.to_owned() };
        place.fails(&format!("{evaluate} {flags}"), message);
    }
    place.fails("evaluate --id id.npy --ood A_far.npy", "DETECTOR");
    place.fails(
        "evaluate model.onnx --id id.npy --ood A_far.npy",
        "model.onnx: this is no detector",
    );
}

#[test]
fn a_fit_takes_labels_from_a_file_or_a_column() {
    let place = ready(&CLASSIFIER);
    place.write("y.npy", &Array1::<i64>::from_elem(500, 1).into_dyn());
    place.ok(&format!("{FIT} plain.onnx"));
    let manifest = place.json(&format!("{FIT} a.onnx --labels y.npy --json"));
    assert_eq!(manifest["data"]["reading"]["labels"], false);
    for flag in ["--labels", "--label"] {
        place.ok(&format!("{FIT} b.onnx {flag} y.npy"));
        assert_eq!(
            fs::read(place.path("plain.onnx")).unwrap(),
            fs::read(place.path("b.onnx")).unwrap()
        );
    }
    place.write("short.npy", &Array1::<i64>::from_elem(200, 1).into_dyn());
    place.fails(
        &format!("{FIT} d.onnx --labels short.npy"),
        "short.npy: 200 labels for 500 samples of train.npy",
    );
    place.write("odd.npy", &Array1::<f32>::from_elem(500, 0.5).into_dyn());
    place.fails(
        &format!("{FIT} d.onnx --labels odd.npy"),
        "is 0.5, not a whole number, as classes have: if the model gives numbers and no classes, --task numbers",
    );
    place.fails(
        &format!("{FIT} d.onnx --labels gone.npy"),
        "there is no such file, and train.npy is no table",
    );
    place.fails(&format!("{FIT} y.npy --labels y.npy"), "overwrite what is read");
}

#[test]
fn words_in_a_column_of_labels_are_said_to_be_left_alone() {
    let place = ready(&CLASSIFIER);
    let rows = samples(500, 0.0, 3);
    let table = |cell: &dyn Fn(usize) -> String| {
        let mut text = "a,b,c,d,class".to_owned();
        for (i, row) in rows.axis_iter(Axis(0)).enumerate() {
            let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
            write!(text, "\n{},{}", cells.join(","), cell(i)).unwrap();
        }
        place.text("train.csv", &text);
    };
    let fit = "fit --model model.onnx --method msp --data train.csv -o d.onnx --labels class";
    table(&|i| (i % 3).to_string());
    assert!(!place.ok(fit).err.contains("note:"));
    table(&|i| ["cat", "1"][i % 2].to_owned());
    let run = place.ok(fit);
    assert!(
        run.err.contains("note: train.csv") && run.err.contains("without labels"),
        "{}",
        run.err
    );
}
