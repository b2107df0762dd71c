//! CSV and Parquet.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMillisecondArray,
    types::{Float32Type, UInt8Type},
};
use ndarray::{ArrayD, IxDyn, array};
use parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use taste_data::{Dataset, ErrorKind, Options, Problem, Samples};

use crate::files::{Folder, all, gzip, read, refused, same, shaped};

fn labelled(label: &str) -> Options {
    Options { labels: true, label: Some(label.to_owned()), ..Options::default() }
}

/// What the error is about that a file is refused with.
fn kind(path: &Path, options: &Options) -> ErrorKind {
    let set = match Dataset::open(path, options) {
        Ok(set) => set,
        Err(error) => return error.kind(),
    };
    set.chunks(9).unwrap().next().unwrap().expect_err("refused").kind()
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn tables_have_headers_or_not() {
    let folder = Folder::new();
    let expected = array![[1.0f32, -2.5], [3.0, 4e3]].into_dyn();
    for (name, text) in [
        ("a.csv", "x,y\n1,-2.5\n3,4e3\n"),
        ("b.csv", "1,-2.5\r\n3,4e3"),
        ("c.tsv", "x\ty\n1\t-2.5\n3\t4e3\n"),
        ("d.csv", "\u{feff}x;y\n1;-2.5\n3;4e3\n"),
        ("e.csv", "\"x, mm\", y\n1 , -2.5\n\n\"3\",4e3\n"),
        ("f.csv", ",0,1\n0,1,-2.5\n1,3,4e3\n"),
        ("g.csv", "0,1\n1,-2.5\n3,4e3\n"),
        ("h.data", "1,-2.5\n3,4e3\n"),
    ] {
        let found = read(&folder.put(name, text), &Options::default()).unwrap();
        assert_eq!(found.values, expected, "{name}");
        let packed = folder.put(&format!("{name}.gz"), gzip(text.as_bytes()));
        assert_eq!(read(&packed, &Options::default()).unwrap().values, expected, "{name}.gz");
    }
    let set = Dataset::open(&folder.path("e.csv"), &Options::default()).unwrap();
    assert_eq!(set.columns().unwrap(), ["x, mm", "y"]);
    assert_eq!(set.count(), None);
    let set = Dataset::open(&folder.path("b.csv"), &Options::default()).unwrap();
    assert_eq!(set.columns().unwrap(), ["1", "2"]);
}

#[test]
fn missing_numbers_are_nan_and_infinite_ones_stay() {
    let folder = Folder::new();
    let path = folder.put("a.csv", "a,b,c,d,e,f\n,NA,nan,inf,-inf,true\n");
    let found = read(&path, &Options::default()).unwrap().values;
    let found: Vec<f32> = found.iter().copied().collect();
    assert!(found[..3].iter().all(|v| v.is_nan()));
    assert_eq!(found[3..], [f32::INFINITY, f32::NEG_INFINITY, 1.0]);
}

#[test]
fn columns_are_chosen_by_name() {
    let folder = Folder::new();
    let path = folder.put("a.csv", "id,a,b,class\nr1,1,2,0\nr2,3,4,1.0\n");
    let some = Options { exclude: names(&["id"]), ..labelled("class") };
    let found = read(&path, &some).unwrap();
    assert_eq!(found.values, array![[1f32, 2.0], [3.0, 4.0]].into_dyn());
    assert_eq!(found.labels, Some(vec![0, 1]));
    let chosen = Options { columns: names(&["b", "a"]), ..Options::default() };
    let found = read(&path, &chosen).unwrap();
    assert_eq!((found.values, found.labels), (array![[2f32, 1.0], [4.0, 3.0]].into_dyn(), None));
    let missing = refused(&path, &Options { columns: names(&["c"]), ..Options::default() });
    assert!(missing.contains("no column \"c\"; there are class, id, a, b"), "{missing}");
    assert!(refused(&path, &labelled("klass")).contains("no column \"klass\""));
    let text = refused(&path, &labelled("class"));
    assert_eq!(text, ": line 2: column \"id\": \"r1\" is not a number");
    assert_eq!(kind(&path, &labelled("class")), ErrorKind::Entry);
    let label = refused(&path, &Options { columns: names(&["a"]), ..labelled("id") });
    assert!(label.contains("\"r1\" is not a whole number: labels are"), "{label}");
    let options = Options { columns: names(&["a"]), ..labelled("id") };
    assert_eq!(kind(&path, &options), ErrorKind::Label);
    // Nobody asks for the labels: they may be words.
    let found = read(&path, &Options { labels: false, ..options }).unwrap();
    assert_eq!((found.values, found.labels), (array![[1f32], [3.0]].into_dyn(), None));
    let mismatch = refused(&path, &Options { columns: names(&["a", "b"]), ..shaped(&[3]) });
    assert!(
        mismatch.contains("2 columns (a, b) can't be made samples of shape (3,)"),
        "{mismatch}"
    );
    let many: Vec<String> = (0..30).map(|i| format!("c{i}")).chain(["label".to_owned()]).collect();
    let wide = folder.put("wide.csv", format!("{}\n{}\n", many.join(","), vec!["1"; 31].join(",")));
    let mismatch = refused(&wide, &shaped(&[30]));
    assert!(
        mismatch.contains("31 columns (c0, c1, ") && mismatch.contains("c9, …, c29, label)"),
        "{mismatch}"
    );
    let error = Dataset::open(&wide, &shaped(&[30])).unwrap_err();
    let Problem::Shape { found, wanted, columns, only_size: false } = error.problem() else {
        panic!("{error:?}");
    };
    assert_eq!(
        (&found[..], &wanted[..], columns.as_deref()),
        (&[31][..], &[30][..], Some(&many[..]))
    );
}

#[test]
fn data_to_score_may_lack_what_was_left_out() {
    let folder = Folder::new();
    let path = folder.put("a.csv", "a,b\n1,2\n");
    let options =
        Options { exclude: names(&["id"]), label: Some("class".to_owned()), ..shaped(&[2]) };
    let found = read(&path, &options).unwrap();
    assert_eq!((found.values, found.labels), (array![[1f32, 2.0]].into_dyn(), None));
}

#[test]
fn bad_lines_stop_everything_or_are_left_out_by_number() {
    let folder = Folder::new();
    let path = folder.put("a.csv", b"a,b\n1,2\n3\n4,5\n6,caf\xe9\n7,8\n1,2,3\n9,10\n11,12\n");
    let sentence = refused(&path, &Options::default());
    assert_eq!(sentence, ": line 3: 1 cells where there are 2 columns");
    let options = Options { skip_bad: true, ..Options::default() };
    let set = Dataset::open(&path, &options).unwrap();
    for _ in 0..2 {
        let found = all(&set).unwrap().values;
        assert_eq!(
            found.iter().copied().collect::<Vec<_>>(),
            [1., 2., 4., 5., 7., 8., 9., 10., 11., 12.]
        );
        let skipped = set.skipped();
        let places: Vec<&str> =
            skipped.iter().map(|(p, _)| p.rsplit(' ').next().unwrap()).collect();
        assert_eq!(places, ["3", "5", "7"]);
        assert!(skipped[1].1.contains("\"caf\u{fffd}\" is not a number"), "{skipped:?}");
        let rows: Vec<usize> = (0..5).map(|i| set.place(i)).collect();
        assert_eq!(rows, [0, 2, 4, 6, 7], "rows as they are in the file");
    }
}

#[test]
fn lines_are_counted_however_they_end() {
    let folder = Folder::new();
    let options = Options { skip_bad: true, ..Options::default() };
    for (name, text, lines) in [
        ("unix.csv", "a,b\n1,2\nx,3\n4,5\ny,6\n", ["3", "5"]),
        ("windows.csv", "a,b\r\n1,2\r\nx,3\r\n4,5\r\ny,6\r\n", ["3", "5"]),
        ("marked.csv", "\u{feff}a,b\r\n1,2\r\nx,3\r\n4,5\r\ny,6", ["3", "5"]),
        ("old.csv", "a,b\r1,2\rx,3\r4,5\ry,6\r", ["3", "5"]),
        ("gaps.csv", "a,b\r\n\r\n1,2\n\n\nx,3\r\n4,5\n\r\ny,6\n", ["6", "9"]),
        ("quoted.csv", "a,b\n\"1\n\",2\nx,\"3\n\"\n4,5\ny,6\n", ["4", "7"]),
    ] {
        let path = folder.put(name, text);
        let sentence = refused(&path, &Options::default());
        assert!(sentence.starts_with(&format!(": line {}: ", lines[0])), "{name}{sentence}");
        let set = Dataset::open(&path, &options).unwrap();
        all(&set).unwrap();
        let skipped = set.skipped();
        let found: Vec<&str> = skipped.iter().map(|(p, _)| p.rsplit(' ').next().unwrap()).collect();
        assert_eq!(found, lines, "{name}");
        assert_eq!([set.place(0), set.place(1)], [0, 2], "{name}");
    }
}

#[test]
fn a_large_table_is_read_as_it_is_needed() {
    let folder = Folder::new();
    let path = folder.path("large.csv");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    for row in 0..300_000 {
        writeln!(file, "{row},0.5,2").unwrap();
    }
    writeln!(file, "the end,0,0").unwrap();
    drop(file);
    // The bad last line is met only by those who get there.
    let set = Dataset::open(&path, &Options::default()).unwrap();
    let mut chunks = set.chunks(1000).unwrap();
    assert!(same(chunks.next().unwrap().unwrap().values[[999, 0]], 999.0));
    assert_eq!(set.count(), None);
    assert_eq!(chunks.filter(Result::is_err).count(), 1);
    let skipping = Options { skip_bad: true, ..Options::default() };
    let set = Dataset::open(&path, &skipping).unwrap();
    let sum: usize = set.chunks(4096).unwrap().map(|c| c.unwrap().len()).sum();
    assert_eq!((sum, set.count(), set.skipped().len()), (300_000, Some(300_000), 1));
}

/// Writes columns, `rows` to a group.
pub(crate) fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>, rows: usize) -> PathBuf {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(rows)).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path.to_owned()
}

