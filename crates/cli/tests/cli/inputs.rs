//! Inputs of models by their names: columns beside others, lists, whole numbers; and columns that come along.

use std::{fmt::Write as _, path::Path};

use taste_onnx::{
    DimSpec, ElemType, Model, builders,
    proto::{GraphProto, NodeProto},
};
use taste_stats::random::Random;

use crate::{
    common::{Place, distance},
    models::{CLASSIFIER, ready, samples},
};

fn save(place: &Place, graph: GraphProto) {
    let graph = GraphProto { name: "g".into(), ..graph };
    Model::new(builders::model(graph, 17)).save(&place.path("model.onnx")).unwrap();
}

/// Numbers beside the place of a shop, which is looked up in a table.
fn with_an_embedding() -> Place {
    let place = Place::new();
    let rows = DimSpec::Symbol("N".into());
    let table: Vec<f32> = (0..21u16).map(|i| f32::from(i * 37 % 21) / 7.0 - 1.5).collect();
    let weights: Vec<f32> = (0..14u16).map(|i| f32::from(i * 29 % 14) / 7.0 - 1.0).collect();
    let nodes = vec![
        builders::node("Gather", &["table", "shop"], &["found"], ""),
        NodeProto {
            attribute: vec![builders::attr_int("axis", 1)],
            ..builders::node("Concat", &["x", "found"], &["all"], "")
        },
        builders::node("MatMul", &["all", "w"], &["y"], ""),
    ];
    let graph = GraphProto {
        node: nodes,
        initializer: vec![
            builders::tensor_f32("table", &[7, 3], &table),
            builders::tensor_f32("w", &[7, 2], &weights),
        ],
        input: vec![
            builders::value_info("x", ElemType::F32, &[rows.clone(), DimSpec::Fixed(4)]),
            builders::value_info("shop", ElemType::I64, std::slice::from_ref(&rows)),
        ],
        output: vec![builders::value_info("y", ElemType::F32, &[rows, DimSpec::Fixed(2)])],
        ..GraphProto::default()
    };
    save(&place, graph);
    place
}

#[test]
fn a_column_with_the_name_of_an_input_is_fed_to_it() {
    let place = with_an_embedding();
    let mut random = Random::new(1);
    let (mut first, mut last) = ("shop,a,b,c,d\n".to_owned(), "a,b,c,d,shop\n".to_owned());
    for _ in 0..500 {
        let x: Vec<String> = (0..4).map(|_| format!("{:.4}", random.normal())).collect();
        let shop = random.below(7);
        writeln!(first, "{shop},{}", x.join(",")).unwrap();
        writeln!(last, "{},{shop}", x.join(",")).unwrap();
    }
    place.text("first.csv", &first);
    place.text("last.csv", &last);
    for name in ["first", "last"] {
        place.ok(&format!(
            "fit --model model.onnx --task numbers --data {name}.csv -o {name}.onnx -q"
        ));
        place.ok(&format!("score {name}.onnx last.csv -o {name}.npy -q"));
    }
    let apart = distance(&place.array("first.npy"), &place.array("last.npy"));
    assert!(apart < 1e-6, "{apart}");
    place.text("odd.csv", &last.replacen('\n', "\n0.1,0.2,0.3,0.4,2.5\n", 1));
    let said = "odd.csv: row 0 (counted from 0), column \"shop\": 2.5 is no whole number, and the input \"shop\"";
    place.fails("score last.onnx odd.csv", said);
    place.fails("fit --model model.onnx --task numbers --data odd.csv -o odd.onnx", said);
    place.text("large.csv", &last.replacen('\n', "\n0.1,0.2,0.3,0.4,20240101\n", 1));
    place.fails("score last.onnx large.csv", "is too large for the input \"shop\" of the model");
}

#[test]
fn a_list_with_the_name_of_the_input_is_taken_from_among_other_columns() {
    let place = ready(&CLASSIFIER);
    let input =
        Model::open(&place.path("model.onnx")).unwrap().proto.graph.unwrap().input[0].name.clone();
    let mut lines = String::new();
    for (i, row) in samples(500, 0.0, 3).outer_iter().enumerate() {
        let list: Vec<String> = row.iter().map(ToString::to_string).collect();
        writeln!(lines, "{{\"id\":{i},\"{input}\":[{}],\"label\":{}}}", list.join(","), i % 2)
            .unwrap();
    }
    place.text("train.jsonl", &lines);
    place.ok("fit --model model.onnx --score-model gaussian --data train.jsonl -o d.onnx -q");
    let scored = place.ok("score d.onnx train.jsonl --keep id --json -q").out;
    let last: serde_json::Value = serde_json::from_str(scored.lines().last().unwrap()).unwrap();
    assert_eq!((&last["index"], &last["id"]), (&499.into(), &499.into()));
}

#[test]
fn columns_that_come_along_keep_their_types() {
    let place = ready(&CLASSIFIER);
    let mut text = "age,income,height,weight,id,paid,zip,rate,when\n".to_owned();
    for (i, row) in samples(500, 0.0, 3).outer_iter().enumerate() {
        let x: Vec<String> = row.iter().map(ToString::to_string).collect();
        let rate = if i == 7 { String::new() } else { format!("{}.5", i % 9) };
        writeln!(text, "{},{i},{},0{i},{rate},2024-05-01", x.join(","), i % 2 == 0).unwrap();
    }
    place.text("train.csv", &text);
    let left_out = "--exclude id,paid,zip,rate,when";
    place.ok(&format!(
        "fit --model model.onnx --score-model gaussian --data train.csv {left_out} -o d.onnx -q"
    ));
    let keep = "--keep id,paid,zip,rate,when";
    place.ok(&format!("score d.onnx train.csv {keep} -o s.jsonl -q"));
    let rows = std::fs::read_to_string(place.path("s.jsonl")).unwrap();
    let row: serde_json::Value = serde_json::from_str(rows.lines().nth(7).unwrap()).unwrap();
    assert_eq!(row["id"], 7);
    assert_eq!(row["paid"], false);
    assert_eq!(row["zip"], "07");
    assert_eq!((&row["rate"], &row["when"]), (&serde_json::Value::Null, &"2024-05-01".into()));
    // The same in Parquet, which is read by types.
    place.ok(&format!("score d.onnx train.csv {keep} -o s.parquet -q"));
    let options = taste_data::Options {
        columns: ["id", "paid", "rate"].map(str::to_owned).to_vec(),
        ..taste_data::Options::default()
    };
    let set = taste_data::Dataset::open(Path::new(&place.path("s.parquet")), &options).unwrap();
    let first = taste_data::Samples::chunks(&set, 1).unwrap().next().unwrap().unwrap();
    assert_eq!(first.values.iter().copied().collect::<Vec<_>>(), [0.0, 1.0, 0.5]);
}

#[test]
fn a_mistyped_column_is_refused_where_the_data_have_others() {
    let place = ready(&CLASSIFIER);
    let mut text = "age,income,height,weight\n".to_owned();
    for row in samples(300, 0.0, 3).outer_iter() {
        let x: Vec<String> = row.iter().map(ToString::to_string).collect();
        writeln!(text, "{}", x.join(",")).unwrap();
    }
    place.text("train.csv", &text);
    let fit = "fit --model model.onnx --score-model gaussian --data train.csv -o d.onnx";
    for (flag, name) in [("--labels", "height-cm"), ("--exclude", "Weight")] {
        place.fails(
            &format!("{fit} {flag} {name}"),
            &format!("train.csv: no column \"{name}\"; there are "),
        );
    }
}
