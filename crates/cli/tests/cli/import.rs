//! `taste import`, and folders as score models.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ndarray::ArrayD;

use crate::common::{Place, array, distance};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../train/tests/fixtures/imports").join(name)
}

/// A place with a copy of a folder or file.
fn with(name: &str) -> Place {
    fn copy(from: &Path, to: &Path) {
        if from.is_file() {
            fs::copy(from, to).unwrap();
            return;
        }
        fs::create_dir(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    }
    let place = Place::new();
    copy(&fixture(name), &place.path(name));
    place
}

fn images(rows: usize, shape: [usize; 3]) -> ArrayD<f32> {
    let [channels, height, width] = shape;
    ArrayD::from_shape_fn(vec![rows, channels, height, width], |at| {
        let place = at[0] * 31 + at[1] * 7 + at[2] * 5 + at[3] * 3;
        0.5 + 0.5 * (place as f32 * 0.7).sin()
    })
}

#[test]
fn weights_become_a_model_that_gives_what_the_library_gave() {
    let place = with("basic.pt");
    let run = place.ok("import basic.pt --size 16x16 -o clf.onnx");
    for part in ["ResNet-12", "cifar stem", "5 classes", "input (3, 16, 16)", "logits"] {
        assert!(run.out.contains(part), "{part:?} is not in\n{}", run.out);
    }
    assert_eq!(run.err.trim(), "wrote clf.onnx");
    fs::copy(fixture("basic_input.npy"), place.path("x.npy")).unwrap();
    place.ok("derive clf.onnx --input x.npy --target output:2 --value v.npy");
    let logits = array(&fixture("basic_logits.npy")).1;
    let wanted = logits.index_axis(ndarray::Axis(1), 2).to_owned();
    assert!(distance(&place.array("v.npy"), &wanted.into_dyn()) < 1e-4);
    let report = place.json("import basic.pt --stem imagenet --mean 0.5 -o other.onnx --json");
    assert_eq!(report["sample_shape"], serde_json::json!([3, 32, 32]));
    assert!(report["architecture"].as_str().unwrap().contains("imagenet stem"));
    assert!(report["schedule"].is_null());
}

#[test]
fn a_folder_is_a_score_model_with_its_own_schedule() {
    let place = with("pipeline");
    place.write("train.npy", &images(40, [3, 8, 8]));
    let run = place.ok("import pipeline -o unet.onnx");
    assert!(run.out.contains("cosine, 1000 steps"), "{}", run.out);
    let check =
        |score: &str| place.json(&format!("inspect --score-model {score} --data train.npy --json"));
    let folder = check("ddpm:pipeline,t=50");
    assert_eq!(folder["score"]["schedule"]["name"], "cosine", "{folder}");
    let file = check("ddpm:unet.onnx,t=50,schedule=cosine");
    assert_eq!(folder["mean_norm"], file["mean_norm"]);
    let linear = check("ddpm:pipeline,t=50,schedule=linear");
    assert_eq!(linear["score"]["schedule"]["name"], "linear");
    assert_ne!(linear["mean_norm"], file["mean_norm"]);
}

#[test]
fn imported_parts_make_a_detector() {
    let place = with("plain");
    fs::copy(fixture("basic.pt"), place.path("basic.pt")).unwrap();
    place.write("train.npy", &images(60, [3, 8, 8]));
    place.ok("import basic.pt --size 8 -o clf.onnx");
    place.ok(
        "fit --model clf.onnx --score-model ddpm:plain,t=20 --data train.npy -o detector.onnx --seed 1 -q",
    );
    place.ok("score detector.onnx train.npy -o scores.npy -q");
    assert!(place.array("scores.npy").iter().all(|v| v.is_finite()));
}

#[test]
fn what_can_not_be_imported_is_one_sentence() {
    let place = with("hostile.pt");
    fs::copy(fixture("basic.pt"), place.path("basic.pt")).unwrap();
    place.text("empty.pt", "");
    place.fails("import hostile.pt -o m.onnx", "posix.system");
    place.fails("import empty.pt -o m.onnx", "empty.pt");
    place.fails("import gone.pt -o m.onnx", "no such file");
    place.fails("import . -o m.onnx", "config.json");
    place.fails("import basic.pt -o basic.pt", "overwrite what is read");
    place.fails("import basic.pt -o no/m.onnx", "no folder");
    place.fails("import basic.pt --size 0 -o m.onnx", "--size");
    place.fails("import basic.pt --stem deep -o m.onnx", "cifar-pool");
    place.fails("import basic.pt --mean 1,2 -o m.onnx", "3 channels");
    place.fails("import basic.pt --std 0 -o m.onnx", "deviations positive");
    place.fails("inspect --score-model ddpm:.,t=5 --data basic.pt", "basic.pt");
}
