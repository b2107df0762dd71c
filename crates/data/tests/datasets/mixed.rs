//! Tables with words, dates and missing values, in every format that has columns.

use std::path::{Path, PathBuf};

use taste_data::{Dataset, Dictionary, Holds, Labels, Options, Samples, survey};

use crate::files::{Folder, all, read, shaped};

/// `tests/fixtures/make_tables.py` wrote them.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tables").join(name)
}

fn called(classes: &[String]) -> Options {
    Options { classes: classes.to_vec(), ..Options::default() }
}

const TABLES: [&str; 7] =
    ["t.csv", "t.parquet", "t.feather", "plain.arrow", "stream.arrow", "t.jsonl", "t.json"];

fn bits(values: impl IntoIterator<Item = f32>) -> Vec<u32> {
    values.into_iter().map(f32::to_bits).collect()
}

#[test]
fn words_become_codes_and_missing_cells_nan_in_every_format() {
    let columns: Vec<String> = ["age", "town", "count"].map(str::to_owned).to_vec();
    for name in TABLES {
        let options = Options {
            columns: columns.clone(),
            label: Some("target".to_owned()),
            labels: true,
            keep: vec!["id".to_owned(), "town".to_owned()],
            ..shaped(&[3])
        };
        let paths = [fixture(name)];
        let found = survey(&paths, &options).unwrap();
        let words = ["Bonn", "Essen", "Ulm"].map(str::to_owned).to_vec();
        let towns = Dictionary { column: "town".to_owned(), words };
        assert_eq!(found.options.words, [towns], "{name}");
        assert_eq!(found.options.classes, ["no", "yes"], "{name}");
        let rows = all(&Dataset::open(&paths[0], &found.options).unwrap()).unwrap();
        let nan = f32::NAN;
        let want = [
            [31.5, 2.0, 0.0],
            [nan, 0.0, 1.0],
            [27.0, nan, 2.0],
            [64.25, 2.0, 3.0],
            [18.0, 1.0, 4.0],
            [40.0, 0.0, 5.0],
        ];
        assert_eq!(bits(rows.values.iter().copied()), bits(want.into_iter().flatten()), "{name}");
        assert_eq!(rows.labels, Some(vec![0, 1, 0, 0, 1, 0]), "{name}");
        assert_eq!(rows.kept[0][5], "row-5", "{name}");
        assert_eq!(rows.kept[1], ["Ulm", "Bonn", "", "Ulm", "Essen", "Bonn"], "{name}");
    }
}

#[test]
fn dates_and_words_are_left_out_where_the_model_takes_the_rest() {
    for name in TABLES {
        let options = Options { label: Some("target".to_owned()), ..shaped(&[2]) };
        let found = survey(&[fixture(name)], &options).unwrap();
        let mut left_out = found.left_out.clone();
        left_out.sort_by(|a, b| a.0.cmp(&b.0));
        let want = [("id", Holds::Words), ("town", Holds::Words), ("when", Holds::Dates)];
        assert_eq!(left_out, want.map(|(name, holds)| (name.to_owned(), holds)), "{name}");
        let set = Dataset::open(&fixture(name), &found.options).unwrap();
        assert_eq!(set.columns().unwrap(), ["age", "count"], "{name}");
    }
    // A date that is asked for is no number.
    let asked = Options { columns: vec!["when".to_owned(), "age".to_owned()], ..shaped(&[2]) };
    let error = survey(&[fixture("t.csv")], &asked).unwrap_err().to_string();
    assert!(error.ends_with("column \"when\" holds dates, not numbers"), "{error}");
}

#[test]
fn columns_are_found_by_the_names_that_exporters_give_inputs() {
    let folder = Folder::new();
    let table = folder.put("a.csv", "job title,tenure (years),id\nclerk,1.5,7\nnurse,2,8\n");
    let columns = ["tenure__years_", "job_title"].map(str::to_owned).to_vec();
    let words = ["clerk", "nurse"].map(str::to_owned).to_vec();
    let dictionary = Dictionary { column: "job_title".to_owned(), words };
    let options = Options { columns, words: vec![dictionary], ..shaped(&[2]) };
    let found = survey(std::slice::from_ref(&table), &options).unwrap().options;
    assert_eq!(found.columns, ["tenure (years)", "job title"]);
    let rows = read(&table, &found).unwrap();
    assert_eq!(bits(rows.values.iter().copied()), bits([1.5, 0.0, 2.0, 1.0]));
    // Which of two is meant is not guessed.
    let two = folder.put("b.csv", "a b,a.b\n1,2\n");
    let asked = Options { columns: vec!["a_b".to_owned()], ..shaped(&[1]) };
    let found = survey(std::slice::from_ref(&two), &asked).unwrap().options;
    assert!(read(&two, &found).unwrap_err().contains("no column \"a_b\""));
    // Nor is a column that is wanted by its own name another one as well.
    let one = folder.put("c.csv", "a b,c\n1,2\n");
    let asked = Options { columns: ["a b", "a_b"].map(str::to_owned).to_vec(), ..shaped(&[2]) };
    let found = survey(std::slice::from_ref(&one), &asked).unwrap().options;
    assert!(read(&one, &found).unwrap_err().contains("no column \"a_b\""));
}

