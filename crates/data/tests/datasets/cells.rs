//! What a cell of a table says: words with spaces around them, marks for what is missing.

use std::{path::Path, sync::Arc};

use arrow_array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use taste_data::{Dictionary, Input, Options, Takes, survey};

use crate::files::{Folder, npy_f32, read, same, shaped};

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn with_words(words: &[&str]) -> Options {
    let words = vec![Dictionary { column: "work".into(), words: names(words) }];
    Options { words, ..Options::default() }
}

fn holds(path: &Path, options: &Options, want: &[f32]) {
    let found = read(path, options).unwrap().values;
    let equal = found.len() == want.len() && found.iter().zip(want).all(|(a, b)| same(*a, *b));
    assert!(equal, "{}: {found} and not {want:?}", path.display());
}

#[test]
fn words_are_looked_up_with_the_spaces_around_them() {
    let folder = Folder::new();
    let text = "age,work\n 1 , Private\n2, State-gov\n3,Private\n4, other\n5,  \n";
    let csv = folder.put("a.csv", text);
    let words = [" Private", " State-gov", "Private", " other", " "];
    let line = |(i, word): (usize, &&str)| format!("{{\"age\":{},\"work\":\"{word}\"}}\n", i + 1);
    let lines: String = words.iter().enumerate().map(line).collect();
    let lines = folder.put("a.jsonl", lines);
    let columns = folder.path("a.parquet");
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values(1..=5));
    let work: ArrayRef = Arc::new(StringArray::from_iter_values(words));
    parquet(&columns, vec![("age", ages), ("work", work)]);
    let want = [1.0, 0.0, 2.0, 1.0, 3.0, 0.0, 4.0, 2.0, 5.0, f32::NAN];
    for path in [csv, lines, columns] {
        holds(&path, &with_words(&[" Private", " State-gov"]), &want);
    }
    // Two words that only spaces tell apart are two.
    let two = folder.put("b.csv", "age,work\n1,b\n2, b\n3,b \n");
    holds(&two, &with_words(&["b", " b"]), &[1.0, 0.0, 2.0, 1.0, 3.0, 0.0]);
}

#[test]
fn marks_are_missing_among_numbers_and_words_among_words() {
    let folder = Folder::new();
    let numbers = folder.put("a.csv", "a\n-\n--\nN.A.\n#N/A\n7\n");
    holds(&numbers, &Options::default(), &[f32::NAN, f32::NAN, f32::NAN, f32::NAN, 7.0]);
    let words = folder.put("b.csv", "a,b\n-,1\nx,2\n-,-\n");
    let found = survey(&[words], &shaped(&[2])).unwrap().options.words;
    let [Dictionary { column, words }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((column.as_str(), words), ("a", &names(&["-", "x"])));
}

#[test]
fn decimals_are_numbers() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    let decimals = Decimal128Array::from(vec![Some(12_345), None, Some(-70)]);
    let price: ArrayRef = Arc::new(decimals.with_precision_and_scale(10, 2).unwrap());
    parquet(&path, vec![("price", price)]);
    holds(&path, &Options::default(), &[123.45, f32::NAN, -0.7]);
    let kept = Options { keep: names(&["price"]), ..Options::default() };
    assert_eq!(read(&path, &kept).unwrap().kept, [names(&["123.45", "", "-0.70"])]);
}

#[cfg(not(feature = "zstd"))]
#[test]
fn what_zstandard_compressed_is_refused_with_what_to_do() {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tables");
    let options = Options { columns: names(&["count"]), ..Options::default() };
    let said = read(&tables.join("zstd.feather"), &options).unwrap_err();
    assert!(
        said.contains("compressed with Zstandard") && said.contains("write it with lz4"),
        "{said}"
    );
}

#[test]
fn lists_of_objects_end_where_their_brackets_close() {
    let folder = Folder::new();
    let text = " [\n {\"a\": 1, \"b\": \"}]\\\"\"},{\"b\": \"[\", \"a\": 2}\n,\n{\"a\": \"x\"}]\n";
    let path = folder.put("a.json", text);
    let options = Options { columns: names(&["a"]), ..Options::default() };
    let said = read(&path, &options).unwrap_err();
    assert!(said.contains("line 4: column \"a\": \"x\" is not a number"), "{said}");
    let skipping = Options { skip_bad: true, ..options.clone() };
    holds(&path, &skipping, &[1.0, 2.0]);
    holds(&folder.put("b.json", "[{\"a\":1},{\"a\":2.5}]"), &Options::default(), &[1.0, 2.5]);
    let cut = read(&folder.put("c.json", "[{\"a\":1},{\"a\""), &options).unwrap_err();
    assert!(cut.contains("it ends within its list of objects"), "{cut}");
    let plain = read(&folder.put("d.json", "[1, 2, 3]"), &options).unwrap_err();
    assert!(plain.contains("no JSON objects"), "{plain}");
    assert!(read(&folder.put("e.json", "[]"), &options).is_err());
}

#[test]
fn whole_numbers_are_whole_and_told_apart() {
    let folder = Folder::new();
    let input = |name: &str, width, takes| Input { name: name.into(), width: Some(width), takes };
    let with = |takes| Options {
        inputs: vec![input("x", 1, Takes::Numbers), input("shop", 1, takes)],
        ..shaped(&[2])
    };
    let good = folder.put("a.csv", "x,shop\n0.5,16777215\n1.5,\n");
    let fraction = folder.put("b.csv", "x,shop\n0.5,1\n0.5,2.25\n");
    let large = folder.put("c.csv", "x,shop\n0.5,1\n0.5,20240101\n");
    for takes in [Takes::Whole, Takes::Codes] {
        holds(&good, &with(takes), &[0.5, 16_777_215.0, 1.5, f32::NAN]);
        let said = read(&fraction, &with(takes)).unwrap_err();
        assert!(
            said.contains(
                "b.csv: row 1 (counted from 0), column \"shop\": 2.25 is no whole number"
            ),
            "{said}"
        );
    }
    holds(&fraction, &with(Takes::Numbers), &[0.5, 1.0, 0.5, 2.25]);
    let said = read(&large, &with(Takes::Codes)).unwrap_err();
    assert!(said.contains("is too large"), "{said}");
    assert!(said.contains("row 1 (counted from 0), column \"shop\": 2024010"), "{said}");
    assert!(read(&large, &with(Takes::Whole)).is_ok());
    let array = npy_f32("(2, 2)", &[1.0, 2.0, 3.0, 4.5]);
    let said = read(&folder.put("a.npy", array), &with(Takes::Codes)).unwrap_err();
    assert!(
        said.contains("a.npy: row 1 (counted from 0), entry 1: 4.5 is no whole number"),
        "{said}"
    );
}

#[test]
fn a_column_goes_to_the_input_of_its_name() {
    let folder = Folder::new();
    let input =
        |name: &str, width| Input { name: name.into(), width: Some(width), takes: Takes::Numbers };
    let options = Options { inputs: vec![input("x", 2), input("shop", 1)], ..shaped(&[3]) };
    let path = folder.put("a.csv", "shop,b,a\n7,1,2\n");
    holds(&path, &options, &[1.0, 2.0, 7.0]);
    // Columns that are chosen keep their order.
    let chosen = Options { columns: names(&["a", "shop", "b"]), ..options };
    holds(&path, &chosen, &[2.0, 7.0, 1.0]);
}