#[test]
fn parquet_columns_are_chosen_and_converted() {
    let folder = Folder::new();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", Arc::new(StringArray::from(vec!["a", "b", "c", "d"]))),
        ("x", Arc::new(Float32Array::from(vec![Some(0.5), None, Some(f32::INFINITY), Some(2.0)]))),
        ("on", Arc::new(BooleanArray::from(vec![true, false, true, false]))),
        ("y", Arc::new(Int64Array::from(vec![5, 6, 7, 8]))),
        ("__index_level_0__", Arc::new(Int64Array::from(vec![0, 1, 2, 3]))),
    ];
    let path = parquet(&folder.path("t.parquet"), columns, 3);
    let text = refused(&path, &Options::default());
    assert_eq!(text, ": column \"name\" holds Utf8, not numbers");
    assert_eq!(kind(&path, &Options::default()), ErrorKind::Column);
    let options = Options { exclude: names(&["name"]), ..labelled("y") };
    let set = Dataset::open(&path, &options).unwrap();
    assert_eq!((set.count(), set.columns().unwrap()), (Some(4), &names(&["x", "on"])[..]));
    let found = all(&set).unwrap();
    assert_eq!(found.labels, Some(vec![5, 6, 7, 8]));
    assert!(found.values[[1, 0]].is_nan());
    assert_eq!((found.values[[2, 0]], found.values[[2, 1]]), (f32::INFINITY, 1.0));
    let reversed = Options { columns: names(&["y", "x"]), ..Options::default() };
    let found = read(&path, &reversed).unwrap().values;
    assert_eq!((found[[0, 0]], found[[0, 1]]), (5.0, 0.5));
    let label = refused(&path, &Options { columns: names(&["on"]), ..labelled("x") });
    assert!(label.contains("the label of row 0 is 0.5"), "{label}");
}

