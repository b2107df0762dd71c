//! Tables and files that are written.

use std::fs;

use taste_data::{Column, Kind, Options, TableWriter, Value};

use crate::files::{Folder, read};

fn columns() -> Vec<Column> {
    vec![
        Column::new("index", Kind::Int),
        Column::new("score", Kind::Float),
        Column::new("flag", Kind::Bool),
        Column::new("name", Kind::Text),
    ]
}

fn write(table: &mut TableWriter) {
    for row in [
        [Value::Int(0), Value::Single(0.1), Value::Bool(true), Value::Text("a, \"b\"\n")],
        [Value::Int(1), Value::Single(f32::NAN), Value::Bool(false), Value::Text("é")],
        [Value::Int(2), Value::Double(f64::NEG_INFINITY), Value::Missing, Value::Missing],
        [Value::Int(i64::MIN), Value::Double(1e-30), Value::Bool(true), Value::Text("")],
    ] {
        table.write(&row).unwrap();
    }
}

#[test]
fn text_formats_are_as_documented() {
    let folder = Folder::new();
    for (name, expected) in [
        (
            "t.csv",
            "index,score,flag,name\n0,0.1,true,\"a, \"\"b\"\"\n\"\n1,NaN,false,é\n2,-inf,,\n-9223372036854775808,1e-30,true,\n",
        ),
        (
            "t.jsonl",
            "{\"index\":0,\"score\":0.1,\"flag\":true,\"name\":\"a, \\\"b\\\"\\n\"}\n{\"index\":1,\"score\":null,\"flag\":false,\"name\":\"é\"}\n{\"index\":2,\"score\":null,\"flag\":null,\"name\":null}\n{\"index\":-9223372036854775808,\"score\":1e-30,\"flag\":true,\"name\":\"\"}\n",
        ),
    ] {
        let path = folder.path(name);
        let mut table = TableWriter::create(&path, &columns()).unwrap();
        write(&mut table);
        table.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    }
    for line in fs::read_to_string(folder.path("t.jsonl")).unwrap().lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).unwrap().is_object());
    }
}

#[test]
fn parquet_and_npy_are_read_back() {
    let folder = Folder::new();
    for (name, rows) in [("t.parquet", 20_000), ("t.npy", 1000)] {
        let path = folder.path(name);
        let mut table = TableWriter::create(&path, &columns()[..3]).unwrap();
        for row in 0..rows {
            let score = if row == 1 { Value::Missing } else { Value::Single(row as f32 / 8.0) };
            table.write(&[Value::Int(row), score, Value::Bool(row % 2 == 0)]).unwrap();
        }
        table.finish().unwrap();
        let found = read(&path, &Options::default()).unwrap().values;
        assert_eq!(found.shape(), [usize::try_from(rows).unwrap(), 3]);
        assert!(found[[1, 1]].is_nan());
        assert_eq!((found[[999, 0]], found[[999, 1]], found[[998, 2]]), (999.0, 124.875, 1.0));
    }
}

#[test]
fn misuse_is_an_error() {
    let folder = Folder::new();
    let error = |name: &str, columns: &[Column]| {
        TableWriter::create(&folder.path(name), columns).unwrap_err().to_string()
    };
    assert!(error("t.npy", &columns()).contains("\"name\" is text"));
    assert!(error("t.xlsx", &columns()).contains("must end in .csv, .jsonl, .parquet or .npy"));
    let mut table = TableWriter::create(&folder.path("t.csv"), &columns()[..2]).unwrap();
    assert!(table.write(&[Value::Int(1)]).unwrap_err().to_string().contains("1 values for 2"));
    let wrong = table.write(&[Value::Int(1), Value::Bool(true)]).unwrap_err().to_string();
    assert!(wrong.contains("\"score\""), "{wrong}");
    drop(table);
    assert!(error("no/t.csv", &columns()).contains("it can't be written: there is no folder"));
    assert_eq!(fs::read_dir(folder.root()).unwrap().count(), 0);
}
