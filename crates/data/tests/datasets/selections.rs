//! Some samples of a data set.

use std::{fs, path::PathBuf};

use image::{GrayImage, Luma};
use taste_data::{Chunk, Column, Dataset, Kind, Options, Part, Samples, TableWriter, Value};

use crate::files::{Folder, gzip, idx, labelled, npy, npy_f32, zip};

const ROWS: usize = 100;

/// A hundred samples in every format, with labels where the format has them.
fn sets(folder: &Folder) -> Vec<(PathBuf, Options)> {
    let bytes: Vec<u8> = (0..2 * ROWS).map(|v| u8::try_from(v).unwrap()).collect();
    let labels = idx(8, &[100], &bytes[..ROWS]);
    let floats: Vec<f32> = bytes.iter().map(|&b| f32::from(b)).collect();
    let array = npy_f32("(100, 2)", &floats);
    let of_array = npy("|u1", "(100, 1)", &bytes[..ROWS]);
    folder.put("x-labels.npy", &of_array);
    folder.put("t-labels-idx1-ubyte", labels);
    let record = |i: usize| [vec![bytes[i]], vec![bytes[2 * i]; 3072]].concat();
    let batch = |range: std::ops::Range<usize>| range.flat_map(record).collect::<Vec<u8>>();
    folder.put("cifar/data_batch_1.bin", batch(0..37));
    folder.put("cifar/data_batch_2.bin.gz", gzip(&batch(37..ROWS)));
    let text = |range: std::ops::Range<usize>| {
        let row = |i: usize| format!("{},{},{i}\n", 2 * i, 2 * i + 1);
        format!("a,b,class\n{}", range.map(row).collect::<String>())
    };
    folder.put("csv/1.csv", text(0..37));
    folder.put("csv/2.csv", text(37..ROWS));
    for (i, pair) in bytes.chunks(2).enumerate() {
        let image = GrayImage::from_fn(2, 1, |x, _| Luma([pair[x as usize]]));
        let path = folder.path(&format!("images/{i:03}.png"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        image.save(path).unwrap();
    }
    let columns = [Column::new("a", Kind::Float), Column::new("b", Kind::Float)];
    let mut table = TableWriter::create(&folder.path("t.parquet"), &columns).unwrap();
    for row in floats.chunks(2) {
        table.write(&[Value::Single(row[0]), Value::Single(row[1])]).unwrap();
    }
    table.finish().unwrap();
    let members = [("x.npy", array.clone()), ("y.npy", of_array)];
    let raw = Options { raw: true, ..labelled() };
    let of_table = Options { label: Some("class".to_owned()), ..labelled() };
    let skipping = Options { skip_bad: true, ..raw.clone() };
    vec![
        (folder.put("x.npy", &array), labelled()),
        (folder.put("x.npy.gz", gzip(&array)), labelled()),
        (folder.put("x.npz", zip(&members, true)), labelled()),
        (folder.put("t-images-idx3-ubyte", idx(8, &[100, 1, 2], &bytes)), raw.clone()),
        (folder.path("cifar"), raw.clone()),
        (folder.path("csv"), of_table),
        (folder.path("t.parquet"), labelled()),
        (folder.path("images"), raw),
        (folder.path("images"), skipping),
    ]
}

fn collected(chunks: taste_data::Chunks<'_>) -> Vec<Chunk> {
    chunks.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_selection_of_any_format_is_what_filtering_by_hand_gives_in_full_chunks() {
    let folder = Folder::new();
    for (path, options) in sets(&folder) {
        let name = path.display();
        let set = Dataset::open(&path, &options).unwrap();
        let wanted = |i: usize| i % 3 == 1 || (30..45).contains(&i);
        // The second pass knows what the first one met.
        for _ in 0..2 {
            let some = collected(set.chunks_where(8, Box::new(wanted)).unwrap());
            let index: Vec<usize> = some.iter().flat_map(|c| c.index.clone()).collect();
            assert_eq!(index, (0..ROWS).filter(|&i| wanted(i)).collect::<Vec<_>>(), "{name}");
            let (last, full) = some.split_last().unwrap();
            assert!(full.iter().all(|c| c.len() == 8) && last.len() <= 8, "{name}");
            let all = collected(set.chunks(ROWS).unwrap());
            assert_eq!(all.len(), 1, "{name}: a chunk may span files");
            for chunk in some {
                assert_eq!(chunk.values, all[0].select(&chunk.index).values, "{name}");
                assert_eq!(chunk.labels, all[0].select(&chunk.index).labels, "{name}");
                assert!(
                    (chunk.values.iter().next().unwrap() - 2.0 * chunk.index[0] as f32).abs()
                        < 1e-3
                );
            }
            assert_eq!(set.len().unwrap(), ROWS, "{name}");
        }
        assert_eq!(collected(set.chunks_where(8, Box::new(|_| false)).unwrap()).len(), 0, "{name}");
    }
}

#[test]
fn counting_needs_no_pass_before() {
    let folder = Folder::new();
    for (path, options) in sets(&folder) {
        let set = Dataset::open(&path, &options).unwrap();
        assert_eq!(set.len().unwrap(), ROWS, "{}", path.display());
    }
}

#[test]
fn images_that_are_not_wanted_are_not_opened() {
    let folder = Folder::new();
    sets(&folder);
    for number in (0..ROWS).filter(|i| i % 10 == 7) {
        folder.put(&format!("images/{number:03}.png"), "broken");
    }
    let set = Dataset::open(&folder.path("images"), &Options::default()).unwrap();
    let whole = set.chunks_where(8, Box::new(|i| i % 10 != 7)).unwrap();
    assert_eq!(collected(whole).iter().map(Chunk::len).sum::<usize>(), 90);
    let broken = set.chunks_where(8, Box::new(|i| i % 10 == 7)).unwrap();
    assert!(broken.take(1).all(|chunk| chunk.is_err()));
    // Which image has which number is known only after a look at those before it, and then for good.
    let options = Options { skip_bad: true, raw: true, ..Options::default() };
    let set = Dataset::open(&folder.path("images"), &options).unwrap();
    for _ in 0..2 {
        let some = collected(set.chunks_where(8, Box::new(|i| i % 9 == 7)).unwrap());
        let firsts: Vec<f32> = some
            .iter()
            .flat_map(|c| c.values.outer_iter().map(|v| v[[0, 0, 0]]).collect::<Vec<_>>())
            .collect();
        // Without 7, 17, 27, … the numbers 7, 16, 25, … are 8, 18, 28, …
        let want: Vec<f32> = (0..10).map(|k| 2.0 * (10 * k + 8) as f32).collect();
        assert_eq!(firsts, want);
        assert_eq!((set.count(), set.skipped().len()), (Some(90), 10));
    }
    for number in (0..ROWS).filter(|i| i % 10 == 0) {
        folder.put(&format!("images/{number:03}.png"), "broken");
    }
    assert_eq!(collected(set.chunks_where(8, Box::new(|i| i % 9 == 7)).unwrap()).len(), 2);
    let error = set.chunks(8).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(error.contains("000.png") && error.ends_with("could be read before"), "{error}");
}

#[test]
fn a_small_part_of_a_file_comes_in_full_chunks() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..4000).map(|v| v as f32).collect();
    let path = folder.put("x.npy", npy_f32("(4000, 1)", &values));
    let set = Dataset::open(&path, &Options::default()).unwrap();
    let part = Part::new(&set, 5, 0.0, 0.08);
    let chunks = collected(part.chunks(50).unwrap());
    let (last, full) = chunks.split_last().unwrap();
    assert!(full.len() > 4 && full.iter().all(|c| c.len() == 50) && last.len() <= 50);
    assert_eq!(Some(chunks.iter().map(Chunk::len).sum()), part.count());
    for chunk in chunks {
        let found: Vec<f32> = chunk.values.iter().copied().collect();
        assert_eq!(found, chunk.index.iter().map(|&i| i as f32).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_passed_over_must_still_be_there() {
    let folder = Folder::new();
    let whole = npy_f32("(9, 1)", &[0.0; 9]);
    let cut = folder.put("cut.npy.gz", gzip(&whole[..whole.len() - 1]));
    let set = Dataset::open(&cut, &Options::default()).unwrap();
    let error = set.chunks_where(2, Box::new(|i| i == 0)).unwrap().last().unwrap().unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    let long = folder.put("long.npy.gz", gzip(&[&whole[..], &[0]].concat()));
    let set = Dataset::open(&long, &Options::default()).unwrap();
    let error = set.chunks_where(2, Box::new(|_| false)).unwrap().last().unwrap().unwrap_err();
    assert!(error.to_string().contains("more data than"), "{error}");
}
