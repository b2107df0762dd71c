//! Files that are broken, or lie.

use std::fs;

use taste_data::{Dataset, Options};

use crate::files::{Folder, gzip, idx, npy, npy_f32, read, refused, zip};

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    let folder = Folder::new();
    let x = npy_f32("(2, 3)", &[0.0; 6]);
    let packed = gzip(&npy_f32("(2, 300)", &[0.5; 600]));
    let archive = zip(&[("x.npy", npy_f32("(2, 300)", &[0.5; 600]))], false);
    let mut damaged = archive.clone();
    damaged[600] ^= 0xff;
    for (name, bytes, message) in [
        ("empty.npy", Vec::new(), "it is empty"),
        ("empty.csv", Vec::new(), "it is empty"),
        ("empty.gz", gzip(b""), "it is empty"),
        ("text.npy", b"a,b\n1,2\n".to_vec(), "not an npy file"),
        ("cut.npy", x[..x.len() - 1].to_vec(), "the file is cut off"),
        ("cut.npy.gz", packed[..packed.len() - 12].to_vec(), "the file is cut off"),
        ("short.npy.gz", gzip(&x[..x.len() - 1]), "the file is cut off"),
        (
            "long.npy.gz",
            gzip(&[&x[..], &[0]].concat()),
            "more data than the shape (2, 3) calls for",
        ),
        (
            "huge.npy",
            npy("<f4", "(4294967296, 4294967296)", &[]),
            "more elements than can be counted",
        ),
        ("huge.npy.gz", gzip(&npy("<f4", "(2, 4294967296)", &[])), "more than 268435456 entries"),
        ("rows.npy.gz", gzip(&npy("<f4", "(1000000000000, 1)", &[0; 8])), "the file is cut off"),
        ("none.npy", npy("<f4", "(0, 3)", &[]), "no samples, as its shape is (0, 3)"),
        ("hollow.npy", npy("<f4", "(3, 0)", &[]), "its samples are empty"),
        ("one.npy", npy("<f4", "()", &[0; 4]), "a single number"),
        ("objects.npy", npy("|O", "(1,)", b"pickle"), "pickled Python objects"),
        ("text.npz", b"not a zip".to_vec(), "the zip archive can't be read"),
        ("cut.npz", archive[..archive.len() - 30].to_vec(), "the zip archive can't be read"),
        ("damaged.npz", damaged, "wrong checksum"),
        ("empty.npz", zip(&[], false), "holds no arrays"),
        ("other.npz", zip(&[("x.txt", b"hello".to_vec())], true), "holds no arrays"),
        ("lie.npz", zip(&[("x.npy", npy("<f4", "(9, 9)", &[]))], true), "the file is cut off"),
        ("cut-images-idx3-ubyte", idx(8, &[2, 2, 2], &[0; 7]), "needs 8 bytes"),
        ("cut.idx.gz", gzip(&idx(8, &[2, 2, 2], &[0; 7])), "the file is cut off"),
        ("huge.idx", idx(8, &[u32::MAX; 8], &[]), "can't be counted"),
        ("wide.idx.gz", gzip(&idx(8, &[1, u32::MAX, 1], &[])), "more than 268435456 entries"),
        ("head.idx", vec![0, 0, 8, 3, 0, 0], "the file is cut off"),
        ("text-ubyte", b"hello".to_vec(), "not an IDX file"),
        ("odd.bin", vec![7; 100], "no whole number of CIFAR records"),
        ("header.csv", b"a,b\n".to_vec(), "a header and no rows"),
        ("latin.csv", b"caf\xe9,b\n1,2\n".to_vec(), "not text in UTF-8"),
        ("wide.csv", b"\xff\xfea\0,\0b\0".to_vec(), "UTF-16"),
        ("text.parquet", b"hello".to_vec(), "the Parquet file can't be read"),
        ("cut.parquet", b"PAR1\x15\x04PAR1".to_vec(), "the Parquet file can't be read"),
        ("packed.parquet.gz", gzip(b"PAR1"), "unpack it"),
        ("noise.dat", vec![1, 2, 3, 4], "its format is not known"),
        ("broken.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), "can't be decoded"),
        ("text.jpg", b"hello".to_vec(), "neither PNG, JPEG, WebP nor TIFF"),
    ] {
        let path = folder.put(name, bytes);
        let sentence = refused(&path, &Options::default());
        assert!(sentence.contains(message), "{name}: {sentence}");
        assert!(sentence.len() < 400, "{name}: {sentence}");
        fs::remove_file(path).unwrap();
    }
    assert!(refused(&folder.path("missing.npy"), &Options::default()).contains("no such file"));
}

#[cfg(unix)]
#[test]
fn devices_are_not_read() {
    let sentence = refused("/dev/zero".as_ref(), &Options::default());
    assert!(sentence.contains("a pipe or a device"), "{sentence}");
}

#[test]
fn an_image_that_claims_to_be_huge_is_refused() {
    let folder = Folder::new();
    let mut header = b"IHDR".to_vec();
    header.extend([0, 1, 0, 0, 0, 1, 0, 0, 8, 2, 0, 0, 0]);
    let mut crc = flate2::Crc::new();
    crc.update(&header);
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\r".to_vec();
    bytes.extend(&header);
    bytes.extend(crc.sum().to_be_bytes());
    bytes.extend(b"\0\0\0\x01IDAT\0\0\0\0\0");
    let path = folder.put("huge.png", bytes);
    let sentence = read(&path, &Options::default()).unwrap_err();
    assert!(
        sentence.contains("has more than") || sentence.contains("can't be decoded"),
        "{sentence}"
    );
}

#[test]
fn a_quote_that_is_never_closed_does_not_fill_the_memory() {
    let folder = Folder::new();
    // 200 MB of text from 200 kB.
    let mut text = b"a,b\n1,\"2".to_vec();
    text.resize(200_000_000, b'x');
    let path = folder.put("quote.csv.gz", gzip(&text));
    let sentence = refused(&path, &Options::default());
    assert!(sentence.contains("is a quote not closed?"), "{sentence}");
}

#[test]
fn a_table_that_is_none_is_not_skipped_line_by_line_forever() {
    let folder = Folder::new();
    let path = folder.put("log.csv", "a,b\n".to_owned() + &"error\n".repeat(100_010));
    let options = Options { skip_bad: true, ..Options::default() };
    let set = Dataset::open(&path, &options).unwrap();
    assert!(crate::files::all(&set).unwrap_err().contains("not what it is taken for"));
}
