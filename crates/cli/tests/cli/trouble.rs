//! Damaged detectors, full disks, killed processes.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use taste_onnx::Model;

use crate::{
    common::Place,
    models::{fitted, samples},
};

/// A copy of the detector with one entry of its metadata changed.
fn with_entry(place: &Place, name: &str, key: &str, change: impl Fn(&str) -> String) {
    let mut file = Model::open(&place.path("detector.onnx")).unwrap();
    let entry = file.proto.metadata_props.iter_mut().find(|e| e.key == key).unwrap();
    entry.value = change(&entry.value);
    file.save(&place.path(name)).unwrap();
}

#[test]
fn a_damaged_detector_is_told_in_a_sentence_by_every_command() {
    let place = fitted();
    let bytes = fs::read(place.path("detector.onnx")).unwrap();
    fs::write(place.path("short.onnx"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(place.path("empty.onnx"), b"").unwrap();
    with_entry(&place, "future.onnx", "taste.format", |_| "99".into());
    with_entry(&place, "odd.onnx", "taste.format", |_| "one".into());
    with_entry(&place, "cut.onnx", "taste.manifest", |text| text[..text.len() / 2].into());
    with_entry(&place, "bare.onnx", "taste.manifest", |_| "{}".into());
    with_entry(&place, "rows.onnx", "taste.reference", |text| text.replace("5:", "4:"));
    with_entry(&place, "maps.onnx", "taste.maps", |_| "4:****".into());
    with_entry(&place, "reading.onnx", "taste.manifest", |text| {
        text.replace("\"raw\":false", "\"raw\":7")
    });
    let mut file = Model::open(&place.path("detector.onnx")).unwrap();
    let graph = file.proto.graph.as_mut().unwrap();
    graph.initializer.retain(|t| t.name != "taste.calibration");
    file.save(&place.path("uncalibrated.onnx")).unwrap();
    for (name, message) in [
        ("short.onnx", "short.onnx"),
        ("empty.onnx", "empty.onnx"),
        ("model.onnx", "this is no detector"),
        ("new.npy", "new.npy"),
        ("future.onnx", "this detector has format 99"),
        ("odd.onnx", "the version of its format can't be read"),
        ("cut.onnx", "the manifest can't be read"),
        ("bare.onnx", "the manifest can't be read"),
        ("rows.onnx", "the reference samples can't be read"),
        ("maps.onnx", "the maps can't be read"),
        ("uncalibrated.onnx", "taste.calibration can't be read"),
    ] {
        place.fails(&format!("score {name} train.npy"), message);
        place.fails(&format!("test {name} train.npy"), message);
        place.fails(&format!("explain {name} train.npy -o maps"), message);
        place.fails(&format!("edit {name}"), message);
    }
    place.fails(
        "score reading.onnx train.npy",
        "reading.onnx: this detector is damaged: the manifest",
    );
}

#[test]
fn a_detector_whose_graph_is_damaged_is_told_in_a_sentence() {
    let place = fitted();
    let mut file = Model::open(&place.path("detector.onnx")).unwrap();
    file.proto.graph.as_mut().unwrap().node.truncate(3);
    file.save(&place.path("cut.onnx")).unwrap();
    place.fails("score cut.onnx new.npy", "cut.onnx");
}

/// Runs `taste` in a shell after some commands of the shell.
#[cfg(unix)]
fn in_shell(place: &Place, before: &str, arguments: &str) -> (Option<i32>, String) {
    let taste = env!("CARGO_BIN_EXE_taste");
    let output = Command::new("bash")
        .args(["-c", &format!("{before}; exec {taste} {arguments}")])
        .current_dir(place.folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_no_half_file() {
    let place = fitted();
    place.write("many.npy", &samples(4000, 0.0, 4).into_dyn());
    // Files may not grow beyond 2 KiB, as on a disk that is full.
    let full = "trap '' XFSZ; ulimit -f 2";
    let before = place.names();
    for arguments in [
        "fit --model model.onnx --score-model gaussian --data train.npy -o other.onnx -q",
        "score detector.onnx many.npy -o s.csv -q",
        "score detector.onnx many.npy -o s.jsonl -q",
        "score detector.onnx many.npy -o s.parquet -q",
        "score detector.onnx many.npy -o s.npy -q",
        "explain detector.onnx many.npy -o maps -q",
        "edit detector.onnx --alpha 0.2",
    ] {
        let detector = fs::read(place.path("detector.onnx")).unwrap();
        let (code, message) = in_shell(&place, full, arguments);
        assert_eq!(code, Some(2), "{arguments}: {message}");
        assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
        assert!(
            message.contains("can't be written") || message.contains("cannot write"),
            "{message}"
        );
        assert_eq!(place.names(), before, "{arguments}");
        assert!(detector == fs::read(place.path("detector.onnx")).unwrap(), "{arguments}");
    }
    let (code, message) = in_shell(&place, "exec >/dev/full", "score detector.onnx many.npy -q");
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("standard output"), "{message}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_process_leaves_no_half_file() {
    let place = fitted();
    place.write("many.npy", &samples(400_000, 0.0, 4).into_dyn());
    let before = place.names();
    for arguments in
        ["score detector.onnx many.npy -o s.csv", "explain detector.onnx many.npy -o ."]
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taste"))
            .args(arguments.split(' '))
            .current_dir(place.folder.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(700));
        assert!(child.try_wait().unwrap().is_none(), "{arguments}: over before it was killed");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(place.names(), before, "{arguments}");
    }
}
