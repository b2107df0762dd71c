//! Tables with named columns, from the fit to the explanation.

use ndarray::{Array2, Axis};
use taste_data::{Column, Kind, TableWriter, Value};

use crate::{
    common::{Place, distance},
    models::{CLASSIFIER, ready, samples},
};

const NAMES: [&str; 4] = ["age", "income", "height", "weight"];
const FIT: &str =
    "fit --model model.onnx --score-model gaussian --data train.csv -o detector.onnx -q";

/// A table with these columns of the samples, in this order; others hold words.
fn csv(place: &Place, name: &str, columns: &[&str], rows: &Array2<f32>) {
    let mut text = columns.join(",");
    for row in rows.axis_iter(Axis(0)) {
        let cells = columns.iter().map(|c| match NAMES.iter().position(|n| n == c) {
            Some(i) => row[i].to_string(),
            None => "word".to_owned(),
        });
        text.push('\n');
        text += &cells.collect::<Vec<_>>().join(",");
    }
    place.text(name, &text);
}

fn parquet(place: &Place, name: &str, order: &[usize], rows: &Array2<f32>) {
    let columns: Vec<Column> = order.iter().map(|&i| Column::new(NAMES[i], Kind::Float)).collect();
    let mut writer = TableWriter::create(&place.path(name), &columns).unwrap();
    for row in rows.axis_iter(Axis(0)) {
        let row: Vec<Value<'_>> = order.iter().map(|&i| Value::Single(row[i])).collect();
        writer.write(&row).unwrap();
    }
    writer.finish().unwrap();
}

/// `train.csv` with labels that are words, a detector, and `new.npy`.
fn labelled() -> Place {
    let place = ready(&CLASSIFIER);
    let columns = ["age", "class", "income", "height", "weight"];
    csv(&place, "train.csv", &columns, &samples(500, 0.0, 3));
    place.ok(&format!("{FIT} --label class"));
    place
}

fn scores(place: &Place, file: &str) -> ndarray::ArrayD<f64> {
    place.ok(&format!("score detector.onnx {file} -o scores.npy -q"));
    place.array("scores.npy")
}

#[test]
fn columns_are_found_by_name_wherever_they_are() {
    let place = labelled();
    let rows = samples(70, 0.0, 4);
    let want = scores(&place, "new.npy");
    for (name, columns) in [
        ("unlabelled.csv", &NAMES[..]),
        ("turned.csv", &["weight", "age", "height", "income"]),
        ("labelled.csv", &["age", "class", "income", "height", "weight"]),
        ("more.csv", &["id", "weight", "income", "town", "age", "height"]),
    ] {
        csv(&place, name, columns, &rows);
        let d = distance(&scores(&place, name), &want);
        assert!(d < 1e-6, "{name}: off by {d:.1e}");
    }
    for (name, order) in [("plain.parquet", [0, 1, 2, 3]), ("turned.parquet", [2, 0, 3, 1])] {
        parquet(&place, name, &order, &rows);
        assert_eq!(scores(&place, name), want, "{name}");
    }
    csv(&place, "missing.csv", &["age", "income", "height", "class"], &rows);
    place.fails(
        "score detector.onnx missing.csv -o s.csv",
        "missing.csv: no column \"weight\"; there are height, age, income, class",
    );
    place.text("bare.csv", "1,2,3,4\n5,6,7,8\n");
    place.fails(
        "score detector.onnx bare.csv -o s.csv",
        "its first line holds numbers and no names",
    );
}

#[test]
fn calibration_tables_are_read_by_name_too() {
    let place = labelled();
    let held = samples(200, 0.0, 8);
    csv(&place, "held.csv", &NAMES, &held);
    csv(&place, "turned.csv", &["weight", "height", "income", "age"], &held);
    let threshold = |file: &str| {
        let manifest = place.json(&format!("{FIT} --label class --calibration {file} --json"));
        manifest["decision"]["threshold"].clone()
    };
    assert_eq!(threshold("held.csv"), threshold("turned.csv"));
}

