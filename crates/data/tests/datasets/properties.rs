//! What is written is what is read, and damaged files are read or refused.

use std::fs;

use proptest::prelude::*;
use taste_data::{Column, Kind, Options, TableWriter, Value, npy};

use crate::files::{Folder, gzip, idx, npy_f32, read, same, zip};

fn numbers() -> impl Strategy<Value = f32> {
    prop_oneof![any::<f32>(), Just(f32::NAN), Just(f32::INFINITY), Just(-0.0f32), Just(1e-42f32)]
}

/// Writes a table of each kind and some other files, whole.
fn samples(folder: &Folder, values: &[f32], width: usize) -> Vec<std::path::PathBuf> {
    let columns: Vec<Column> =
        (0..width).map(|i| Column::new(format!("c{i}"), Kind::Float)).collect();
    ["t.csv", "t.parquet", "t.npy"]
        .into_iter()
        .map(|name| {
            let path = folder.path(name);
            let mut table = TableWriter::create(&path, &columns).unwrap();
            for row in values.chunks(width) {
                let row: Vec<Value<'_>> = row.iter().map(|&v| Value::Single(v)).collect();
                table.write(&row).unwrap();
            }
            table.finish().unwrap();
            path
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn values_come_back_bit_for_bit(
        width in 1usize..5, cells in proptest::collection::vec(numbers(), 4..60),
    ) {
        let folder = Folder::new();
        let values = &cells[..cells.len() / width * width];
        for path in samples(&folder, values, width) {
            let found = read(&path, &Options::default()).unwrap().values;
            prop_assert_eq!(found.shape(), [values.len() / width, width]);
            for (&found, &wanted) in found.iter().zip(values) {
                prop_assert!(same(found, wanted), "{}: {found} for {wanted}", path.display());
            }
        }
        let array = npy::Reader::open(&folder.path("t.npy")).unwrap();
        prop_assert_eq!(array.shape(), [values.len() / width, width]);
    }

    #[test]
    fn damaged_files_are_read_or_refused(place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let folder = Folder::new();
        let x = npy_f32("(3, 4)", &[0.25; 12]);
        let mut files = samples(&folder, &[0.5, 1.0, f32::NAN, 2.0, 3.0, 4.0], 3);
        files.push(folder.put("x.npy.gz", gzip(&x)));
        files.push(folder.put("x.npz", zip(&[("x.npy", x.clone()), ("y.npy", x)], true)));
        files.push(folder.put("x-images-idx3-ubyte", idx(8, &[2, 2, 2], &[1; 8])));
        for path in files {
            let whole = fs::read(&path).unwrap();
            let mut changed = whole.clone();
            changed[place.index(whole.len())] = byte;
            fs::write(&path, &changed).unwrap();
            let _ = read(&path, &Options::default());
            fs::write(&path, &whole[..cut.index(whole.len())]).unwrap();
            let _ = read(&path, &Options::default());
        }
    }
}
