//! `taste test`.

use ndarray::{Array2, Axis, concatenate};
use serde_json::Value as Json;

use crate::{
    common::Place,
    models::{CLASSIFIER, fitted, ready, samples},
};

/// Of the energy, as samples that are moved saturate the softmax.
const FIT: &str = "fit --model model.onnx --score-model gaussian --target energy --tail upper -o detector.onnx -q";

/// A detector with `same.npy` and `moved.npy`.
fn batches() -> Place {
    let place = ready(&CLASSIFIER);
    place.ok(&format!("{FIT} --data train.npy"));
    place.write("same.npy", &samples(200, 0.0, 11).into_dyn());
    place.write("moved.npy", &samples(200, 1.5, 12).into_dyn());
    place
}

fn tested(place: &Place, arguments: &str, code: i32) -> Json {
    let run = place.run(&format!("test detector.onnx {arguments} --json"));
    assert_eq!(run.code, Some(code), "{arguments}\n{}{}", run.out, run.err);
    serde_json::from_str(&run.out).unwrap()
}

fn number(value: &Json) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn the_exit_code_tells_whether_a_batch_is_a_shift() {
    let place = batches();
    let same = place.run("test detector.onnx same.npy");
    assert_eq!((same.code, same.err.as_str()), (Some(0), ""), "{}", same.out);
    assert!(same.out.contains("verdict  no shift seen at alpha = 0.05"), "{}", same.out);
    assert!(!same.out.contains("reasons"), "{}", same.out);
    let moved = place.run("test detector.onnx moved.npy");
    assert_eq!((moved.code, moved.err.as_str()), (Some(1), ""), "{}", moved.out);
    for words in [
        "verdict  shift: samples are further out",
        "effect   +",
        "SD of the evidence: large (95 % interval ",
        "for information; none of this decides",
        "mean residual ",
        "column entry ",
        "part of the residual",
    ] {
        assert!(moved.out.contains(words), "{words}\n{}", moved.out);
    }
    assert_eq!(place.run("test detector.onnx moved.npy --quiet").code, Some(1));
    let lines = |top: usize| {
        let text = place.run(&format!("test detector.onnx moved.npy --top {top}")).out;
        text.lines().filter(|l| l.starts_with("  entry ")).count()
    };
    assert_eq!((lines(0), lines(2), lines(99)), (0, 2, 4));
}

#[test]
fn an_effect_that_is_not_surely_large_enough_is_let_pass() {
    let place = batches();
    let found = &tested(&place, "moved.npy", 1)["batches"][0];
    let ends = [0, 1].map(|i| number(&found["interval"][i]));
    assert!(0.2 < ends[0] && ends[0] < number(&found["effect"]), "{found}");
    let between = format!("moved.npy --least-effect {}", number(&found["effect"]));
    assert_eq!(tested(&place, &between, 0)["batches"][0]["verdict"], "negligible");
    let words = place.run(&format!("test detector.onnx {between}"));
    assert!(words.out.contains("verdict  detectable but perhaps negligible"), "{}", words.out);
    let above = format!("moved.npy --least-effect {}", ends[1] + 0.01);
    let words = place.run(&format!("test detector.onnx {above}"));
    assert_eq!(words.code, Some(0));
    assert!(words.out.contains("verdict  detectable but negligible"), "{}", words.out);
    let many = place.run(&format!("test detector.onnx same.npy {above}")).out;
    let line = many.lines().find(|l| l.starts_with("moved.npy")).unwrap();
    assert!(line.ends_with("negligible"), "{many}");
    assert_eq!(tested(&place, "moved.npy --least-effect 0", 1)["least_effect"], 0.0);
    place.fails("test detector.onnx same.npy --least-effect -1", "--least-effect");
}

