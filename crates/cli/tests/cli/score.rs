//! `taste score`.

use std::{
    fs,
    io::Read,
    process::{Command, Stdio},
};

use ndarray::{Axis, s};
use serde_json::Value as Json;

use crate::{
    common::{Place, distance},
    models::{CLASSIFIER, REGRESSOR, fitted, ready, samples},
};

#[test]
fn a_table_goes_to_standard_output_and_messages_elsewhere() {
    let place = fitted();
    let run = place.ok("score detector.onnx new.npy");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines[0], "index,residual,score,p_value,flag,prediction");
    assert_eq!(lines.len(), 71);
    for (i, line) in lines[1..].iter().enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], i.to_string());
        let p: f64 = cells[3].parse().unwrap();
        assert_eq!(cells[4], (p <= 0.05).to_string(), "{line}");
    }
    let flagged = lines.iter().filter(|l| l.contains(",true,")).count();
    assert!(run.err.starts_with(&format!("70 samples: {flagged} flagged (")), "{}", run.err);
    assert!(run.err.contains("5 % expected without a shift"), "{}", run.err);
    assert_eq!(place.ok("score detector.onnx new.npy -q").err, "");
}

#[test]
fn every_format_holds_the_same_table() {
    let place = fitted();
    for name in ["s.csv", "s.jsonl", "s.parquet", "s.npy"] {
        let run = place.ok(&format!("score detector.onnx new.npy -o {name}"));
        assert_eq!(run.out, "");
        assert!(run.err.contains(&format!("wrote {name}")), "{}", run.err);
    }
    let csv = fs::read_to_string(place.path("s.csv")).unwrap();
    assert_eq!(csv, place.ok("score detector.onnx new.npy").out);
    let lines = fs::read_to_string(place.path("s.jsonl")).unwrap();
    assert_eq!(lines, place.ok("score detector.onnx new.npy --json").out);
    let array = place.array("s.npy");
    for (i, (row, line)) in csv.lines().skip(1).zip(lines.lines()).enumerate() {
        let object: Json = serde_json::from_str(line).unwrap();
        let cells: Vec<&str> = row.split(',').collect();
        for (c, key) in ["index", "residual", "score", "p_value"].iter().enumerate() {
            let number: f64 = cells[c].parse().unwrap();
            assert_eq!(
                object[key].as_f64().map(f64::to_bits),
                Some(number.to_bits()),
                "{key} of {i}"
            );
            #[expect(clippy::cast_possible_truncation, reason = "arrays are single precision")]
            let single = f64::from(number as f32);
            assert_eq!(array[[i, c]].to_bits(), single.to_bits(), "{key} of {i}");
        }
        assert_eq!(object["flag"].to_string(), cells[4]);
        assert_eq!(array[[i, 4]] != 0.0, cells[4] == "true");
    }
    // What is written can be read again.
    let again =
        taste_data::Dataset::open(&place.path("s.parquet"), &taste_data::Options::default())
            .unwrap();
    assert_eq!(taste_data::Samples::count(&again), Some(70));
    let summary = place.json("score detector.onnx new.npy -o s.csv --json");
    assert_eq!((&summary["samples"], &summary["not_finite"]), (&70.into(), &0.into()));
    assert_eq!(summary["file"], "s.csv");
    place.fails("score detector.onnx new.npy -o s.txt", ".csv, .jsonl, .parquet or .npy");
    place.fails("score detector.onnx new.npy -o new.npy", "overwrite what is read");
    place.fails("score detector.onnx new.npy -o detector.onnx", "overwrite what is read");
}

#[test]
fn batches_and_engines_agree() {
    for model in [&CLASSIFIER, &REGRESSOR] {
        let place = ready(model);
        place.ok("fit --model model.onnx --score-model gmm:2 --data train.npy -o detector.onnx -q");
        let scores = |flags: &str| {
            place.ok(&format!("score detector.onnx new.npy -o s.npy -q {flags}"));
            place.array("s.npy").slice(s![.., 1..3]).to_owned().into_dyn()
        };
        let want = scores("--backend reference");
        let mut engines = vec!["rten", "reference"];
        engines.extend(std::env::var_os("ORT_DYLIB_PATH").map(|_| "ort"));
        for engine in engines {
            for batch in [1, 7, 64] {
                let d = distance(&scores(&format!("--backend {engine} --batch {batch}")), &want);
                assert!(d < 1e-4, "{engine}, {batch} at once: off by {d:.1e}");
            }
        }
    }
}

#[test]
fn rows_that_are_not_finite_are_flagged_and_counted() {
    let place = fitted();
    let mut rows = samples(70, 0.0, 4);
    rows[[3, 1]] = f32::NAN;
    rows[[7, 0]] = f32::INFINITY;
    rows[[9, 2]] = f32::NEG_INFINITY;
    place.write("spoilt.npy", &rows.into_dyn());
    let clean = place.ok("score detector.onnx new.npy -q").out;
    let run = place.ok("score detector.onnx spoilt.npy");
    assert!(run.err.contains("warning: 3 samples have no finite score"), "{}", run.err);
    for (i, (a, b)) in clean.lines().zip(run.out.lines()).enumerate().skip(1) {
        if [4, 8, 10].contains(&i) {
            assert!(b.contains(",true,") && b.contains("NaN"), "{b}");
        } else {
            assert_eq!(a, b);
        }
    }
    let lines = place.ok("score detector.onnx spoilt.npy --json -q").out;
    let objects: Vec<Json> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&objects[3]["score"], &objects[3]["flag"]), (&Json::Null, &true.into()));
    let summary = place.json("score detector.onnx spoilt.npy -o s.csv --json -q");
    assert_eq!(summary["not_finite"], 3);
}

#[test]
fn data_that_do_not_fit_are_refused_in_a_sentence() {
    let place = fitted();
    place.write("wide.npy", &samples(9, 0.0, 1).select(Axis(1), &[0, 1, 2, 3, 0]).into_dyn());
    place.fails(
        "score detector.onnx wide.npy",
        "wide.npy: samples of shape (5,) can't be made (4,)",
    );
    place.write("empty.npy", &samples(0, 0.0, 1).into_dyn());
    place.fails("score detector.onnx empty.npy -o s.csv", "empty.npy");
    place.fails("score detector.onnx gone.npy", "gone.npy: there is no such file or folder");
    place.fails("score gone.onnx new.npy", "gone.onnx");
    place.fails("score detector.onnx detector.onnx", "detector.onnx");
    place.fails("score detector.onnx new.npy --backend torch", "torch");
    place.fails("score detector.onnx new.npy --batch 0", "--batch");
    place.fails("score detector.onnx", "DATA");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = fitted();
    place.write("many.npy", &samples(20_000, 0.0, 4).into_dyn());
    let mut child = Command::new(env!("CARGO_BIN_EXE_taste"))
        .args(["score", "detector.onnx", "many.npy", "-q"])
        .current_dir(place.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 5];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    assert_eq!(&start, b"index");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_detector_can_be_scored_with_the_engine_of_another_fit() {
    let place: Place = ready(&CLASSIFIER);
    let flags = "--score-model gaussian --data train.npy -q";
    place.ok(&format!("fit --model model.onnx {flags} -o a.onnx --backend reference"));
    place.ok(&format!("fit --model model.onnx {flags} -o b.onnx --backend rten"));
    for name in ["a", "b"] {
        place.ok(&format!("score {name}.onnx new.npy -o {name}.npy -q"));
    }
    assert!(distance(&place.array("a.npy"), &place.array("b.npy")) < 1e-3);
}
