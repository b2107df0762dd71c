//! Files as `NumPy` writes them, files that are broken, and files of our own.

use std::{fs, path::PathBuf};

use ndarray::{Array, ArrayD, Axis, IxDyn, Slice};
use proptest::prelude::*;
use taste_data::npy::{DType, Elements, Reader, Writer};
use tempfile::TempDir;

/// A file as `numpy.lib.format.write_array` lays it out.
fn numpy(version: u8, dictionary: &str, data: &[u8]) -> Vec<u8> {
    let fixed = if version == 1 { 10 } else { 12 };
    let total = (fixed + dictionary.len() + 1).next_multiple_of(64);
    let length = u32::try_from(total - fixed).unwrap().to_le_bytes();
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    bytes.extend(&length[..fixed - 8]);
    bytes.extend(dictionary.as_bytes());
    bytes.resize(total - 1, b' ');
    bytes.push(b'\n');
    bytes.extend(data);
    bytes
}

fn plain(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    numpy(1, &format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"), data)
}

fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.npy");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn read(bytes: &[u8]) -> Result<Elements, String> {
    let (_folder, path) = file(bytes);
    let shown = path.display().to_string();
    let mut reader = Reader::open(&path).map_err(|e| e.to_string())?;
    let rows = reader.shape().first().copied().unwrap_or(0);
    reader.rows(0, rows).map_err(|e| e.to_string()).inspect_err(|e| assert!(e.starts_with(&shown)))
}

fn ints(shape: &[usize], values: &[i64]) -> Elements {
    Elements::I64(ArrayD::from_shape_vec(IxDyn(shape), values.to_vec()).unwrap())
}

fn floats(shape: &[usize], values: &[f32]) -> Elements {
    Elements::F32(ArrayD::from_shape_vec(IxDyn(shape), values.to_vec()).unwrap())
}

#[test]
fn the_bytes_of_numpy_are_read() {
    // np.save of np.arange(6, dtype="f4").reshape(2, 3), NumPy 2.4.6.
    let mut bytes =
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
            .to_vec();
    bytes.extend([b' '; 58]);
    bytes.extend(
        b"\n\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@",
    );
    assert_eq!(read(&bytes), Ok(floats(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])));
}

#[test]
fn every_version_of_the_format_is_read() {
    let dictionary = "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 2), }";
    for version in 1..=3 {
        let bytes = numpy(version, dictionary, b"\x00\x01\x00\x02\x00\x03\xff\xfc");
        assert_eq!(read(&bytes), Ok(ints(&[2, 2], &[1, 2, 3, -4])), "version {version}");
    }
}

#[test]
fn every_element_type_is_read() {
    let bool_bytes = plain("|b1", "(2,)", &[1, 0]);
    assert_eq!(read(&bool_bytes), Ok(ints(&[2], &[1, 0])));
    let u1 = ArrayD::from_shape_vec(IxDyn(&[2]), vec![0u8, 255]).unwrap();
    assert_eq!(read(&plain("|u1", "(2,)", &[0, 255])), Ok(Elements::U8(u1)));
    assert_eq!(read(&plain("|i1", "(2,)", &[1, 255])), Ok(ints(&[2], &[1, -1])));
    assert_eq!(
        read(&plain("<f2", "(3,)", b"\x00>\x00\xc0\xff{")),
        Ok(floats(&[3], &[1.5, -2.0, 65504.0]))
    );
    assert_eq!(read(&plain(">f2", "(1,)", b">\x00")), Ok(floats(&[1], &[1.5])));
    for (big, order) in [(false, '<'), (true, '>')] {
        let put = |little: &[u8]| {
            let mut bytes = little.to_vec();
            if big {
                bytes.reverse();
            }
            bytes
        };
        let one = |kind: &str, little: &[u8]| {
            read(&plain(&format!("{order}{kind}"), "(1,)", &put(little)))
        };
        assert_eq!(one("u2", &60000u16.to_le_bytes()), Ok(ints(&[1], &[60000])));
        assert_eq!(one("i2", &(-3i16).to_le_bytes()), Ok(ints(&[1], &[-3])));
        assert_eq!(one("u4", &4_000_000_000u32.to_le_bytes()), Ok(ints(&[1], &[4_000_000_000])));
        assert_eq!(one("i4", &(-70_000i32).to_le_bytes()), Ok(ints(&[1], &[-70_000])));
        assert_eq!(one("i8", &i64::MIN.to_le_bytes()), Ok(ints(&[1], &[i64::MIN])));
        assert_eq!(one("f4", &0.1f32.to_le_bytes()), Ok(floats(&[1], &[0.1])));
        let double = ArrayD::from_elem(IxDyn(&[1]), 0.1f64);
        assert_eq!(one("f8", &0.1f64.to_le_bytes()), Ok(Elements::F64(double)));
    }
}