#[test]
fn json_holds_verdict_effect_interval_and_p_value() {
    let place = batches();
    let report = tested(&place, "moved.npy", 1);
    assert_eq!((&report["shifted"], &report["alpha"]), (&true.into(), &0.05.into()));
    let batch = &report["batches"][0];
    assert_eq!((&batch["data"], &batch["samples"]), (&"moved.npy".into(), &200.into()));
    assert_eq!((&batch["verdict"], &batch["size"]), (&"shift".into(), &"large".into()));
    assert!(number(&batch["p_value"]) <= 0.05);
    let (low, high) = (number(&batch["interval"][0]), number(&batch["interval"][1]));
    assert!(low < number(&batch["effect"]) && number(&batch["effect"]) < high, "{batch}");
    assert_eq!(batch["reasons"], Json::Array(vec![]));
    let more = &batch["information"];
    let kinds: Vec<&Json> = more["tests"].as_array().unwrap().iter().map(|t| &t["kind"]).collect();
    assert_eq!(kinds, ["residual"]);
    for test in more["tests"].as_array().unwrap() {
        assert!(number(&test["adjusted_p_value"]) >= number(&test["p_value"]), "{test}");
    }
    assert_eq!(more["entries"]["of"], "residual");
    assert_eq!(more["entries"]["list"].as_array().unwrap().len(), 4);
    assert_eq!(more["columns"].as_array().unwrap().len(), 4);
    assert_eq!(tested(&place, "moved.npy --seed 9", 1)["batches"][0]["samples"], 200);
    let same = tested(&place, "same.npy", 0);
    assert_eq!((&same["shifted"], &same["batches"][0]["verdict"]), (&false.into(), &"none".into()));
}

#[test]
fn several_batches_are_judged_together() {
    let place = batches();
    let report = tested(&place, "same.npy moved.npy", 1);
    let of = |i: usize, key: &str| report["batches"][i][key].clone();
    assert_eq!((of(0, "verdict"), of(1, "verdict")), ("none".into(), "shift".into()));
    assert!(of(1, "adjusted_p_value").as_f64() >= of(1, "p_value").as_f64());
    let text = place.run("test detector.onnx same.npy moved.npy").out;
    assert!(text.starts_with("1 of 2 batches differ"), "{text}");
    let both = [samples(200, 0.0, 11), samples(200, 1.5, 12)];
    let stream = concatenate(Axis(0), &[both[0].view(), both[1].view()]).unwrap();
    place.write("stream.npy", &stream.into_dyn());
    for batch in [1, 64] {
        let report = tested(&place, &format!("stream.npy --batch-size 200 --batch {batch}"), 1);
        let firsts: Vec<_> =
            report["batches"].as_array().unwrap().iter().map(|b| b["first"].clone()).collect();
        assert_eq!(firsts, [0, 200]);
        assert_eq!(report["batches"][1]["verdict"], "shift");
    }
    let text = place.run("test detector.onnx stream.npy --batch-size 150").out;
    assert!(text.contains("stream.npy from 300"), "{text}");
}

/// A table of samples with a date and a site.
fn dated(place: &Place, name: &str, rows: &Array2<f32>, cells: impl Fn(usize) -> String) {
    let mut text = "when,a,b,c,d,site".to_owned();
    for (i, row) in rows.axis_iter(Axis(0)).enumerate() {
        let cells = cells(i);
        let (when, site) = cells.split_once(' ').unwrap();
        let row: Vec<String> = row.iter().map(ToString::to_string).collect();
        text += &["\n", when, ",", &row.join(","), ",", site].concat();
    }
    place.text(name, &text);
}