#[test]
fn words_that_were_not_there_share_a_code_of_their_own() {
    let folder = Folder::new();
    let train = folder.put("a.csv", "x,town\n1,Ulm\n2,Bonn\n3,\n");
    let options = survey(&[train], &shaped(&[2])).unwrap().options;
    let new = folder.put("b.csv", "town,x\nBonn,1\nParis,2\nRome,3\nNA,4\n");
    let columns = vec!["x".to_owned(), "town".to_owned()];
    let rows = read(&new, &Options { columns, ..options.clone() }).unwrap();
    let nan = f32::NAN;
    assert_eq!(bits(rows.values.iter().copied()), bits([1.0, 0.0, 2.0, 2.0, 3.0, 2.0, 4.0, nan]));
    assert_eq!(options.words[0].unseen(), 2);
    // One word among numbers is a mistake and no category.
    let typo = folder.put("c.csv", "x,y\n1,2\noops,3\n");
    assert!(survey(std::slice::from_ref(&typo), &shaped(&[2])).unwrap().options.words.is_empty());
    assert!(read(&typo, &shaped(&[2])).unwrap_err().contains("\"oops\" is not a number"));
    // Names of rows are no category, and no input if the model takes the rest.
    let names: Vec<String> = (0..200).map(|i| format!("{i},user{i}\n")).collect();
    let names = names.concat();
    let names = folder.put("d.csv", format!("x,who\n{names}"));
    let left_out = survey(std::slice::from_ref(&names), &shaped(&[1])).unwrap().left_out;
    assert_eq!(left_out, [("who".to_owned(), Holds::Names)]);
    let error = survey(&[names], &shaped(&[2])).unwrap_err().to_string();
    assert!(error.contains("\"who\" holds words, 200 different ones in 200 rows"), "{error}");
}

#[test]
fn labels_of_words_are_classes_by_name() {
    let folder = Folder::new();
    for name in TABLES {
        let labels = Labels::column(&[fixture(name)], "target", &Options::default()).unwrap();
        assert_eq!(labels.values(), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0], "{name}");
        assert_eq!(labels.names(), ["no", "yes"], "{name}");
    }
    // With classes that are known, their numbers are those.
    let known = ["yes", "no"].map(str::to_owned);
    let labels = Labels::column(&[fixture("t.csv")], "target", &called(&known)).unwrap();
    assert_eq!(labels.values()[..2], [1.0, 0.0]);
    let labels =
        Labels::open(&folder.put("words.txt", "cat\ndog\ncat\n"), &Options::default()).unwrap();
    assert_eq!((labels.values().len(), labels.names().len()), (3, 2));
    let other = ["yes", "maybe"].map(str::to_owned);
    let error = Labels::column(&[fixture("t.csv")], "target", &called(&other)).unwrap_err();
    assert!(error.to_string().contains("\"no\" is none of the classes yes, maybe"), "{error}");
}

#[test]
fn lines_of_json_may_lack_entries_and_hold_lists() {
    let folder = Folder::new();
    let text = "{\"b\":2}\n\n{\"a\":1.5,\"b\":null,\"c\":\"x\"}\n{\"c\":3,\"b\":true,\"a\":4}\n";
    let path = folder.put("x.jsonl", text);
    let columns = vec!["a".to_owned(), "b".to_owned()];
    let rows = read(&path, &Options { columns, ..Options::default() }).unwrap();
    let nan = f32::NAN;
    assert_eq!(bits(rows.values.iter().copied()), bits([nan, 2.0, 1.5, nan, 4.0, 1.0]));
    let lists =
        folder.put("lists.jsonl", "{\"x\":[[1,2],[3,4]],\"y\":0}\n{\"x\":[[5,6],[7,8]],\"y\":1}\n");
    let options = Options { label: Some("y".to_owned()), labels: true, ..shaped(&[2, 2]) };
    let rows = read(&lists, &options).unwrap();
    assert_eq!(rows.values.shape(), [2, 2, 2]);
    assert_eq!(rows.labels, Some(vec![0, 1]));
    let bad = folder.put("bad.jsonl", "{\"a\":1}\n{\"a\":\n");
    let error = read(&bad, &Options::default()).unwrap_err();
    assert!(error.contains("bad.jsonl: line 2: no JSON object: EOF while parsing"), "{error}");
    let array = folder.put("array.jsonl", "[1,2]\n");
    let error = read(&array, &Options::default()).unwrap_err();
    assert!(error.contains("its lines are no JSON objects"), "{error}");
}

#[test]
fn several_tables_are_one_set() {
    let folder = Folder::new();
    let a = folder.put("a.csv", "x,town\n1,Ulm\n");
    let b = folder.put("b.jsonl", "{\"town\":\"Bonn\",\"x\":2}\n");
    let paths = [a, b];
    let found = survey(&paths, &shaped(&[2])).unwrap();
    assert_eq!(found.options.words[0].words, ["Bonn", "Ulm"]);
    let columns = vec!["x".to_owned(), "town".to_owned()];
    let set = Dataset::open_all(&paths, &Options { columns, ..found.options }).unwrap();
    assert_eq!(all(&set).unwrap().values.iter().copied().collect::<Vec<_>>(), [1.0, 1.0, 2.0, 0.0]);
}

#[test]
fn columns_first_is_turned() {
    let rows = read(&fixture("fortran.npy"), &Options::default()).unwrap();
    assert_eq!(rows.values.shape(), [4, 3, 2]);
    let want: Vec<f32> = (0u8..24).map(f32::from).collect();
    assert_eq!(rows.values.iter().copied().collect::<Vec<_>>(), want);
    let set = Dataset::open(&fixture("fortran.npz"), &Options::default()).unwrap();
    let chunks = set.chunks_where(2, Box::new(|i| i != 1)).unwrap();
    let values: Vec<f32> = chunks.flat_map(|chunk| chunk.unwrap().values).collect();
    assert_eq!(values, [0.0, 1.0, 2.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
}
