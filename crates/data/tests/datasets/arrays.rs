//! npy, npz, IDX, CIFAR.

use ndarray::array;
use taste_data::{Dataset, Options, Samples};

use crate::files::{
    Folder, all, gzip, idx, labelled, npy, npy_f32, read, refused, same, shaped, zip,
};

#[test]
fn arrays_are_read_compressed_or_not_with_labels_beside_them() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..14).map(|v| v as f32 / 4.0).collect();
    let plain = folder.put("x.npy", npy_f32("(7, 2)", &values));
    let packed = folder.put("y.npy.gz", gzip(&npy_f32("(7, 2)", &values)));
    let labels: Vec<u8> = (0..7i64).flat_map(i64::to_le_bytes).collect();
    folder.put("x-labels.npy", npy("<i8", "(7,)", &labels));
    let found = read(&plain, &labelled()).unwrap();
    assert_eq!(found.values.iter().copied().collect::<Vec<_>>(), values);
    assert_eq!(found.labels, Some((0..7).collect()));
    let again = read(&packed, &labelled()).unwrap();
    assert_eq!((again.values, again.labels), (found.values, None));
    folder.put("x-labels.npy", npy("<i8", "(3,)", &labels[..24]));
    let refused = read(&plain, &labelled()).unwrap_err();
    assert!(refused.contains("labels of shape (3,) do not go with 7 samples"), "{refused}");
}

#[test]
fn every_number_becomes_single_precision_and_only_bytes_are_scaled() {
    let folder = Folder::new();
    let options = Options::default();
    let wide: Vec<u8> = [0.1f64, f64::NAN].iter().flat_map(|v| v.to_le_bytes()).collect();
    let found = read(&folder.put("d.npy", npy("<f8", "(2, 1)", &wide)), &options).unwrap().values;
    assert!(same(found[[0, 0]], 0.1) && found[[1, 0]].is_nan());
    let half = read(&folder.put("h.npy", npy("<f2", "(1,)", &[0, 0x3e])), &options).unwrap();
    assert_eq!(half.values, array![1.5f32].into_dyn());
    let flags = read(&folder.put("b.npy", npy("|b1", "(2, 1)", &[0, 1])), &options).unwrap();
    assert_eq!(flags.values, array![[0.0f32], [1.0]].into_dyn());
    let bytes = folder.put("u.npy", npy("|u1", "(2, 1)", &[51, 255]));
    assert_eq!(read(&bytes, &options).unwrap().values, array![[0.2f32], [1.0]].into_dyn());
    let raw = Options { raw: true, ..Options::default() };
    assert_eq!(read(&bytes, &raw).unwrap().values, array![[51f32], [255.0]].into_dyn());
}

#[test]
fn archives_give_the_array_that_is_meant() {
    let folder = Folder::new();
    let x = npy_f32("(4, 1)", &[1.0, 2.0, 3.0, 4.0]);
    let y = npy("|u1", "(4,)", &[3, 2, 1, 0]);
    for deflated in [false, true] {
        let path = folder.put("one.npz", zip(&[("arr_0.npy", x.clone())], deflated));
        assert_eq!(read(&path, &labelled()).unwrap().labels, None);
        let members = [("x.npy", x.clone()), ("y.npy", y.clone())];
        let path = folder.put("two.npz", zip(&members, deflated));
        let found = read(&path, &labelled()).unwrap();
        assert_eq!(found.values, array![[1.0f32], [2.0], [3.0], [4.0]].into_dyn());
        assert_eq!(found.labels, Some(vec![3, 2, 1, 0]));
        let split = [
            ("x_train.npy", x.clone()),
            ("x_test.npy", npy_f32("(1, 1)", &[9.0])),
            ("y_train.npy", y.clone()),
        ];
        let path = folder.put("split.npz", zip(&split, deflated));
        let choose = refused(&path, &labelled());
        assert!(choose.contains("x_train, x_test, y_train; choose one"), "{choose}");
        let train = read(&folder.path("split.npz:x_train"), &labelled()).unwrap();
        assert_eq!(train.labels, Some(vec![3, 2, 1, 0]));
        let test = read(&folder.path("split.npz:x_test"), &labelled()).unwrap();
        assert_eq!((test.values, test.labels), (array![[9.0f32]].into_dyn(), None));
        let missing = read(&folder.path("split.npz:z"), &labelled()).unwrap_err();
        assert!(missing.contains("no member \"z\""), "{missing}");
    }
}