#[test]
fn columns_first_is_turned() {
    let header =
        |shape: &str| format!("{{'descr': '|u1', 'fortran_order': True, 'shape': {shape}, }}");
    for shape in ["(3,)", "(3, 1)", "(1, 3, 1)"] {
        assert!(read(&numpy(1, &header(shape), &[1, 2, 3])).is_ok(), "{shape}");
    }
    let turned = read(&numpy(1, &header("(3, 2)"), &[0, 1, 2, 10, 11, 12])).unwrap();
    let want = ArrayD::from_shape_vec(IxDyn(&[3, 2]), vec![0u8, 10, 1, 11, 2, 12]).unwrap();
    assert_eq!(turned, Elements::U8(want));
}

#[test]
fn only_the_rows_asked_for_are_read() {
    let data: Vec<u8> = (0..12).collect();
    let (_folder, path) = file(&plain("|i1", "(4, 3)", &data));
    let mut reader = Reader::open(&path).unwrap();
    assert_eq!((reader.dtype(), reader.shape()), (DType::I8, &[4, 3][..]));
    assert_eq!(reader.rows(2, 3).unwrap(), ints(&[1, 3], &[6, 7, 8]));
    assert_eq!(reader.rows(0, 1).unwrap(), ints(&[1, 3], &[0, 1, 2]));
    assert_eq!(reader.rows(4, 4).unwrap(), ints(&[0, 3], &[]));
    for (start, end) in [(3, 5), (2, 1), (5, 5)] {
        let refused = reader.rows(start, end).unwrap_err().to_string();
        assert!(refused.contains("(4, 3)"), "{refused}");
    }
    fs::write(&path, b"").unwrap();
    assert!(reader.rows(0, 1).is_err());
}

