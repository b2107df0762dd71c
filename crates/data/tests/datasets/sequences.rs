//! Lists of different lengths, as tokenisers leave them.

use std::{path::PathBuf, sync::Arc};

use arrow_array::{
    ArrayRef, Int64Array, LargeListArray, ListArray,
    types::{Int32Type, Int64Type},
};
use ndarray::array;
use taste_data::{Dataset, Fed, Options, Padding, Sequences, Wanted, sequences};

use crate::{
    files::{Folder, all, npy, refused, zip},
    tables::parquet,
};

fn wanted(names: &[&str]) -> Vec<Wanted> {
    names.iter().map(|name| Wanted { name: (*name).to_owned(), length: None }).collect()
}

const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];

fn found(path: &PathBuf, names: &[&str], length: Option<usize>) -> Sequences {
    let paths = std::slice::from_ref(path);
    sequences(paths, &wanted(names), &Options::default(), Padding { length, with: 0.0 })
        .unwrap()
        .unwrap()
}

fn options(found: &Sequences) -> Options {
    let columns = if found.by_name { found.given().cloned().collect() } else { Vec::new() };
    Options { columns, sequences: Some(found.clone()), ..Options::default() }
}

const LINES: &str = r#"{"input_ids": [7, 8, 9], "label": 1}
{"input_ids": [5], "label": 0}
{"input_ids": [4, 6], "label": 1}
"#;

#[test]
fn lists_are_padded_and_their_mask_is_made_in_every_format() {
    let folder = Folder::new();
    let rows = || {
        vec![
            Some(vec![Some(7), Some(8), Some(9)]),
            Some(vec![Some(5)]),
            Some(vec![Some(4), Some(6)]),
        ]
    };
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows()));
    let wide: Vec<_> = rows()
        .into_iter()
        .map(|r| r.map(|r| r.into_iter().map(|v| v.map(i64::from)).collect::<Vec<_>>()))
        .collect();
    let large: ArrayRef = Arc::new(LargeListArray::from_iter_primitive::<Int64Type, _, _>(wide));
    let label: ArrayRef = Arc::new(Int64Array::from(vec![1, 0, 1]));
    let ids: Vec<u8> =
        [7i64, 8, 9, 5, 0, 0, 4, 6, 0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let paths = [
        folder.put("t.jsonl", LINES),
        parquet(&folder.path("t.parquet"), vec![("input_ids", list), ("label", label.clone())], 2),
        parquet(&folder.path("large.parquet"), vec![("input_ids", large), ("label", label)], 2),
        folder.put("padded.npy", npy("<i8", "(3, 3)", &ids)),
    ];
    let want = array![
        [7.0, 8.0, 9.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        [5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [4.0, 6.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    ]
    .into_dyn();
    for path in &paths {
        let found = found(path, &INPUTS, None);
        assert_eq!(found.length, 3, "{}", path.display());
        assert_eq!(found.inputs[1], ("attention_mask".to_owned(), Fed::Mask));
        let set = Dataset::open(path, &options(&found)).unwrap();
        assert_eq!(all(&set).unwrap().values, want, "{}", path.display());
        assert_eq!(set.cut_count(), 0);
    }
}

#[test]
fn longer_lists_are_cut_and_counted() {
    let folder = Folder::new();
    let path = folder.put("t.jsonl", LINES);
    let found = found(&path, &INPUTS[..2], Some(2));
    let set = Dataset::open(&path, &options(&found)).unwrap();
    let values = all(&set).unwrap().values;
    assert_eq!(
        values,
        array![[7.0, 8.0, 1.0, 1.0], [5.0, 0.0, 1.0, 0.0], [4.0, 6.0, 1.0, 1.0]].into_dyn()
    );
    assert_eq!(set.cut_count(), 1);
    // Without sequences lists must have one length.
    let text = refused(&path, &Options { columns: vec!["input_ids".into()], ..Options::default() });
    assert!(text.contains("a list of 1 entries and one of 3 before"), "{text}");
}

#[test]
fn arrays_of_an_archive_go_to_the_inputs_of_their_names() {
    let folder = Folder::new();
    let bytes =
        |values: &[i64]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let ids = npy("<i8", "(2, 3)", &bytes(&[7, 8, 9, 5, 0, 0]));
    let mask = npy("<i8", "(2, 3)", &bytes(&[1, 1, 1, 1, 0, 0]));
    let labels = npy("<i8", "(2,)", &bytes(&[1, 0]));
    let path = folder.put(
        "t.npz",
        zip(&[("attention_mask.npy", mask), ("input_ids.npy", ids), ("labels.npy", labels)], false),
    );
    let found = found(&path, &INPUTS[..2], None);
    assert_eq!(found.inputs[1].1, Fed::Given);
    let set = Dataset::open(&path, &Options { labels: true, ..options(&found) }).unwrap();
    let all = all(&set).unwrap();
    assert_eq!(
        all.values,
        array![[7.0, 8.0, 9.0, 1.0, 1.0, 1.0], [5.0, 0.0, 0.0, 1.0, 0.0, 0.0]].into_dyn()
    );
    assert_eq!(all.labels, Some(vec![1, 0]));
}

#[test]
fn an_input_that_nothing_can_be_made_of_is_named() {
    let folder = Folder::new();
    let path = folder.put("t.jsonl", LINES);
    let asked = wanted(&["input_ids", "position_ids"]);
    let text = sequences(&[path], &asked, &Options::default(), Padding::default())
        .unwrap_err()
        .to_string();
    assert!(
        text.ends_with("the model takes \"position_ids\", and there are lists input_ids"),
        "{text}"
    );
}

#[test]
fn decimal_commas_are_numbers_where_cells_are_apart_by_semicolons() {
    let folder = Folder::new();
    let path = folder.put("t.csv", "a;b;town\n1,5;1.234,25;Ulm\n-0,5;17;Bonn\n");
    let options = Options { columns: vec!["a".into(), "b".into()], ..Options::default() };
    let values = all(&Dataset::open(&path, &options).unwrap()).unwrap().values;
    assert_eq!(values, array![[1.5, 1234.25], [-0.5, 17.0]].into_dyn());
    // Points are points where any cell has one that is no mark of thousands.
    let path = folder.put("p.csv", "a;b\n1.5;1.234\n2.5;2\n");
    let values = all(&Dataset::open(&path, &Options::default()).unwrap()).unwrap().values;
    assert_eq!(values, array![[1.5, 1.234], [2.5, 2.0]].into_dyn());
    let path = folder.put("bare.csv", "1,5;2\n2,5;3\n");
    let values = all(&Dataset::open(&path, &Options::default()).unwrap()).unwrap().values;
    assert_eq!(values, array![[1.5, 2.0], [2.5, 3.0]].into_dyn());
}