#[test]
fn tables_are_divided_by_a_column() {
    let place = batches();
    dated(&place, "train.csv", &samples(500, 0.0, 3), |_| "2024-01-01 Ulm".to_owned());
    place.ok(&format!("{FIT} --data train.csv --columns a,b,c,d"));
    let both = [samples(120, 0.0, 11), samples(121, 1.5, 12)];
    let rows = concatenate(Axis(0), &[both[0].view(), both[1].view()]).unwrap();
    dated(&place, "t.csv", &rows, |i| {
        let month = if i == 240 { 7 } else { 5 + i / 120 };
        format!("2024-{month:02}-{:02} {}", 1 + i % 28, if i == 240 { "" } else { "Ulm" })
    });
    let report = tested(&place, "t.csv --by when:month", 1);
    assert_eq!(report["by"], "when:month");
    let found: Vec<(&Json, &Json)> = report["batches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| (&b["segment"], &b["verdict"]))
        .collect();
    let expected = [("2024-05".into(), "none".into()), ("2024-06".into(), "shift".into())];
    assert_eq!(found, expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
    assert_eq!(report["too_small"][0]["segment"], "2024-07");
    let second = &report["batches"][1];
    let doubled = 2.0 * number(&second["p_value"]);
    assert!((number(&second["adjusted_p_value"]) - doubled).abs() < 1e-12, "{second}");
    let text = place.run("test detector.onnx t.csv --by when:month").out;
    assert!(text.starts_with("1 of 2 segments differ"), "{text}");
    assert!(text.contains("fewer than 2 samples: 2024-07"), "{text}");
    let sites = tested(&place, "t.csv --by site", 1);
    assert_eq!(sites["batches"].as_array().unwrap().len(), 1);
    assert_eq!(sites["too_small"][0]["segment"], "");
    assert_eq!(tested(&place, "t.csv --by when:day", 1)["batches"][0]["segment"], "2024-05-01");
    place.fails("test detector.onnx t.csv --by a", "no value of column \"a\" has two samples");
    place.fails("test detector.onnx t.csv --by town", "no column \"town\"");
    place.fails("test detector.onnx t.csv --by site:day", "\"Ulm\" is not a date");
    place.fails("test detector.onnx same.npy --by when", "not a table");
    place.fails("test detector.onnx t.csv --by when --batch-size 9", "--batch-size");
}

#[test]
fn alpha_and_permutations_must_go_together() {
    let place = batches();
    let message = "999 or more can reach alpha = 0.001 (--permutations)";
    place.fails("test detector.onnx same.npy --alpha 0.001 --permutations 99", message);
    place.run("test detector.onnx same.npy --alpha 0.001 --permutations 999");
    place.fails("test detector.onnx same.npy --alpha 0", "between 0 and 1");
    place.fails("test detector.onnx same.npy --permutations 3", "--permutations");
    place.fails("test detector.onnx same.npy --batch-size 1", "--batch-size");
    let run = place.run("test detector.onnx same.npy --batch-size 2 --permutations 99");
    assert!(run.err.contains("warning: for 100 batches, 99 permutations"), "{}", run.err);
    assert!(run.err.contains("--permutations 1999 or more"), "{}", run.err);
}

#[test]
fn samples_without_a_score_count_as_furthest_out() {
    let place = batches();
    let mut rows = samples(200, 0.0, 11);
    rows[[5, 0]] = f32::NAN;
    place.write("spoilt.npy", &rows.clone().into_dyn());
    let run = place.run("test detector.onnx spoilt.npy");
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.err.contains("warning: spoilt.npy: 1 of 200 samples"), "{}", run.err);
    assert_eq!(tested(&place, "spoilt.npy", 0)["batches"][0]["not_finite"], 1);
    rows.slice_mut(ndarray::s![2.., ..]).fill(f32::NAN);
    place.write("spoilt.npy", &rows.clone().into_dyn());
    assert_eq!(tested(&place, "spoilt.npy", 1)["batches"][0]["not_finite"], 198);
    rows.fill(f32::NAN);
    place.write("spoilt.npy", &rows.into_dyn());
    assert_eq!(tested(&place, "spoilt.npy", 1)["batches"][0]["verdict"], "shift");
    place.fails("test detector.onnx same.npy gone.npy", "gone.npy");
}

#[test]
fn copies_of_one_sample_are_told() {
    let place = batches();
    let one = samples(1, 0.0, 11);
    let copies = concatenate(Axis(0), &vec![one.view(); 200]).unwrap();
    place.write("copies.npy", &copies.into_dyn());
    let run = place.run("test detector.onnx copies.npy");
    let words = "warning: copies.npy: 199 of 200 samples are copies of others";
    assert!(run.err.contains(words), "{}", run.err);
}

#[test]
fn samples_that_are_too_ordinary_are_no_shift_and_told() {
    let place = fitted();
    place.write("same.npy", &samples(200, 0.0, 11).into_dyn());
    let middle = samples(2000, 0.0, 3).mean_axis(Axis(0)).unwrap();
    let calm = samples(400, 0.0, 11).mapv(|v| 0.1 * v) + &middle * 0.9;
    place.write("calm.npy", &calm.into_dyn());
    let run = place.run("test detector.onnx calm.npy");
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("note     samples look more ordinary"), "{}", run.out);
    let scored = place.ok("score detector.onnx calm.npy -o scores.csv");
    assert!(scored.err.contains("note: far fewer samples are flagged"), "{}", scored.err);
    let usual = place.ok("score detector.onnx same.npy -o scores.csv");
    assert!(!usual.err.contains("far fewer"), "{}", usual.err);
}