#[test]
fn broken_files_are_described() {
    let good = plain("<f4", "(2, 3)", &[0; 24]);
    let mut lying = good.clone();
    lying[8..10].copy_from_slice(&u16::MAX.to_le_bytes());
    let mut huge = numpy(2, "{}", &[]);
    huge[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut future = good.clone();
    future[6] = 9;
    for (bytes, message) in [
        (Vec::new(), "it is empty"),
        (b"hello, world: this is text".to_vec(), "not an npy file"),
        (b"PK\x03\x04 and so on".to_vec(), "npz archive"),
        (b"\x93NUMPY".to_vec(), "the file ends before it"),
        (b"\x93NUMPY\x02\x00\x10\x00".to_vec(), "the file ends before it"),
        (good[..40].to_vec(), "declares 118 bytes"),
        (
            good[..good.len() - 1].to_vec(),
            "needs 24 bytes after the header, and there are 23: the file is cut off",
        ),
        ([&good[..], b"x"].concat(), "and there are 25"),
        (lying, "declares 65535 bytes"),
        (huge, "declares 4294967295 bytes"),
        (future, "version 9.0 is not known"),
        (plain("|O", "(1,)", b"pickle"), "pickled Python objects"),
        (plain("<f8", "(9223372036854775807, 2)", &[]), "more elements than can be counted"),
        (plain("<f8", "(100000000000,)", &[0; 8]), "needs 800000000000 bytes"),
    ] {
        let refused = read(&bytes).unwrap_err();
        assert!(refused.contains(message), "{message}: {refused}");
        assert!(refused.contains("x.npy: ") && !refused.contains('\n'), "{refused}");
    }
}

#[test]
fn other_things_than_files_are_refused() {
    let folder = TempDir::new().unwrap();
    let refused = Reader::open(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("it is a folder, not a file"), "{refused}");
    assert!(Reader::open(&folder.path().join("missing.npy")).is_err());
    assert!(Writer::<f32>::create(folder.path(), &[1]).is_err());
    assert!(Writer::<f32>::create(&folder.path().join("no/such/folder.npy"), &[1]).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_array_appears_whole_or_not_at_all() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("y.npy");
    let row = ArrayD::<f32>::ones(IxDyn(&[1, 2]));
    fs::write(&path, b"what was there").unwrap();

    let mut dropped = Writer::create(&path, &[2, 2]).unwrap();
    dropped.append(&row.view()).unwrap();
    drop(dropped);
    let mut short = Writer::create(&path, &[2, 2]).unwrap();
    short.append(&row.view()).unwrap();
    assert!(short.finish().unwrap_err().to_string().contains("1 rows were written"));
    assert_eq!(fs::read(&path).unwrap(), b"what was there");

    let mut whole = Writer::create(&path, &[2, 2]).unwrap();
    whole.append(&row.view()).unwrap();
    assert!(whole.append(&ArrayD::ones(IxDyn(&[1, 3])).view()).is_err());
    assert!(whole.append(&ArrayD::ones(IxDyn(&[2, 2])).view()).is_err());
    whole.append(&row.view()).unwrap();
    whole.finish().unwrap();
    assert_eq!(read(&fs::read(&path).unwrap()), Ok(floats(&[2, 2], &[1.0; 4])));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_is_written_is_what_numpy_writes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("y.npy");
    let mut writer = Writer::<f64>::create(&path, &[3]).unwrap();
    writer.append(&Array::from_vec(vec![0.5, -1.0, 2.0]).into_dyn().view()).unwrap();
    writer.finish().unwrap();
    let data: Vec<u8> = [0.5f64, -1.0, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(fs::read(&path).unwrap(), plain("<f8", "(3,)", &data));
}

#[cfg(unix)]
#[test]
fn a_link_is_written_through() {
    let folder = TempDir::new().unwrap();
    let (path, link) = (folder.path().join("y.npy"), folder.path().join("link.npy"));
    fs::write(&path, b"").unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut writer = Writer::<u8>::create(&link, &[1]).unwrap();
    writer.append(&ArrayD::zeros(IxDyn(&[1])).view()).unwrap();
    writer.finish().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(Reader::open(&path).unwrap().shape(), [1]);
    assert!(Writer::<u8>::create("/dev/null".as_ref(), &[1]).is_err());
}

proptest! {
    #[test]
    fn parts_of_any_size_make_the_same_array(
        rows in 1usize..9, sample in proptest::collection::vec(0usize..4, 0..3), step in 1usize..5,
    ) {
        let shape: Vec<usize> = std::iter::once(rows).chain(sample).collect();
        let mut next = 0.0f32;
        let array = ArrayD::from_shape_simple_fn(IxDyn(&shape), || { next += 0.37; next });
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("y.npy");
        let mut writer = Writer::create(&path, &shape).unwrap();
        for start in (0..rows).step_by(step) {
            let part = array.slice_axis(Axis(0), Slice::from(start..rows.min(start + step)));
            writer.append(&part).unwrap();
        }
        writer.finish().unwrap();
        let mut reader = Reader::open(&path).unwrap();
        for start in 0..rows {
            let part = array.slice_axis(Axis(0), Slice::from(start..rows)).to_owned();
            prop_assert_eq!(reader.rows(start, rows).unwrap(), Elements::F32(part));
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        place in 0usize..152, byte in any::<u8>(), cut in 0usize..153, version in 1u8..4,
    ) {
        let dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        let mut bytes = numpy(version, dictionary, &[0; 24]);
        bytes[place] = byte;
        let _ = read(&bytes);
        bytes.truncate(cut);
        let _ = read(&bytes);
    }
}
