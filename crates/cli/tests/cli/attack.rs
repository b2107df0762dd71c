//! `taste attack`.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ndarray::{Array1, ArrayD, IxDyn};
use taste_data::npy::DType;

use crate::{
    common::{Place, array},
    models::{CLASSIFIER, REGRESSOR, convolution, images, ready, samples},
};

/// A convolutional classifier and images as bytes.
fn place() -> Place {
    let place = Place::new();
    convolution(&place, "model.onnx", [3, 8, 8], false);
    let bytes: Vec<u8> = images(90, 8, 8, 1).iter().copied().collect();
    place.write("x.npy", &ArrayD::from_shape_vec(IxDyn(&[30, 3, 8, 8]), bytes).unwrap());
    place
}

#[test]
fn samples_are_moved_within_limits_and_accuracies_are_told() {
    let place = place();
    let said = place.json(
        "attack model.onnx x.npy --attack pgd:steps=10 --eps 64/255 --seed 3 --json -q -o out.npy",
    );
    assert_eq!(said["attack"], "pgd:steps=10");
    assert_eq!((&said["labels"], &said["samples"]), (&"model".into(), &30.into()));
    assert_eq!(said["accuracy_before"], 1.0);
    assert!(said["accuracy_after"].as_f64().unwrap() < 1.0, "{said}");
    let (dtype, moved) = array(&place.path("out.npy"));
    assert_eq!((dtype, moved.shape()), (DType::F32, &[30, 3, 8, 8][..]));
    let before = place.array("x.npy") / 255.0;
    let far = (&moved - &before).iter().fold(0.0f64, |most, v| most.max(v.abs()));
    assert!(far <= 64.0 / 255.0 + 1e-7 && far > 0.2, "{far}");
    assert!(moved.iter().all(|v| (0.0..=1.0).contains(v)));
    let told = place.ok("attack model.onnx x.npy --attack fgsm --eps 0.1 --norm l2 -o l2.npy");
    for part in
        ["accuracy  100.0 % before, ", "the model's own answers, as there are no labels", "l2 0.1"]
    {
        assert!(told.out.contains(part), "{part}: {}", told.out);
    }
    assert_eq!(place.names(), ["l2.npy", "model.onnx", "out.npy", "x.npy"]);
}

#[test]
fn labels_come_from_a_file_or_a_column() {
    let place = place();
    place.write("y.npy", &Array1::from_shape_fn(30, |i| i as i64 % 3).into_dyn());
    let given = place.json(
        "attack model.onnx x.npy --labels y.npy --attack fgsm --eps 0.1 --json -q -o out.npy",
    );
    assert_eq!(given["labels"], "given");
    assert!(given["accuracy_before"].as_f64().unwrap() < 1.0);
    place.write("y.npy", &Array1::from_elem(30, 3i64).into_dyn());
    place.fails(
        "attack model.onnx x.npy --labels y.npy --attack fgsm --eps 0.1 -q -o new.npy",
        "x.npy: sample 0: the label is 3, and the model has 3 classes, from 0 on",
    );
    CLASSIFIER.save(&place, "table.onnx");
    place.text("t.csv", "a,b,c,d,class\n1,2,3,4,0\n2,3,4,5,1\n0,1,1,2,2\n");
    let said = place.json(
        "attack table.onnx t.csv --labels class --box data --attack pgd --eps 0.5 --json -q -o t.npy",
    );
    assert_eq!((&said["labels"], &said["samples"]), (&"given".into(), &3.into()));
    let (moved, low, high) = (place.array("t.npy"), [0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 4.0, 5.0]);
    assert_eq!(moved.shape(), [3, 4]);
    for (i, v) in moved.iter().enumerate() {
        assert!((low[i % 4]..=high[i % 4]).contains(v), "column {}: {v}", i % 4);
    }
    place.fails(
        "attack table.onnx t.csv --labels class --attack pgd --eps 0.5 -q -o u.npy",
        "--box data keeps each between its smallest and largest value",
    );
}

#[test]
fn what_does_not_fit_is_told_in_a_sentence() {
    let place = ready(&REGRESSOR);
    place.write("x.npy", &samples(20, 0.0, 1).into_dyn());
    place.fails(
        "attack model.onnx x.npy --attack fgsm --eps 0.1 -q -o out.npy",
        "attacks are for classifiers",
    );
    CLASSIFIER.save(&place, "model.onnx");
    let with = |flags: &str, message: &str| {
        place.fails(&format!("attack model.onnx x.npy {flags} -q -o out.npy"), message);
    };
    with("--attack fgsm --eps 0.1", "outside of the box [0, 1]");
    with("--attack fgms --eps 0.1 --box -9,9", "did you mean fgsm?");
    with("--attack pgd:steps=0 --eps 0.1", "steps wants a whole number from 1 to 1000000");
    with("--attack pgd:stpes=3 --eps 0.1", "\"stpes=3\" means nothing here");
    with("--attack fgsm --eps 0", "wants a distance above 0");
    with("--attack fgsm --eps 0.1 --norm l1", "no norm \"l1\"");
    with("--attack fgsm --eps 0.1 --box 1,0", "wants two numbers such as 0,1");
    with("--attack square --norm l2 --eps 0.1 --box -9,9", "is for images");
    place.fails("attack model.onnx x.npy --attack fgsm --eps 1 -o x.npy", "overwrite what is read");
}

#[test]
fn a_run_that_is_killed_goes_on() {
    let place = place();
    let command =
        "attack model.onnx x.npy --attack square:queries=400 --eps 0.004 --batch 5 --seed 1";
    let mut child = Command::new(env!("CARGO_BIN_EXE_taste"))
        .args(format!("{command} -q -o out.npy").split_whitespace())
        .current_dir(place.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let parts = place.path("out.npy.parts");
    let kept = || parts.read_dir().map_or(0, |files| files.flatten().count());
    let started = Instant::now();
    while kept() < 2 && started.elapsed() < Duration::from_mins(2) {
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let was_stopped = !place.path("out.npy").exists();
    let resumed = place.json(&format!("{command} --json -q -o out.npy"));
    let whole = place.json(&format!("{command} --json -q -o whole.npy"));
    if was_stopped {
        assert!(resumed["taken_up"].as_u64().unwrap() >= 5, "{resumed}");
    }
    assert_eq!(whole["taken_up"], 0);
    assert_eq!(place.array("out.npy"), place.array("whole.npy"));
    assert_eq!(resumed["accuracy_after"], whole["accuracy_after"]);
    assert!(!parts.exists());
}

#[test]
fn attacks_are_listed() {
    let listed = Place::new().ok("list attacks").out;
    for name in ["fgsm", "pgd", "apgd-ce", "apgd-t", "fab-t", "square", "autoattack"] {
        assert!(listed.contains(&format!("\n  {name}")), "{name}: {listed}");
    }
}
