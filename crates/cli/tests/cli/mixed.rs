//! Tables as people have them: ids, dates, words, missing values, in several files, from standard input.

use std::{
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
};

use ndarray::{Array2, Axis};

use crate::{
    common::{Place, Run},
    models::{CLASSIFIER, ready, samples},
};

const FIT: &str = "fit --model model.onnx --score-model gaussian -o detector.onnx --labels target";

/// A table with an id, a date, a column of words in place of the third entry, and labels that are words.
fn table(rows: &Array2<f32>, town: impl Fn(usize) -> &'static str) -> String {
    let mut text = "id,when,age,income,town,weight,target\n".to_owned();
    for (i, row) in rows.axis_iter(Axis(0)).enumerate() {
        let class = ["no", "perhaps", "yes"][i % 3];
        let day = 1 + i % 28;
        writeln!(
            text,
            "u{i},2024-05-{day:02},{},{},{},{},{class}",
            row[0],
            row[1],
            town(i),
            row[3]
        )
        .unwrap();
    }
    text
}

const TOWNS: [&str; 3] = ["Ulm", "Bonn", "Essen"];

/// `train.csv` and a detector that takes age, income, town and weight.
fn fitted() -> (Place, Run) {
    let place = ready(&CLASSIFIER);
    place.text("train.csv", &table(&samples(500, 0.0, 3), |i| TOWNS[i % 3]));
    let run = place.ok(&format!("{FIT} --data train.csv"));
    (place, run)
}

#[test]
fn words_dates_and_ids_are_told_apart_and_scores_can_be_joined() {
    let (place, run) = fitted();
    assert!(
        run.err.contains("town holds words, which are read as the numbers 0 to 2"),
        "{}",
        run.err
    );
    assert!(run.err.contains("Bonn, Essen, Ulm"), "{}", run.err);
    assert!(run.err.contains("left out id (names of rows), when (dates)"), "{}", run.err);
    place.fails(
        &format!("{FIT} --data train.csv --columns age,income,id,weight").replace("detector", "d"),
        "column \"id\" holds words, 500 different ones in 500 rows: it names the rows, and is no input; --exclude",
    );
    place.text(
        "new.csv",
        &table(&samples(50, 0.0, 4), |i| if i < 4 { "Paris" } else { TOWNS[i % 3] }),
    );
    let run = place.ok("score detector.onnx new.csv --keep id,town,target -o scores.jsonl");
    assert!(
        run.err.contains(
            "data: town: 4 of 50 samples (8.0 %) have a word that the training data do not have"
        ),
        "{}",
        run.err
    );
    let text = std::fs::read_to_string(place.path("scores.jsonl")).unwrap();
    let rows: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 50);
    assert_eq!((&rows[7]["id"], &rows[3]["town"]), (&"u7".into(), &"Paris".into()));
    assert_eq!(rows[4]["target"], "perhaps");
    for row in &rows {
        let class = row["prediction"].as_str().unwrap();
        assert!(["no", "perhaps", "yes"].contains(&class), "{class}");
    }
    for file in ["scores.csv", "scores.parquet"] {
        place.ok(&format!("score detector.onnx new.csv --keep id -o {file} -q"));
    }
    let csv = std::fs::read_to_string(place.path("scores.csv")).unwrap();
    assert!(csv.lines().next().unwrap().ends_with(",prediction,id"), "{csv}");
    let manifest = place.json("inspect detector.onnx --json");
    let reading = manifest.pointer("/manifest/data/reading").or(manifest.pointer("/data/reading"));
    assert_eq!(reading.unwrap()["words"][0]["words"][2], "Ulm");
    place.fails("score detector.onnx new.csv --keep it -o s.csv", "no column \"it\"; there are id");
}

#[test]
fn superfluous_columns_are_left_out_with_a_note() {
    let place = ready(&CLASSIFIER);
    let rows = samples(500, 0.0, 3);
    let mut text = "when,age,income,height,weight,town\n".to_owned();
    for row in rows.axis_iter(Axis(0)) {
        writeln!(text, "2024-05-17,{},{},{},{},Ulm", row[0], row[1], row[2], row[3]).unwrap();
    }
    place.text("train.csv", &text);
    let fit = FIT.replace(" --labels target", "");
    let run = place.ok(&format!("{fit} --data train.csv"));
    assert!(run.err.contains("note: left out when (dates), town (words)"), "{}", run.err);
    let by_name = place.ok("score detector.onnx train.csv -q").out;
    place.ok(&format!("{fit} --data train.csv --columns age,income,height,weight -q"));
    assert_eq!(by_name, place.ok("score detector.onnx train.csv -q").out);
}

