//! `taste test`.

use ndarray::{Axis, concatenate};
use serde_json::Value as Json;

use crate::{
    common::Place,
    models::{fitted, samples},
};

/// A detector with `same.npy` and `moved.npy`.
fn batches() -> Place {
    let place = fitted();
    place.write("same.npy", &samples(200, 0.0, 11).into_dyn());
    place.write("moved.npy", &samples(200, 1.5, 12).into_dyn());
    place
}

fn tested(place: &Place, arguments: &str, code: i32) -> Json {
    let run = place.run(&format!("test detector.onnx {arguments} --json"));
    assert_eq!(run.code, Some(code), "{arguments}\n{}{}", run.out, run.err);
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn the_exit_code_tells_whether_a_batch_differs() {
    let place = batches();
    let same = place.run("test detector.onnx same.npy");
    assert_eq!((same.code, same.err.as_str()), (Some(0), ""), "{}", same.out);
    assert!(
        same.out.contains("verdict  no shift that the model reacts to is seen"),
        "{}",
        same.out
    );
    let moved = place.run("test detector.onnx moved.npy");
    assert_eq!((moved.code, moved.err.as_str()), (Some(1), ""), "{}", moved.out);
    for words in ["verdict  shift: ", "effect (SD)", "95 % interval", "carried by", "entry "] {
        assert!(moved.out.contains(words), "{words}\n{}", moved.out);
    }
    assert_eq!(place.run("test detector.onnx moved.npy --quiet").code, Some(1));
    let lines = |top: usize| {
        let text = place.run(&format!("test detector.onnx moved.npy --top {top}")).out;
        text.lines().filter(|l| l.starts_with("entry ")).count()
    };
    assert_eq!((lines(0), lines(2), lines(99)), (0, 2, 4));
}

#[test]
fn a_shift_below_the_least_effect_is_told_and_let_pass() {
    let place = batches();
    let asked = tested(&place, "moved.npy --least-effect 0.1", 1);
    let effect = asked["batches"][0]["quantities"].as_array().unwrap().iter().take(3);
    let largest = effect.map(|q| q["effect"].as_f64().unwrap().abs()).fold(0.0, f64::max);
    assert!(largest > 0.1, "{largest}");
    let above = format!("moved.npy --least-effect {}", largest + 0.01);
    let report = tested(&place, &above, 0);
    let batch = &report["batches"][0];
    assert_eq!((&batch["seen"], &batch["shifted"]), (&true.into(), &false.into()));
    let words = place.run(&format!("test detector.onnx {above}"));
    assert_eq!(words.code, Some(0));
    assert!(words.out.contains("verdict  a shift that is let pass: "), "{}", words.out);
    let many = place.run(&format!("test detector.onnx same.npy {above}")).out;
    assert!(many.lines().any(|l| l.starts_with("moved.npy") && l.ends_with("small")), "{many}");
    place.fails("test detector.onnx same.npy --least-effect -1", "--least-effect");
}

#[test]
fn json_holds_effect_interval_and_p_value() {
    let place = batches();
    let report = tested(&place, "moved.npy", 1);
    assert_eq!((&report["shifted"], &report["alpha"]), (&true.into(), &0.05.into()));
    let batch = &report["batches"][0];
    assert_eq!((&batch["data"], &batch["samples"]), (&"moved.npy".into(), &200.into()));
    assert!(batch["p_value"].as_f64().unwrap() <= 0.05);
    for quantity in batch["quantities"].as_array().unwrap() {
        let number = |v: &Json| v.as_f64().unwrap();
        let difference = number(&quantity["difference"]);
        let (low, high) = (number(&quantity["interval"][0]), number(&quantity["interval"][1]));
        assert!(low <= difference && difference <= high, "{quantity}");
    }
    assert_eq!(batch["entries"].as_array().unwrap().len(), 4);
    assert_eq!(tested(&place, "moved.npy --seed 9", 1)["batches"][0]["samples"], 200);
    assert_eq!(tested(&place, "same.npy", 0)["shifted"], false);
}

#[test]
fn several_batches_are_judged_together() {
    let place = batches();
    let report = tested(&place, "same.npy moved.npy", 1);
    let of = |i: usize, key: &str| report["batches"][i][key].clone();
    assert_eq!((of(0, "shifted"), of(1, "shifted")), (false.into(), true.into()));
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
        assert_eq!(report["batches"][1]["shifted"], true);
    }
    let text = place.run("test detector.onnx stream.npy --batch-size 150").out;
    assert!(text.contains("stream.npy from 300"), "{text}");
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
fn samples_without_residuals_are_left_out_and_told() {
    let place = batches();
    let mut rows = samples(200, 0.0, 11);
    rows[[5, 0]] = f32::NAN;
    place.write("spoilt.npy", &rows.clone().into_dyn());
    let run = place.run("test detector.onnx spoilt.npy");
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.err.contains("warning: spoilt.npy: 1 of 200 samples"), "{}", run.err);
    assert_eq!(tested(&place, "spoilt.npy", 0)["batches"][0]["not_finite"], 1);
    rows.fill(f32::NAN);
    place.write("spoilt.npy", &rows.into_dyn());
    place.fails("test detector.onnx spoilt.npy", "spoilt.npy: none of the 200 samples");
    place.fails("test detector.onnx same.npy gone.npy", "gone.npy");
}