#[test]
fn a_table_without_rows_or_with_times_is_refused() {
    let folder = Folder::new();
    let none: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    let path = parquet(&folder.path("n.parquet"), vec![("x", none)], 9);
    assert!(refused(&path, &Options::default()).contains("it holds no rows"));
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1, 2]));
    let path = parquet(&folder.path("t.parquet"), vec![("at", times)], 9);
    let sentence = refused(&path, &Options::default());
    assert!(sentence.contains("column \"at\" holds Timestamp"), "{sentence}");
}

#[test]
fn lists_of_numbers_are_flattened() {
    let folder = Folder::new();
    let list = ListArray::from_iter_primitive::<Float32Type, _, _>(vec![
        None,
        Some(vec![Some(1.0), None, Some(3.0)]),
        Some(vec![Some(4.0), Some(5.0), Some(6.0)]),
    ]);
    let more = Float32Array::from(vec![7.0, 8.0, 9.0]);
    let columns: Vec<(&str, ArrayRef)> = vec![("v", Arc::new(list)), ("w", Arc::new(more))];
    let path = parquet(&folder.path("l.parquet"), columns, 2);
    let set = Dataset::open(&path, &Options::default()).unwrap();
    assert_eq!(set.columns().unwrap(), ["v[0]", "v[1]", "v[2]", "w"]);
    let found = all(&set).unwrap().values;
    assert!(found[[0, 0]].is_nan() && found[[1, 1]].is_nan());
    assert_eq!((found[[0, 3]], found[[1, 2]], found[[2, 0]]), (7.0, 3.0, 4.0));
    let ragged = ListArray::from_iter_primitive::<Float32Type, _, _>(vec![
        Some(vec![Some(1.0)]),
        Some(vec![Some(1.0), Some(2.0)]),
    ]);
    let path = parquet(&folder.path("r.parquet"), vec![("v", Arc::new(ragged))], 9);
    let sentence = refused(&path, &Options::default());
    assert!(sentence.contains("a list of 2 entries in row 1 and one of 1 before"), "{sentence}");
    let image = ListArray::from_iter_primitive::<UInt8Type, _, _>(vec![Some(vec![Some(51); 4])]);
    let path = parquet(&folder.path("p.parquet"), vec![("image", Arc::new(image))], 9);
    let found = read(&path, &shaped(&[1, 2, 2])).unwrap().values;
    assert_eq!(found, ArrayD::from_elem(IxDyn(&[1, 1, 2, 2]), 0.2));
}

