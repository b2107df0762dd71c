//! Columns that come along as text.

use std::{fs::File, sync::Arc};

use arrow_array::{ArrayRef, Float32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_array::{TimestampMillisecondArray, types::Float32Type};
use parquet::arrow::ArrowWriter;
use taste_data::{Dataset, ErrorKind, Options, Samples};

use crate::files::{Folder, npy, shaped};

fn keeping(columns: &[&str], options: Options) -> Options {
    Options { keep: columns.iter().map(ToString::to_string).collect(), ..options }
}

/// The texts of every kept column, and how many entries a sample has, by chunks of two and only of rows that are wanted.
fn kept(set: &Dataset, wanted: fn(usize) -> bool) -> (Vec<Vec<String>>, usize) {
    let mut all: Vec<Vec<String>> = Vec::new();
    for chunk in set.chunks_where(2, Box::new(wanted)).unwrap() {
        let chunk = chunk.unwrap();
        all.resize(chunk.kept.len(), Vec::new());
        for (all, column) in all.iter_mut().zip(&chunk.kept) {
            assert_eq!(column.len(), chunk.len());
            all.extend(column.iter().cloned());
        }
    }
    (all, set.sample_shape()[0])
}

const CSV: &str = "a,town,b,when\n1,Ulm,2,2024-05-17\n3, Bonn ,4,\n5,\"Bad, Ems\",6,2024-06-01\n";

#[test]
fn csv_cells_come_along() {
    let folder = Folder::new();
    let path = folder.put("x.csv", CSV);
    let columns = vec!["b".to_owned(), "a".to_owned()];
    let named = Options { columns, ..shaped(&[2]) };
    for options in [keeping(&["when", "town"], named), keeping(&["when", "town"], shaped(&[2]))] {
        let set = Dataset::open(&path, &options).unwrap();
        let (texts, width) = kept(&set, |_| true);
        assert_eq!(width, 2);
        assert_eq!(texts[0], ["2024-05-17", "", "2024-06-01"]);
        assert_eq!(texts[1], ["Ulm", " Bonn ", "Bad, Ems"]);
        assert_eq!(kept(&set, |i| i != 1).0[1], ["Ulm", "Bad, Ems"]);
    }
    // An input may come along, too.
    let numbers = folder.put("n.csv", "a,b\n1,2\n3,4.50\n");
    let set = Dataset::open(&numbers, &keeping(&["b"], shaped(&[2]))).unwrap();
    assert_eq!(kept(&set, |_| true), (vec![vec!["2".to_owned(), "4.50".to_owned()]], 2));
    let skipping = Options { skip_bad: true, ..keeping(&["town"], shaped(&[2])) };
    let bad = folder.put("bad.csv", "a,town,b\n1,Ulm,2\nx,Bonn,4\n5,Ems,6\n");
    let set = Dataset::open(&bad, &skipping).unwrap();
    assert_eq!(kept(&set, |_| true).0[0], ["Ulm", "Ems"]);
}

#[test]
fn parquet_cells_come_along() {
    let folder = Folder::new();
    let path = folder.path("x.parquet");
    let days = |d: &[i64]| d.iter().map(|d| Some(d * 86_400_000)).collect::<Vec<_>>();
    let lists = (0..3).map(|i| Some(vec![Some(i as f32)]));
    let columns: [(&str, ArrayRef); 5] = [
        ("town", Arc::new(StringArray::from(vec![Some("Ulm"), None, Some("Bonn")]))),
        ("a", Arc::new(Float32Array::from(vec![1.0, 3.0, 5.0]))),
        ("when", Arc::new(TimestampMillisecondArray::from(days(&[19_860, 19_861, 0])))),
        ("id", Arc::new(Int64Array::from(vec![7, 8, 9]))),
        ("list", Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(lists))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let only_a = Options { columns: vec!["a".to_owned()], ..shaped(&[1]) };
    let set = Dataset::open(&path, &keeping(&["id", "town", "when"], only_a.clone())).unwrap();
    let (texts, width) = kept(&set, |_| true);
    assert_eq!(width, 1);
    assert_eq!(texts[0], ["7", "8", "9"]);
    assert_eq!(texts[1], ["Ulm", "", "Bonn"]);
    assert_eq!(texts[2][..2], ["2024-05-17T00:00:00", "2024-05-18T00:00:00"]);
    assert_eq!(kept(&set, |i| i == 2).0[1], ["Bonn"]);
    let error = Dataset::open(&path, &keeping(&["list"], only_a)).unwrap_err();
    assert!(error.to_string().contains("column \"list\" holds List"), "{error}");
}

#[test]
fn columns_that_are_not_there_are_told() {
    let folder = Folder::new();
    let path = folder.put("x.csv", CSV);
    let error = Dataset::open(&path, &keeping(&["city"], shaped(&[2]))).unwrap_err();
    assert!(error.to_string().contains("no column \"city\"; there are a, town"), "{error}");
    let array = folder.put("x.npy", npy("<f4", "(1, 2)", &[0; 8]));
    let error = Dataset::open(&array, &keeping(&["city"], shaped(&[2]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Column);
    assert!(error.to_string().contains("not a table"), "{error}");
}