#[test]
fn columns_can_be_chosen_when_a_detector_is_fitted() {
    let place = ready(&CLASSIFIER);
    let rows = samples(500, 0.0, 3);
    csv(&place, "train.csv", &["weight", "town", "height", "income", "id", "age"], &rows);
    place.ok(&format!("{FIT} --columns age,income,height,weight"));
    let chosen = scores(&place, "new.npy");
    csv(&place, "train.csv", &["age", "id", "income", "height", "town", "weight"], &rows);
    place.ok(&format!("{FIT} --exclude id,town"));
    assert_eq!(chosen, scores(&place, "new.npy"));
    for (flags, message) in [
        ("--exclude weight", "5 columns (age, id, income, height, town) can't be made"),
        ("--exclude id,town --columns age,size", "no column \"size\""),
        ("--label klass --exclude weight", "no column \"klass\""),
    ] {
        place.fails(&format!("{FIT} {flags}").replace("detector.onnx", "d.onnx"), message);
    }
}

#[test]
fn shifts_and_explanations_name_columns() {
    let place = labelled();
    place.ok(&format!("{FIT} --label class --target energy --tail upper"));
    let mut rows = samples(200, 0.0, 4);
    rows.index_axis_mut(Axis(1), 3).mapv_inplace(|v| v + 9.0);
    csv(&place, "heavy.csv", &["weight", "height", "income", "age"], &rows);
    let run = place.run("test detector.onnx heavy.csv --json");
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(run.code, Some(1), "{}", run.err);
    let entries = report["batches"][0]["information"]["entries"]["list"].as_array().unwrap();
    let mut names: Vec<&str> = entries.iter().map(|e| e["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["age", "height", "income", "weight"]);
    let columns = &report["batches"][0]["information"]["columns"];
    assert_eq!(columns[0]["name"], "weight");
    assert!(place.run("test detector.onnx heavy.csv").out.contains("  column weight "));
    let report = place.json("explain detector.onnx heavy.csv -o columns --most 2 --json");
    assert!(names.contains(&report["overall"][0]["name"].as_str().unwrap()));
    assert_eq!(report["explained"].as_array().unwrap().len(), 2);
    // Arrays have no names of their own.
    place.write("heavy.npy", &rows.into_dyn());
    let report = place.json("explain detector.onnx heavy.npy -o columns --json");
    assert!(names.contains(&report["overall"][0]["name"].as_str().unwrap()));
}

#[test]
fn bad_lines_are_named_or_left_out() {
    let place = labelled();
    csv(&place, "new.csv", &NAMES, &samples(20, 0.0, 4));
    let mut text = std::fs::read_to_string(place.path("new.csv")).unwrap();
    text += "\n1,2,oops,4\n1,2\n";
    place.text("bad.csv", &text);
    place.fails(
        "score detector.onnx bad.csv -o s.csv",
        "bad.csv: line 22: column \"height\": \"oops\" is not a number; --skip-bad leaves such out",
    );
    let run = place.ok("score detector.onnx bad.csv -o s.csv --skip-bad");
    assert!(
        run.err.contains("left out bad.csv line 22") && run.err.contains("line 23"),
        "{}",
        run.err
    );
    assert!(run.err.contains("20 samples"), "{}", run.err);
    place.ok("score detector.onnx new.csv -o t.csv -q");
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(read("s.csv"), read("t.csv"));
    place.fails("explain detector.onnx bad.csv -o maps", "line 22");
    place.fails("test detector.onnx bad.csv", "line 22");
}

#[test]
fn rows_keep_their_numbers_when_others_are_left_out() {
    let place = labelled();
    csv(&place, "new.csv", &NAMES, &samples(20, 0.0, 4));
    let text = std::fs::read_to_string(place.path("new.csv")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    // Rows 0, 4 and 5 are bad, on the lines 2, 6 and 7 of a file from Windows.
    for at in [1, 5, 6] {
        lines[at] = "1,2,oops,4";
    }
    place.text("bad.csv", &(lines.join("\r\n") + "\r\n"));
    place.fails("score detector.onnx bad.csv -o s.csv", "bad.csv: line 2: column");
    let run = place.ok("score detector.onnx bad.csv --skip-bad");
    for line in [2, 6, 7] {
        assert!(run.err.contains(&format!("left out bad.csv line {line}: ")), "{}", run.err);
    }
    let all = place.ok("score detector.onnx new.csv -q").out;
    let bad = |row: &&str| ["0,", "4,", "5,"].iter().any(|start| row.starts_with(start));
    let want: Vec<&str> = all.lines().filter(|row| !bad(row)).collect();
    assert_eq!(run.out.lines().collect::<Vec<_>>(), want);
    let explain = "explain detector.onnx bad.csv -o maps --skip-bad --json -q";
    let report = place.json(&format!("{explain} --samples 6,19"));
    let found: Vec<_> = report["explained"].as_array().unwrap().iter().collect();
    assert_eq!((&found[0]["index"], &found[1]["index"]), (&6.into(), &19.into()));
    let maps = place.array("maps/maps.npy");
    assert_eq!(maps.shape(), [20, 4]);
    let lost: Vec<usize> = (0..20).filter(|&i| maps[[i, 0]].is_nan()).collect();
    assert_eq!(lost, [0, 4, 5]);
    place.fails(&format!("{explain} --samples 4"), "--samples 4: ");
}

#[test]
fn a_folder_of_several_kinds_is_refused() {
    let place = labelled();
    std::fs::create_dir(place.path("mixed")).unwrap();
    csv(&place, "mixed/a.csv", &NAMES, &samples(20, 0.0, 4));
    csv(&place, "mixed/b.csv", &NAMES, &samples(20, 0.0, 5));
    parquet(&place, "mixed/c.parquet", &[0, 1, 2, 3], &samples(20, 0.0, 6));
    let message = "mixed: the folder holds 1 Parquet file and 2 CSV files";
    place.fails("score detector.onnx mixed", message);
    place.fails(&FIT.replace("train.csv", "mixed").replace("detector", "d"), message);
    std::fs::remove_file(place.path("mixed/c.parquet")).unwrap();
    assert_eq!(place.ok("score detector.onnx mixed -q").out.lines().count(), 41);
}

#[test]
fn a_detector_suggests_only_what_its_commands_have() {
    let place = labelled();
    place.ok("fit --model model.onnx --score-model gaussian --data train.npy -o detector.onnx -q");
    csv(&place, "more.csv", &["age", "income", "height", "weight", "class"], &samples(9, 0.0, 4));
    csv(&place, "few.csv", &["age", "income", "height"], &samples(9, 0.0, 4));
    for command in ["score detector.onnx", "test detector.onnx", "explain -o maps detector.onnx"] {
        for data in ["few.csv", "more.csv"] {
            let run = place.run(&format!("{command} {data}"));
            assert_eq!(run.code, Some(2), "{command} {data}: {}", run.err);
            for flag in ["--columns", "--label", "--exclude", "--resize"] {
                assert!(!run.err.contains(flag), "{command} {data}: {}", run.err);
            }
        }
    }
}

#[test]
fn a_detector_says_how_its_input_is_prepared() {
    let place = ready(&CLASSIFIER);
    csv(&place, "train.csv", &NAMES, &samples(500, 0.0, 3));
    let fit = FIT.replace(" -q", "");
    let run = place.ok(&format!("{fit} --mean 1,2,3,4 --std 10"));
    let line = "x as the model takes it: less 1,2,3,4, divided by 10. taste does this to data that it reads";
    assert!(run.out.contains(line), "{}", run.out);
    assert!(place.ok("inspect detector.onnx").out.contains(line));
    assert!(!place.ok(&fit).out.contains("as the model takes it"));
}

#[test]
fn scaling_is_repeated_when_samples_are_scored() {
    let place = ready(&CLASSIFIER);
    let rows = samples(500, 0.0, 3);
    let raw = |rows: &Array2<f32>| rows.mapv(|v| v * 10.0 + 5.0);
    csv(&place, "train.csv", &NAMES, &rows);
    place.ok(FIT);
    let want = scores(&place, "new.npy");
    csv(&place, "train.csv", &NAMES, &raw(&rows));
    csv(&place, "raw.csv", &["weight", "age", "income", "height"], &raw(&samples(70, 0.0, 4)));
    place.ok(&format!("{FIT} --mean 5,5,5,5 --std 10"));
    let d = distance(&scores(&place, "raw.csv"), &want);
    assert!(d < 1e-3, "off by {d:.1e}");
    place.fails(&format!("{FIT} --mean 1,2,3").replace("detector", "d"), "mean");
}
