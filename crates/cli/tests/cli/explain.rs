//! `taste explain`.

use std::fs;

use crate::{
    common::{Place, array},
    models::{fitted, samples},
};

/// The files in a folder.
fn files(place: &Place, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn maps_and_bars_of_a_table() {
    let place = fitted();
    let run = place.ok("explain detector.onnx new.npy -o out --most 3");
    assert_eq!(run.err.trim_end(), "wrote out/maps.npy and 4 pictures in out");
    assert!(run.out.starts_with("column"), "{}", run.out);
    let found = files(&place, "out");
    assert_eq!(found.len(), 5);
    assert_eq!(found[..2], ["maps.npy", "overview.png"]);
    for name in &found[1..] {
        let picture = image::open(place.path("out").join(name)).unwrap();
        assert!(picture.width() > 100 && picture.height() > 50, "{name}");
    }
    // The parts of a sample sum to its residual.
    let maps = array(&place.path("out/maps.npy")).1;
    assert_eq!(maps.shape(), [70, 4]);
    place.ok("score detector.onnx new.npy -o s.npy -q");
    let scores = place.array("s.npy");
    for (i, row) in maps.outer_iter().enumerate() {
        let residual = scores[[i, 1]];
        assert!((row.sum() - residual).abs() < 1e-4 * (1.0 + residual.abs()), "sample {i}");
    }
}

#[test]
fn the_samples_that_are_furthest_out_come_first() {
    let place = fitted();
    let report = place.json("explain detector.onnx new.npy -o out --most 5 --json -q");
    let explained = report["explained"].as_array().unwrap();
    place.ok("score detector.onnx new.npy -o s.npy -q");
    let scores = place.array("s.npy");
    let mut order: Vec<usize> = (0..70).collect();
    order.sort_by(|&a, &b| scores[[b, 2]].total_cmp(&scores[[a, 2]]));
    let found: Vec<u64> = explained.iter().map(|e| e["index"].as_u64().unwrap()).collect();
    let want: Vec<u64> = order[..5].iter().map(|&i| i as u64).collect();
    assert_eq!(found, want);
    for sample in explained {
        let parts = sample["top"].as_array().unwrap();
        let sizes: Vec<f64> = parts.iter().map(|p| p["part"].as_f64().unwrap().abs()).collect();
        assert!(sizes.is_sorted_by(|a, b| a >= b), "{sample}");
    }
}

#[test]
fn samples_can_be_named() {
    let place = fitted();
    let report = place.json("explain detector.onnx new.npy -o out --samples 9,2 --json -q");
    let found: Vec<_> =
        report["explained"].as_array().unwrap().iter().map(|e| e["index"].clone()).collect();
    assert_eq!(found, [2, 9]);
    let names = ["maps.npy", "overview.png", "sample-000002.png", "sample-000009.png"];
    assert_eq!(files(&place, "out"), names);
    place.fails(
        "explain detector.onnx new.npy -o other --samples 70",
        "--samples 70: new.npy has 70",
    );
    place.fails("explain detector.onnx new.npy -o other --samples x", "--samples");
    place.fails("explain detector.onnx new.npy -o other --most 0", "--most");
}

#[test]
fn samples_without_residuals_are_drawn_first_and_break_nothing() {
    let place = fitted();
    let mut rows = samples(20, 0.0, 4);
    rows[[6, 2]] = f32::NAN;
    place.write("spoilt.npy", &rows.into_dyn());
    let run = place.ok("explain detector.onnx spoilt.npy -o out --most 2 --json -q");
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["explained"][0]["index"], 6);
    assert_eq!(report["explained"][0]["flag"], true);
    assert!(report["overall"][0]["part"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_fails_leaves_no_folder() {
    let place = fitted();
    place.ok("fit --model model.onnx --score gaussian --data train.npy --no-map -o flat.onnx -q");
    place.fails("explain flat.onnx new.npy -o out", "flat.onnx: this detector has no maps");
    place.fails("explain detector.onnx gone.npy -o out", "gone.npy");
    place.fails("explain detector.onnx new.npy -o new.npy", "new.npy");
    place.fails("explain detector.onnx new.npy", "--out");
    // A file that ends too early is found out on the way.
    let bytes = fs::read(place.path("new.npy")).unwrap();
    fs::write(place.path("short.npy"), &bytes[..bytes.len() - 5]).unwrap();
    place.fails("explain detector.onnx short.npy -o some/where", "short.npy");
}
