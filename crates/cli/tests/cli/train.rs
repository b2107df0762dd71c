//! `taste train`, and detectors with a score that is trained on the spot.

use std::{
    fmt::Write,
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ndarray::{Array2, ArrayD, Axis};
use taste_stats::random::Random;

use crate::{
    common::Place,
    models::{CLASSIFIER, ready, samples},
};

/// A folder with `table.csv`: two columns on different scales, a class and a number that depend on them.
fn table(rows: usize) -> Place {
    let place = Place::new();
    let mut random = Random::new(3);
    let mut text = "a,b,class,price\n".to_owned();
    for _ in 0..rows {
        let (x, y) = (random.normal(), random.normal());
        let (class, price) = (u8::from(x + y > 0.0), 1000.0 + 200.0 * x - 100.0 * y);
        writeln!(text, "{},{},{class},{price}", 50.0 + 10.0 * x, 0.01 * y).unwrap();
    }
    place.text("table.csv", &text);
    place
}

/// `glyphs.npz`, images of 8 × 8 with a bright upper or lower half.
fn images(place: &Place, name: &str) {
    let mut random = Random::new(4);
    let values = ArrayD::from_shape_fn(vec![300, 1, 8, 8], |at| {
        let bright = (at[2] < 4) == (at[0] % 2 == 0);
        let level = if bright { 200.0 } else { 30.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes")]
        let byte = (level + 10.0 * random.normal()).clamp(0.0, 255.0) as u8;
        byte
    });
    place.write(name, &values);
}

#[test]
fn a_detector_with_a_trained_score_takes_one_command() {
    let place = ready(&CLASSIFIER);
    let spec = "train:steps=300,width=32";
    let fit = format!("fit --model model.onnx --data train.npy --score-model {spec} --seed 5");
    let manifest = place.json(&format!("{fit} -o one.onnx --json -q"));
    let score = &manifest["method"]["facts"]["score_model"];
    assert_eq!((&score["family"], &score["steps"]), (&"train".into(), &300.into()));
    for key in ["held_out_loss", "gaussian_loss", "stein_ratio", "stein_ratio_error"] {
        assert!(score[key].as_f64().is_some_and(f64::is_finite), "{key} in {score}");
    }
    let ratio = score["stein_ratio"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 0.2, "{ratio}");
    // The samples are Gaussian.
    let [held_out, gaussian] =
        ["held_out_loss", "gaussian_loss"].map(|key| score[key].as_f64().unwrap());
    assert!((held_out - gaussian).abs() < 0.1, "{held_out} {gaussian}");
    place.ok(&format!("{fit} -o two.onnx -q"));
    assert_eq!(
        fs::read(place.path("one.onnx")).unwrap(),
        fs::read(place.path("two.onnx")).unwrap()
    );
    let run = place.ok("score one.onnx new.npy -o scores.npy -q");
    assert!(run.err.is_empty() && place.array("scores.npy").iter().all(|v| v.is_finite()));
    let check = place.json(&format!("inspect --score-model {spec} --data train.npy --json -q"));
    assert!((check["scale"].as_f64().unwrap() - 1.0).abs() < 0.2, "{check}");
}

#[test]
fn unknown_score_models_are_told_of_train() {
    let place = ready(&CLASSIFIER);
    let fit = "fit --model model.onnx --data train.npy -o out.onnx --score-model";
    for (spec, message) in [
        ("trained", "train[:sigma=0.2]"),
        ("gauss", "ddpm:FILE"),
        ("train:depth=3", "\"depth=3\" means nothing here"),
        ("train:sigma=-1", "sigma wants a number from 0.0001 to 10"),
        ("train:steps=0", "steps wants"),
    ] {
        place.fails(&format!("{fit} {spec}"), message);
    }
    place.fails(&format!("{fit} train --score-input 2,1"), "needs no map");
    place.ok(&format!("{fit} train:steps=3 -q"));
}

#[test]
fn a_score_goes_from_data_to_a_detector() {
    let place = ready(&CLASSIFIER);
    let train = "train score --data train.npy --out score.onnx --steps 300 --seed 1";
    let run = place.ok(&format!("{train} --report page.html"));
    for part in [
        "steps",
        "samples a second",
        "held-out loss",
        "▁",
        "Stein ratio",
        "best Gaussian",
        "sliced",
        "verdict",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    assert!(run.err.contains("wrote score.onnx") && run.err.contains("wrote page.html"));
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("drawn"), "{} bytes", page.len());
    assert!(!place.names().iter().any(|name| name.contains("checkpoint")), "{:?}", place.names());
    let check = place.json("inspect --score-model onnx:score.onnx --data train.npy --json -q");
    assert!((check["scale"].as_f64().unwrap() - 1.0).abs() < 0.15, "{check}");
    place.ok(
        "fit --model model.onnx --data train.npy --score-model onnx:score.onnx -o detector.onnx -q",
    );
    // Normalised for the model, the score still sees what it learned from.
    let shifted = "--mean 0.5,0.2,0,1 --std 2,3,1,0.5";
    let check = place.json(&format!(
        "inspect --score-model onnx:score.onnx --data train.npy --json -q {shifted}"
    ));
    assert!((check["scale"].as_f64().unwrap() - 1.0).abs() < 0.15, "{check}");
}

#[test]
fn what_is_told_as_json_is_what_happened() {
    let place = table(400);
    let train = "train score --data table.csv --exclude class,price --out s.onnx --steps 200 --batch 50 --json";
    let told = place.json(train);
    assert_eq!(
        (&told["kind"], &told["steps"], &told["batch"]),
        (&"score".into(), &200.into(), &50.into())
    );
    assert_eq!(told["held_out"]["samples"], 40);
    assert_eq!(told["curve"].as_array().map(Vec::len), Some(100));
    // 0.2 deviations of each column.
    let noise: Vec<f64> = serde_json::from_value(told["noise"].clone()).unwrap();
    assert!(
        (noise[0] / 2.0 - 1.0).abs() < 0.1 && (noise[1] / 0.002 - 1.0).abs() < 0.1,
        "{noise:?}"
    );
    let levels = place.json(&format!("{train} --sigma-range 0.1..1"));
    assert_eq!(levels["levels"].as_array().map(Vec::len), Some(8));
    let early = place.json("train score --data table.csv --out s.onnx --steps 100000 --batch 50 --rate 0.05 --patience 1 --json -q");
    assert!(early["steps"].as_u64().unwrap() < 100_000);
}

#[test]
fn a_diffusion_model_s_file_tells_how_it_is_used() {
    let place = ready(&CLASSIFIER);
    place.ok("train score --data train.npy --diffusion cosine --t-steps 50 --steps 2000 --out unet.onnx -q --report page.html");
    // Steps, schedule and scale are in the file.
    let check = place.json("inspect --score-model ddpm:unet.onnx,t=5 --data train.npy --json -q");
    assert!((check["scale"].as_f64().unwrap() - 1.0).abs() < 0.15, "{check}");
    assert_eq!(check["score"]["steps"], 50);
    assert_eq!(check["score"]["schedule"]["name"], "cosine");
    place.ok(
        "fit --model model.onnx --data train.npy --score-model ddpm:unet.onnx,t=5 -o detector.onnx -q",
    );
    place.fails(
        "fit --model model.onnx --data train.npy --score-model ddpm:unet.onnx,t=60 -o d.onnx",
        "t=60",
    );
}

#[test]
fn images_are_learned_from() {
    let place = Place::new();
    images(&place, "images.npy");
    let train = "train score --data images.npy --shape 1,8,8 --batch 16 --out score.onnx --report page.html --json -q";
    let told = place.json(&format!("{train} --steps 60 --augment shift=1"));
    let held_out = told["held_out"]["loss"].as_f64().unwrap();
    assert!(held_out < told["curve"][0]["loss"].as_f64().unwrap(), "{told}");
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("data:image/png"), "{} bytes", page.len());
    let told = place.json(&format!("{train} --steps 20 --diffusion linear --t-steps 100"));
    assert!(told["weights"].as_u64().unwrap() > 100_000, "a U-Net: {told}");
    place.fails(&format!("{train} --steps 3 --network resnet"), "no network \"resnet\"");
}

#[test]
fn classifiers_and_regressors_take_tables_as_they_are() {
    let place = table(1000);
    let told = place.json(
        "train classifier --data table.csv --label class --exclude price --test table.csv --steps 300 --out c.onnx --json -q",
    );
    assert!(told["test"]["accuracy"].as_f64().unwrap() > 0.9, "{told}");
    assert!(told["held_out"]["accuracy"].as_f64().unwrap() > 0.85, "{told}");
    let by_class = told["held_out"]["by_class"].as_array().unwrap();
    let count = |c: &serde_json::Value| c["samples"].as_u64().unwrap();
    assert_eq!((by_class.len(), by_class.iter().map(count).sum()), (2, 100), "{told}");
    let right =
        |c: &serde_json::Value| c["accuracy"].as_f64().unwrap() * c["samples"].as_f64().unwrap();
    let share = by_class.iter().map(right).sum::<f64>() / 100.0;
    assert!((share - told["held_out"]["accuracy"].as_f64().unwrap()).abs() < 1e-9, "{told}");
    place.ok("fit --model c.onnx --data table.csv --label class --exclude price --score-model gaussian -o d.onnx -q");
    let run = place.ok(
        "train regressor --data table.csv --target price --exclude class --steps 300 --out r.onnx",
    );
    assert!(run.out.contains("of the variance"), "{}", run.out);
    let x = Array2::from_shape_vec((1, 2), vec![60.0f32, 0.0]).unwrap().into_dyn();
    place.write("x.npy", &x);
    place.ok("derive r.onnx --input x.npy --value v.npy -q");
    let price = place.array("v.npy").sum();
    assert!((price - 1200.0).abs() < 40.0, "{price}");
    place.fails("train regressor --data table.csv --target cost --out r.onnx", "cost");
    place.fails("train regressor --data x.npy --target cost --out r.onnx", "no column to predict");
}

#[test]
fn a_classifier_is_told_by_class() {
    let place = table(300);
    let train =
        "train classifier --data table.csv --label class --exclude price --steps 30 --out c.onnx";
    let run = place.ok(&format!("{train} --test table.csv --report page.html"));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = run.out.lines().map(words).collect();
    let head = lines.iter().position(|l| l == "class held out right test right").expect(&run.out);
    assert!(lines[head + 1].starts_with("0 ") && lines[head + 2].starts_with("1 "), "{}", run.out);
    assert_eq!(lines.len(), head + 3, "{}", run.out);
    assert!(fs::read_to_string(place.path("page.html")).unwrap().contains("By class"));
}

/// An entry of a file's metadata.
fn entry(place: &Place, file: &str, key: &str) -> serde_json::Value {
    let model = taste_onnx::Model::open(&place.path(file)).unwrap();
    let found = model.proto.metadata_props.iter().find(|e| e.key == key).expect(key);
    serde_json::from_str(&found.value).unwrap()
}

#[test]
fn files_say_whether_bytes_were_taken_as_they_are() {
    let place = Place::new();
    images(&place, "images.npy");
    let train = "train score --data images.npy --shape 1,8,8 --batch 16 --steps 60 -q --out";
    place.ok(&format!("{train} raw.onnx --raw"));
    place.ok(&format!("{train} scaled.onnx"));
    assert_eq!(entry(&place, "raw.onnx", "taste.score")["raw"], true);
    assert_eq!(entry(&place, "scaled.onnx", "taste.score")["raw"], false);
    // However the data are read, the score sees what it learned from.
    for file in ["raw.onnx", "scaled.onnx"] {
        let inspect =
            format!("inspect --score-model onnx:{file} --data images.npy --shape 1,8,8 --json -q");
        let [raw, scaled] = ["--raw", ""].map(|flag| place.json(&format!("{inspect} {flag}")));
        let [raw, scaled] = [&raw, &scaled].map(|check| check["mean_norm"].as_f64().unwrap());
        assert!((255.0 * raw / scaled - 1.0).abs() < 1e-3, "{file}: {raw} {scaled}");
    }
}

#[test]
fn a_classifier_remembers_how_its_samples_were_read() {
    let place = table(300);
    let data = "--data table.csv --label class --exclude price";
    place.ok(&format!("train classifier {data} --raw --mean 50,0 --steps 20 --out c.onnx -q"));
    let reading = entry(&place, "c.onnx", "taste.reading");
    assert_eq!(
        (&reading["raw"], &reading["columns"]),
        (&true.into(), &serde_json::json!(["a", "b"]))
    );
    assert_eq!(reading["mean"], serde_json::json!([50.0, 0.0]));
    let fit = format!("fit --model c.onnx {data} --score-model gaussian -o d.onnx");
    let other =
        "c.onnx learned from samples read with --raw --mean 50,0; here they are read without";
    assert!(place.ok(&fit).err.contains(other));
    assert!(!place.ok(&format!("{fit} --raw --mean 50,0")).err.contains("learned from"));
}

#[test]
fn a_classifier_goes_on_from_another() {
    let place = table(400);
    let data = "--data table.csv --label class --exclude price";
    place.ok(&format!(
        "train classifier {data} --mean 50,0 --std 10,0.01 --steps 60 --out c.onnx -q"
    ));
    let tune =
        format!("train classifier {data} --mean 50,0 --std 10,0.01 --start c.onnx --steps 60");
    let tuned = place.json(&format!("{tune} --out t.onnx --json -q"));
    assert!(tuned["held_out"]["accuracy"].as_f64().unwrap() > 0.9, "{tuned}");
    let said = place.ok(&format!("{tune} --classes 3 --out three.onnx"));
    assert!(
        said.err.contains("the last linear layer is new, as there are 3 classes"),
        "{}",
        said.err
    );
    place.fails(&format!("{tune} --network mlp --out t.onnx"), "'--network <NETWORK>'");
}

/// Starts a run, kills it once it has kept something, and returns how long it ran.
fn killed(place: &Place, arguments: &str, checkpoint: &str) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_taste"))
        .args(arguments.split_whitespace())
        .current_dir(place.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !place.path(checkpoint).exists() {
        assert!(run.try_wait().unwrap().is_none(), "it ended before it was killed");
        assert!(started.elapsed() < Duration::from_mins(2), "nothing was kept");
        thread::sleep(Duration::from_millis(5));
    }
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn a_killed_run_goes_on_to_the_same_weights() {
    let place = ready(&CLASSIFIER);
    let train = "train score --data train.npy --steps 3000 --batch 64 --seed 7 --checkpoint-every 0.05 --out";
    place.ok(&format!("{train} whole.onnx -q"));
    let interrupted = format!("{train} killed.onnx");
    killed(&place, &interrupted, "killed.onnx.checkpoint");
    assert!(!place.path("killed.onnx").exists());
    let run = place.ok(&interrupted);
    assert!(run.err.contains("going on from step "), "{}", run.err);
    assert_eq!(
        fs::read(place.path("killed.onnx")).unwrap(),
        fs::read(place.path("whole.onnx")).unwrap()
    );
    assert!(!place.path("killed.onnx.checkpoint").exists());
    let other = place.ok(&format!("{train} other.onnx --seed 8 -q").replacen("--seed 7 ", "", 1));
    assert!(other.err.is_empty());
    assert_ne!(
        fs::read(place.path("other.onnx")).unwrap(),
        fs::read(place.path("whole.onnx")).unwrap()
    );
}

#[test]
fn a_run_whose_checkpoint_can_not_be_written_goes_on_and_says_so() {
    let place = ready(&CLASSIFIER);
    fs::create_dir(place.path("kept")).unwrap();
    let train = "train score --data train.npy --steps 3000 --batch 64 --seed 7 --checkpoint-every 0 --out m.onnx";
    let run = Command::new(env!("CARGO_BIN_EXE_taste"))
        .args(format!("{train} --checkpoint kept/run").split_whitespace())
        .current_dir(place.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !place.path("kept/run").exists() {
        assert!(started.elapsed() < Duration::from_mins(2), "nothing was kept");
        thread::sleep(Duration::from_millis(5));
    }
    while place.path("kept").exists() {
        let _ = fs::remove_dir_all(place.path("kept"));
    }
    let done = run.wait_with_output().unwrap();
    let err = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && place.path("m.onnx").exists(), "{err}");
    for told in ["the run goes on without it", "the run went on without it"] {
        let line = err.lines().find(|line| line.ends_with(told)).unwrap_or_else(|| panic!("{err}"));
        assert!(line.starts_with("warning: checkpoint kept/run: it can't be written:"), "{line}");
    }
}

#[test]
fn a_checkpoint_of_another_network_is_refused() {
    let place = ready(&CLASSIFIER);
    let train = "train score --data train.npy --steps 3000 --checkpoint-every 0.05 --checkpoint kept --out m.onnx";
    killed(&place, train, "kept");
    place.fails(&format!("{train} --sigma 0.3"), "kept: it belongs to another run: its goal");
    place.fails(&format!("{train} --seed 1"), "its seed is 0, and here it is 1");
    let classify = "train score --data train.npy --steps 3000 --diffusion linear --checkpoint kept --out m.onnx";
    place.fails(classify, "checkpoint kept");
    place.text("kept", "not a checkpoint");
    place.fails(train, "it is no checkpoint");
}

#[test]
fn what_can_not_be_learned_is_one_sentence() {
    let place = ready(&CLASSIFIER);
    let train = "train score --data train.npy --out m.onnx --steps 50";
    for (flags, message) in [
        ("--rate 1e6", "training has diverged; a smaller rate (now 1000000)"),
        ("--rate -1", "the rate must be above 0"),
        ("--sigma 0", "--sigma 0: the noise has a deviation of"),
        ("--sigma -2", "--sigma -2"),
        ("--sigma nan", "--sigma NaN"),
        ("--sigma much", "much"),
        ("--sigma-range 2..1", "2"),
        ("--sigma-range 2", "not a range like 0.05..2"),
        ("--sigma 1 --diffusion linear", "cannot be used with"),
        ("--diffusion square", "no schedule \"square\""),
        ("--diffusion linear --t-steps 1", "2 to a million steps"),
        ("--held-out 1.5", "the held-out share must be 0 to 1"),
        ("--held-out 0 --patience 3", "needs held-out samples"),
        ("--augment flip", "can't be mirrored"),
        ("--augment turn", "neither flip nor shift"),
        ("--average 2", "the average must keep a share"),
        ("--network conv", "a convolution takes images"),
        ("--checkpoint-every -1", "no time in seconds"),
        ("--out train.npy", "overwrite what is read"),
        ("--report m.onnx", "the same file"),
    ] {
        let flags = if flags.starts_with("--out") {
            format!("train score --data train.npy --steps 50 {flags}")
        } else {
            format!("{train} {flags}")
        };
        place.fails(&flags, message);
    }
    place.text("finished.onnx", "");
    let finished = place.path("finished.onnx");
    let mut permissions = fs::metadata(&finished).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&finished, permissions).unwrap();
    place.fails(
        "train score --data train.npy --out finished.onnx",
        "--out finished.onnx: it is there already and may not be changed",
    );
    let constant = samples(50, 0.0, 1).select(Axis(0), &[3; 50]);
    place.write("constant.npy", &constant.into_dyn());
    place.fails("train score --data constant.npy --out m.onnx", "all samples are the same");
    place.write("empty.npy", &ArrayD::<f32>::zeros(vec![0, 4]));
    place.fails("train score --data empty.npy --out m.onnx", "empty.npy");
    place.write("bad.npy", &ArrayD::<f32>::from_elem(vec![9, 4], f32::NAN));
    place.fails("train score --data bad.npy --out m.onnx", "no samples with finite entries");
    place.fails("train score --data gone.npy --out m.onnx", "gone.npy");
    let help = place.run("train");
    assert_eq!((help.code, help.out.as_str()), (Some(2), ""), "{}", help.err);
    assert!(help.err.contains("Usage: taste train <COMMAND>"), "{}", help.err);
}

#[test]
fn labels_must_be_classes() {
    let place = table(60);
    let train = "train classifier --data table.csv --exclude price --out c.onnx --steps 20";
    place.fails(train, "--labels names their file");
    place.fails(&format!("{train} --label a"), "label");
    let text = fs::read_to_string(place.path("table.csv")).unwrap();
    let wrong = |from: &str, to: &str| {
        place.text("wrong.csv", &text.replace(from, to));
        "train classifier --data wrong.csv --exclude price --label class --out c.onnx --steps 20"
    };
    place.text("wrong.csv", "");
    place.fails(wrong(",1,", ",-1,"), "has the label -1");
    place.fails(wrong(",1,", ",123456,"), "has the label 123456");
    place.fails(wrong(",1,", ",0,"), "every sample has the label 0");
    let train = wrong(",1,", ",4,");
    place
        .fails(&format!("{train} --classes 3"), "has the label 4, and classes are numbered 0 to 2");
    place.fails(&format!("{train} --classes 1"), "--classes 1");
    place.text("wrong.csv", &text);
    place.text("test.csv", &text.replace(",1,", ",7,"));
    place.fails(
        "train classifier --data wrong.csv --exclude price --label class --test test.csv --out c.onnx --steps 20 --checkpoint kept",
        "has the label 7",
    );
}
