//! Labels that come apart from the samples.

use std::fs;

use taste_data::{Dataset, Labels, Options, sets_in};

use crate::files::{Folder, all, gzip, idx, npy, npy_f32};

fn longs(values: &[i64]) -> Vec<u8> {
    let shape = format!("({},)", values.len());
    npy("<i8", &shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

#[test]
fn any_format_with_one_number_a_row_holds_labels() {
    let folder = Folder::new();
    let files = [
        folder.put("long.npy", longs(&[2, 0, 1])),
        folder.put("bytes.npy", npy("|u1", "(3, 1)", &[2, 0, 1])),
        folder.put("float.npy.gz", gzip(&npy_f32("(3,)", &[2.0, 0.0, 1.0]))),
        folder.put("plain.csv", "2\n0\n1\n"),
        folder.put("named.txt", "label\n2\n0\n1\n"),
        folder.put("l-labels-idx1-ubyte", idx(8, &[3], &[2, 0, 1])),
    ];
    for file in files {
        let labels = Labels::open(&file, &Options::default()).unwrap();
        assert_eq!(labels.values(), [2.0, 0.0, 1.0], "{}", file.display());
        assert_eq!(labels.classes(Some(3)).unwrap(), [2, 0, 1]);
    }
    let table = folder.put("t.csv", "a,y\n0.5,1.25\n7,-2\n");
    assert_eq!(Labels::column(&[table], "y", &Options::default()).unwrap().values(), [1.25, -2.0]);
}

#[test]
fn a_data_set_takes_labels_in_place_of_its_own() {
    let folder = Folder::new();
    let path = folder.put("x.npy", npy_f32("(4, 1)", &[0.0, 1.0, 2.0, 3.0]));
    folder.put("x-labels.npy", longs(&[9, 9, 9, 9]));
    let given =
        Labels::open(&folder.put("y.npy", longs(&[3, 2, 1, 0])), &Options::default()).unwrap();
    for labels in [true, false] {
        let options = Options { labels, ..Options::default() };
        let set = Dataset::open(&path, &options).unwrap().with_labels(&given).unwrap();
        assert_eq!(all(&set).unwrap().labels, Some(vec![3, 2, 1, 0]));
    }
    let wrong = |values: &[f64], message: &str| {
        let set = Dataset::open(&path, &Options::default()).unwrap();
        let error = set.with_labels(&Labels::new("y.npy", values.to_vec())).unwrap_err();
        assert!(error.to_string().starts_with("y.npy: "), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    };
    wrong(&[0.0; 3], "3 labels for 4 samples of ");
    wrong(&[0.0, 0.5, 0.0, 0.0], "the label of row 1 (counted from 0) is 0.5, not a whole number");
    wrong(&[0.0, 0.0, 0.0, -1.0], "classes are numbered from 0 on");
    let out = given.classes(Some(3)).unwrap_err().to_string();
    assert!(out.contains("row 0 (counted from 0) is 3, and classes are numbered 0 to 2"), "{out}");
}

#[test]
fn labels_stay_with_their_rows_where_some_are_left_out() {
    let folder = Folder::new();
    let path = folder.put("t.csv", "a,y\n1,10\nbad,11\n3,12\n4,?\n5,14\n");
    let options = Options { skip_bad: true, exclude: vec!["y".to_owned()], ..Options::default() };
    let set = Dataset::open(&path, &options).unwrap();
    assert_eq!(set.rows().unwrap(), 5);
    let file = folder.put("y.csv", "10\n11\n12\n13\n14\n");
    let set = set.with_labels(&Labels::open(&file, &Options::default()).unwrap()).unwrap();
    assert_eq!(all(&set).unwrap().labels, Some(vec![10, 12, 13, 14]));
    let column = Labels::column(
        std::slice::from_ref(&path),
        "y",
        &Options { skip_bad: true, ..Options::default() },
    )
    .unwrap();
    assert!(column.values()[3].is_nan());
    assert_eq!(column.values()[4].to_bits(), 14f64.to_bits());
    column.check_count(5, "t.csv").unwrap();
    let short = Dataset::open(&path, &options).unwrap();
    let error = short.with_labels(&Labels::new("y", vec![0.0; 4])).unwrap_err().to_string();
    assert!(error.contains("4 labels for 5 samples"), "{error}");
}

#[test]
fn what_holds_no_labels_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let message = |name: &str, bytes: &[u8]| {
        let path = folder.put(name, bytes);
        let text = Labels::open(&path, &Options::default()).unwrap_err().to_string();
        assert!(text.starts_with(&path.display().to_string()) && !text.contains('\n'), "{text}");
        text
    };
    assert!(message("wide.csv", b"1,2\n3,4\n").contains("2 entries, and a label is one number"));
    assert!(
        message("words.csv", b"label\n1\ndog\n").contains("\"dog\" is not a number: labels are")
    );
    assert!(message("empty.csv", b"").contains("empty"));
    assert!(
        message("nan.npy", &npy_f32("(2,)", &[1.0, f32::NAN]))
            .contains("row 1 (counted from 0) has no label")
    );
    let gone = Labels::open(&folder.path("gone.npy"), &Options::default()).unwrap_err().to_string();
    assert!(gone.contains("no such file"), "{gone}");
    let table = [folder.put("t.csv", "a,y\n1,cat\n2,3\n")];
    let refused =
        |column| Labels::column(&table, column, &Options::default()).unwrap_err().to_string();
    assert!(refused("z").contains("no column \"z\""));
    assert!(refused("y").contains("labels are"));
}

#[test]
fn arrays_and_tables_in_a_folder_are_sets_and_images_are_one() {
    let folder = Folder::new();
    for name in ["b.npy", "a.csv", "a-labels.npy", "notes.md", ".hidden.npy"] {
        folder.put(&format!("sets/{name}"), "x");
    }
    fs::create_dir_all(folder.path("sets/below.npy")).unwrap();
    let names = |sub: &str| -> Vec<String> {
        let sets = sets_in(&folder.path(sub)).unwrap();
        sets.iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names("sets"), ["a.csv", "b.npy"]);
    folder.put("pictures/cat/1.png", "x");
    assert_eq!(names("pictures"), ["pictures"]);
    folder.put("cifar/data_batch_1.bin", "x");
    assert_eq!(names("cifar"), ["cifar"]);
    assert!(sets_in(&folder.path("gone")).is_err());
}
