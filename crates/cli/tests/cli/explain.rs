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
    assert_eq!(run.err.trim_end(), "wrote out/maps.npy and 4 images in out");
    assert!(run.out.starts_with("column"), "{}", run.out);
    let found = files(&place, "out");
    assert_eq!(found.len(), 6);
    assert_eq!(found[..3], ["explain.json", "maps.npy", "overview.png"]);
    for name in &found[2..] {
        let image = image::open(place.path("out").join(name)).unwrap();
        assert!(image.width() > 100 && image.height() > 50, "{name}");
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
        let sizes: Vec<f64> =
            parts.iter().map(|p| p["deviations"].as_f64().unwrap().abs()).collect();
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
    let names =
        ["explain.json", "maps.npy", "overview.png", "sample-000002.png", "sample-000009.png"];
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
    place.ok(
        "fit --model model.onnx --score-model gaussian --data train.npy --no-map -o flat.onnx -q",
    );
    place.fails("explain flat.onnx new.npy -o out", "flat.onnx: this detector has no maps");
    place.fails("explain detector.onnx gone.npy -o out", "gone.npy");
    place.fails("explain detector.onnx new.npy -o new.npy", "new.npy");
    place.fails("explain detector.onnx new.npy", "--out");
    // A file that ends too early is found out on the way.
    let bytes = fs::read(place.path("new.npy")).unwrap();
    fs::write(place.path("short.npy"), &bytes[..bytes.len() - 5]).unwrap();
    place.fails("explain detector.onnx short.npy -o some/where", "short.npy");
}

#[test]
fn parts_of_a_table_are_told_in_calibration_deviations() {
    let place = fitted();
    let parts = |data: &str| {
        let report = place.json(&format!("explain detector.onnx {data} -o out --json -q"));
        let of = |p: &serde_json::Value| {
            let name = p["name"].as_str().unwrap().to_owned();
            (name, (p["deviations"].as_f64().unwrap(), p["part"].as_f64().unwrap()))
        };
        let all = report["overall"].as_array().unwrap();
        (all.iter().map(of).collect::<Vec<_>>(), report)
    };
    // Data like the calibration data have root mean squares near one, whatever the scale of a column's parts.
    place.write("like.npy", &samples(2000, 0.0, 8).into_dyn());
    let (like, _) = parts("like.npy");
    assert!(like.iter().all(|(_, (d, _))| (0.6..1.7).contains(d)), "{like:?}");
    let mut moved = samples(200, 0.0, 8);
    moved.column_mut(2).mapv_inplace(|v| v + 3.0);
    place.write("moved.npy", &moved.into_dyn());
    let (found, report) = parts("moved.npy");
    assert_eq!(found[0].0, "entry 2", "{found:?}");
    assert!(found[0].1.0 > 2.0, "{found:?}");
    // Deviations are parts over one number a column.
    let ratios = |name: &str| -> Vec<f64> {
        let samples = report["explained"].as_array().unwrap().iter();
        let own = samples.flat_map(|s| s["top"].as_array().unwrap()).filter(|p| p["name"] == name);
        own.map(|p| p["part"].as_f64().unwrap() / p["deviations"].as_f64().unwrap()).collect()
    };
    let ratio = ratios("entry 2");
    assert!(
        ratio.len() > 5 && ratio.iter().all(|r| (r / ratio[0] - 1.0).abs() < 1e-4),
        "{ratio:?}"
    );
    let text = place.ok("explain detector.onnx moved.npy -o out -q").out;
    assert!(text.starts_with("column   contribution (SD)  mean size\nentry 2"), "{text}");
    assert!(text.contains(" SD ("), "{text}");
}

#[test]
fn a_folder_holds_one_run_and_what_is_not_ours() {
    let place = fitted();
    place.ok("explain detector.onnx new.npy -o out --samples 1,2,3 -q");
    fs::write(place.path("out/mine.txt"), "kept").unwrap();
    place.ok("explain detector.onnx new.npy -o out --samples 2,7 -q");
    let names = ["explain.json", "maps.npy", "mine.txt", "overview.png"];
    let images = ["sample-000002.png", "sample-000007.png"];
    assert_eq!(files(&place, "out"), [&names[..], &images[..]].concat());
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path("out/explain.json")).unwrap()).unwrap();
    assert_eq!(report["explained"][1]["index"], 7);
    // Files of these names that no run has written are in the way, and stay.
    for name in ["maps.npy", "overview.png", "sample-000123.png", "explain.json"] {
        let folder = format!("own-{name}");
        fs::create_dir(place.path(&folder)).unwrap();
        fs::write(place.path(&folder).join(name), "mine").unwrap();
        place.fails(
            &format!("explain detector.onnx new.npy -o {folder}"),
            &format!("-o {folder}: it holds {name}, which no run of explain wrote"),
        );
        assert_eq!(files(&place, &folder), [name]);
        assert_eq!(fs::read(place.path(&folder).join(name)).unwrap(), b"mine");
    }
    assert!(place.ok("explain --help").out.contains("an earlier run wrote"));
}