#[test]
fn missing_values_that_stop_a_fit_are_named() {
    let place = ready(&CLASSIFIER);
    let rows = samples(500, 0.0, 3);
    let write = |name: &str, every: usize| {
        let mut text = "age,income,height,weight\n".to_owned();
        for (i, row) in rows.axis_iter(Axis(0)).enumerate() {
            let age = if i % every == 0 { String::new() } else { row[0].to_string() };
            writeln!(text, "{age},{},{},{}", row[1], row[2], row[3]).unwrap();
        }
        place.text(name, &text);
    };
    let fit = FIT.replace(" --labels target", "");
    write("holes.csv", 5);
    place.fails(
        &format!("{fit} --data holes.csv"),
        "age is missing in 100 of 500 samples, and of those the model makes no number: fill in",
    );
    write("train.csv", 100);
    place.ok(&format!("{fit} --data train.csv -q"));
    let run = place.ok("score detector.onnx holes.csv -o s.csv");
    assert!(
        run.err.contains("data: age: missing in 100 of 500 samples (20 %; 1.0 %"),
        "{}",
        run.err
    );
}

#[test]
fn data_beside_the_training_data_are_told() {
    let place = crate::models::fitted();
    let mut rows = samples(200, 0.0, 9);
    rows.column_mut(3).fill(-70.0);
    rows.column_mut(2).fill(0.25);
    place.write("odd.npy", &rows.clone().into_dyn());
    let run = place.ok("score detector.onnx odd.npy -o s.csv");
    assert!(
        run.err.contains("data: column 3: 200 of 200 samples (100 %) lie outside"),
        "{}",
        run.err
    );
    assert!(run.err.contains("data: column 2: 0.25 in all 200 samples"), "{}", run.err);
    let report = place.run("test detector.onnx odd.npy --json");
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let remarks = report["batches"][0]["remarks"].as_array().unwrap();
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert!(remarks.iter().any(|r| r["matter"] == "out_of_range" && r["name"] == "column 3"));
    assert!(place.run("test detector.onnx odd.npy").out.contains("data     column"));
    place.ok("score detector.onnx odd.npy -o s.csv -q --report page.html");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("The data beside the training data"));
    // Samples like the training data are worth no line.
    let quiet = place.ok("score detector.onnx new.npy -o s.csv");
    assert!(!quiet.err.contains("data:"), "{}", quiet.err);
}

#[test]
fn several_files_and_standard_input_are_data() {
    let (place, _) = fitted();
    let rows = samples(60, 0.0, 4);
    let all = table(&rows, |i| TOWNS[i % 3]);
    let lines: Vec<&str> = all.lines().collect();
    place.text("all.csv", &all);
    place.text("part-1.csv", &format!("{}\n{}\n", lines[0], lines[1..31].join("\n")));
    place.text("part-2.csv", &format!("{}\n{}\n", lines[0], lines[31..].join("\n")));
    let want = place.ok("score detector.onnx all.csv --keep id -q").out;
    assert_eq!(want.lines().count(), 61);
    assert_eq!(place.ok("score detector.onnx part-1.csv part-2.csv --keep id -q").out, want);
    assert_eq!(place.ok("score detector.onnx part-*.csv --keep id -q").out, want);
    place.fails("score detector.onnx gone-*.csv", "gone-*.csv: there is no such file or folder");
    let json: Vec<String> = lines[1..]
        .iter()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!(
                "{{\"town\":{:?},\"weight\":{},\"income\":{},\"age\":{},\"id\":{:?}}}\n",
                cells[4], cells[5], cells[3], cells[2], cells[0]
            )
        })
        .collect();
    let json = json.concat();
    for text in [&all, &json] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taste"))
            .args(["score", "detector.onnx", "-", "--keep", "id", "-q"])
            .current_dir(place.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), want);
    }
    place.text("rows.jsonl", &json);
    assert_eq!(place.ok("score detector.onnx rows.jsonl --keep id -q").out, want);
    place.fails("score detector.onnx - -o s.csv", "standard input: it is empty");
    // Fit on several files is a fit on one.
    place.ok(&format!(
        "{FIT} --data part-1.csv part-2.csv --exclude id,when --held-out 40 --alpha 0.1 -q"
    ));
}

#[test]
fn labels_of_words_and_names_of_classes() {
    let place = ready(&CLASSIFIER);
    place.text("train.csv", &table(&samples(500, 0.0, 3), |i| TOWNS[i % 3]));
    let fit = FIT.replace(" --labels target", "");
    place.ok(&format!("{fit} --data train.npy --class-names red,green,blue -q"));
    let out = place.ok("score detector.onnx new.npy -q").out;
    assert!(
        out.lines().skip(1).all(|l| ["red", "green", "blue"].iter().any(|c| l.ends_with(c))),
        "{out}"
    );
    place.ok(
        "train classifier --data train.csv --labels target --exclude id,when --steps 20 --out clf.onnx -q",
    );
    place.fails(
        &format!("{fit} --data train.npy --labels target").replace("detector", "d"),
        "--labels target: there is no such file, and train.npy is no table with columns",
    );
    place.fails(
        &format!("{fit} --data train.npy --class-names a,b,a").replace("detector", "d"),
        "--class-names: there are two classes \"a\"",
    );
}