#[test]
fn parts_of_a_table_in_a_folder_are_one_set() {
    let folder = Folder::new();
    for (name, value) in [("part-1", 2), ("part-0", 1)] {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![value]));
        parquet(&folder.path(&format!("{name}.parquet")), vec![("x", column)], 9);
    }
    folder.put("_SUCCESS", "");
    let found = read(folder.root(), &Options::default()).unwrap().values;
    assert_eq!(found, array![[1f32], [2.0]].into_dyn());
}

#[test]
fn rows_are_counted_across_the_parts_of_a_set() {
    let folder = Folder::new();
    folder.put("a.csv", "x,y\n1,1\nbad,2\n3,3\n");
    folder.put("b.tsv", "x\ty\nbad\t4\n5\t5\n");
    let options = Options { skip_bad: true, ..Options::default() };
    let set = Dataset::open(folder.root(), &options).unwrap();
    let want = array![[1f32, 1.0], [3.0, 3.0], [5.0, 5.0]].into_dyn();
    assert_eq!(all(&set).unwrap().values, want);
    assert_eq!([set.place(0), set.place(1), set.place(2)], [0, 2, 4]);
}

#[test]
fn a_folder_of_several_kinds_is_refused_and_each_is_counted() {
    let folder = Folder::new();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    parquet(&folder.path("a.parquet"), vec![("x", column)], 9);
    folder.put("b.csv", "x\n1\n");
    folder.put("c.csv.gz", gzip(b"x\n1\n"));
    let sentence = refused(folder.root(), &Options::default());
    let begins = ": the folder holds 1 Parquet file and 2 CSV files, and which of them";
    assert!(sentence.starts_with(begins), "{sentence}");
    let folder = Folder::new();
    folder.put("a.png", "");
    folder.put("b.jpg", "");
    folder.put("x.npy", "");
    folder.put("x-labels.npy", "");
    let sentence = refused(folder.root(), &Options::default());
    assert!(sentence.contains("holds 1 NumPy file and 2 images"), "{sentence}");
}

#[test]
fn other_tables_are_read_by_the_names_of_the_first() {
    let folder = Folder::new();
    let options = Options { exclude: names(&["id"]), ..labelled("class") };
    let first = folder.put("first.csv", "id,a,class,b\n7,1,0,2\n");
    let named = Dataset::open(&first, &options).unwrap().options_naming_columns(&options);
    assert_eq!(named.columns, ["a", "b"]);
    let expected = array![[1.0f32, 2.0]].into_dyn();
    for (name, text) in [
        ("first.csv", "id,a,class,b\n7,1,0,2\n"),
        ("turned.csv", "b,a\n2,1\n"),
        ("more.csv", "b,c,a,class\n2,x,1,setosa\n"),
    ] {
        assert_eq!(read(&folder.put(name, text), &named).unwrap().values, expected, "{name}");
    }
    let missing = refused(&folder.put("missing.csv", "a,c\n1,2\n"), &named);
    assert!(missing.contains("no column \"b\"; there are a, c"), "{missing}");
    let bare = refused(&folder.put("bare.csv", "1,2\n"), &named);
    assert!(bare.contains("no column \"a\"") && bare.contains("no names"), "{bare}");
    // Without names, or with one name for several columns, places are all there is.
    for text in ["1,2\n", "a,a\n1,2\n"] {
        let plain = Options::default();
        let set = Dataset::open(&folder.put("plain.csv", text), &plain).unwrap();
        assert_eq!(set.options_naming_columns(&plain), plain);
    }
}