#[test]
fn idx_finds_its_labels() {
    let folder = Folder::new();
    let images = idx(8, &[2, 2, 3], &[0, 51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6]);
    let path = folder.put("t10k-images-idx3-ubyte.gz", gzip(&images));
    folder.put("t10k-labels-idx1-ubyte", idx(8, &[2], &[7, 2]));
    let found = read(&path, &labelled()).unwrap();
    assert_eq!(found.values.shape(), [2, 1, 2, 3]);
    assert!(same(found.values[[0, 0, 1, 2]], 1.0));
    assert_eq!(found.labels, Some(vec![7, 2]));
    assert_eq!(read(folder.root(), &shaped(&[6])).unwrap().values.shape(), [2, 6]);
    let floats: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    let floats = folder.put("any.idx", idx(0x0d, &[2, 1], &floats));
    assert_eq!(
        read(&floats, &Options::default()).unwrap().values,
        array![[1.5f32], [-2.0]].into_dyn()
    );
    let integers = folder.put("i.idx", idx(0x0c, &[1, 1], &(-70_000i32).to_be_bytes()));
    assert_eq!(
        read(&integers, &Options::default()).unwrap().values,
        array![[-70_000f32]].into_dyn()
    );
}

#[test]
fn cifar_is_told_by_the_length_of_its_records() {
    let folder = Folder::new();
    let record = |labels: &[u8], shade: u8| [labels, &[shade; 3072]].concat();
    let ten = |first: u8| [record(&[first], 51), record(&[first + 1], 255)].concat();
    folder.put("ten/data_batch_1.bin", ten(1));
    folder.put("ten/data_batch_2.bin.gz", gzip(&ten(3)));
    folder.put("ten/data_batch_10.bin", ten(5));
    folder.put("ten/test_batch.bin", ten(8));
    let options = Options { labels: true, ..shaped(&[3, 32, 32]) };
    let found = read(&folder.path("ten"), &options).unwrap();
    assert_eq!(found.labels, Some(vec![1, 2, 3, 4, 5, 6]));
    assert!(same(found.values[[0, 2, 31, 31]], 0.2));
    let hundred =
        folder.put("hundred/train.bin", [record(&[4, 90], 0), record(&[5, 91], 0)].concat());
    assert_eq!(read(&hundred, &labelled()).unwrap().labels, Some(vec![90, 91]));
    assert_eq!(read(&hundred, &Options::default()).unwrap().labels, None);
    let cut = folder.put("cut.bin", &ten(0)[..5000]);
    assert!(refused(&cut, &Options::default()).contains("no whole number of CIFAR records"));
}

#[test]
fn several_files_are_one_set() {
    let folder = Folder::new();
    let one = folder.put("a.npy", npy_f32("(2, 2)", &[1.0, 2.0, 3.0, 4.0]));
    let two = folder.put("b.csv", "x,y\n5,6\n");
    let joined = Dataset::open_all(&[one.clone(), one.clone()], &Options::default()).unwrap();
    assert_eq!(joined.count(), Some(4));
    assert_eq!(all(&joined).unwrap().values.shape(), [4, 2]);
    let mixed = Dataset::open_all(&[one, two], &Options::default()).unwrap_err().to_string();
    assert!(mixed.contains("different columns"), "{mixed}");
    assert!(Dataset::open_all(&[], &Options::default()).is_err());
}

#[test]
fn chunks_are_bounded_however_many_rows_are_asked_for() {
    let folder = Folder::new();
    // 40 samples of 2²¹ numbers: 84 MB in bytes and 336 MB as floats, from a file of a few kB.
    let bytes = gzip(&npy("|u1", "(40, 2097152)", &vec![0; 40 << 21]));
    let path = folder.put("zeros.npy.gz", bytes);
    let set = Dataset::open(&path, &Options::default()).unwrap();
    let first = set.chunks(usize::MAX).unwrap().next().unwrap().unwrap();
    assert_eq!(first.len(), 32);
}

#[test]
fn damaged_labels_stop_only_those_who_ask_for_them() {
    let folder = Folder::new();
    let images = folder.put("t-images-idx3-ubyte", idx(8, &[2, 1, 1], &[51, 102]));
    folder.put("t-labels-idx1-ubyte", "damaged");
    let array = folder.put("x.npy", npy_f32("(2, 1)", &[0.2, 0.4]));
    folder.put("x-labels.npy", "damaged");
    for path in [images, array] {
        let found = read(&path, &Options::default()).unwrap();
        assert_eq!(found.labels, None, "{}", path.display());
        assert_eq!(found.values.iter().copied().collect::<Vec<_>>(), [0.2, 0.4]);
        assert!(read(&path, &labelled()).unwrap_err().contains("labels"), "{}", path.display());
    }
}
