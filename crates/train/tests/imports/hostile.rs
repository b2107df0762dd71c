//! Files that are broken or mean harm.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use taste_train::import::Weights;
use tempfile::TempDir;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::common::{fixture, refusal};

/// A file like those of `torch.save`.
fn archive(place: &TempDir, pickle: &[u8], storage: &[u8]) -> PathBuf {
    let path = place.path().join("made.pt");
    let mut zip = ZipWriter::new(fs::File::create(&path).expect("a file"));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in [("made/data.pkl", pickle), ("made/data/0", storage)] {
        zip.start_file(name, options).expect("a member");
        zip.write_all(bytes).expect("written");
    }
    zip.finish().expect("written");
    path
}

/// A pickle of `{"w": tensor}` with a view of the storage `0`, whose numbers are written as they are.
fn pickle(offset: &str, shape: &str, strides: &str) -> Vec<u8> {
    let number = |text: &str| -> Vec<u8> {
        let value: i64 = text.trim().parse().expect("a number");
        [&[0x8a, 8][..], &value.to_le_bytes()].concat()
    };
    let tuple = |text: &str| -> Vec<u8> {
        let items: Vec<u8> = text.split(',').flat_map(number).collect();
        [&b"("[..], &items, b"t"].concat()
    };
    let text = |text: &str| -> Vec<u8> {
        let length = u32::try_from(text.len()).expect("short");
        [&b"X"[..], &length.to_le_bytes(), text.as_bytes()].concat()
    };
    let storage = [
        &b"("[..],
        &text("storage"),
        b"ctorch\nFloatStorage\n",
        &text("0"),
        &text("cpu"),
        &number("4"),
        b"tQ",
    ]
    .concat();
    [
        &b"\x80\x02}"[..],
        &text("w"),
        b"ctorch._utils\n_rebuild_tensor_v2\n(",
        &storage,
        &number(offset),
        &tuple(shape),
        &tuple(strides),
        b"NNtRs.",
    ]
    .concat()
}

fn opened(path: &Path) -> Result<Weights, String> {
    Weights::open(path).map_err(|e| e.to_string())
}

#[test]
fn views_of_a_storage_are_what_torch_means() {
    let place = TempDir::new().expect("a folder");
    let storage: Vec<u8> = (0..6).flat_map(|v: u8| f32::from(v).to_le_bytes()).collect();
    for (offset, shape, strides, wanted) in [
        ("0", "2, 3", "3, 1", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0][..]),
        ("0", "3, 2", "1, 3", &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]),
        ("2", "2", "2", &[2.0, 4.0]),
        ("1", "2, 2", "0, 1", &[1.0, 2.0, 1.0, 2.0]),
    ] {
        let path = archive(&place, &pickle(offset, shape, strides), &storage);
        let tensor = opened(&path).expect("opened").read("w").expect("read");
        assert_eq!(tensor.iter().copied().collect::<Vec<f32>>(), wanted, "{shape} by {strides}");
    }
}

#[test]
fn views_beyond_their_storage_are_refused() {
    let place = TempDir::new().expect("a folder");
    for (offset, shape, strides, part) in [
        ("3", "2, 1", "1, 1", "beyond its storage"),
        ("0", "4, 4", "0, 0", "beyond its storage"),
        ("0", "1000000000000, 1000000000000", "0, 0", "beyond its storage"),
        ("9223372036854775807", "2", "9223372036854775807", "beyond its storage"),
        ("-1", "1", "1", "the size -1"),
        ("0", "1, 1", "1", "more axes than strides"),
    ] {
        let path = archive(&place, &pickle(offset, shape, strides), &[0; 12]);
        let message = opened(&path).expect_err(shape);
        assert!(message.contains(part) && message.contains("made.pt"), "{message}");
    }
}

#[test]
fn a_pickle_runs_nothing() {
    let message = refusal(&fixture("hostile.pt"));
    assert!(message.contains("posix.system") && message.contains("state_dict()"), "{message}");
    assert!(!Path::new("harm").exists());
    let message = refusal(&fixture("module.pt"));
    assert!(message.contains("torch.nn.modules.linear.Linear"), "{message}");
    let message = refusal(&fixture("old.pt"));
    assert!(message.contains("before version 1.6"), "{message}");
}

#[test]
fn pickles_that_make_no_sense_are_refused_in_words() {
    let place = TempDir::new().expect("a folder");
    let deep = [&b"\x80\x02"[..], &vec![b'('; 1 << 20], b"."].concat();
    // A list that is put into itself, and recalled again and again.
    let shared = [&b"\x80\x02]q\x00"[..], &b"h\x00a".repeat(1 << 20), b"."].concat();
    let many = [&b"\x80\x02"[..], &vec![b'N'; 3 << 20], b"."].concat();
    let large = vec![b'N'; (16 << 20) + 1];
    for (bytes, part) in [
        (&b""[..], "cut off"),
        (b"\x80\x02}", "cut off"),
        (b"\x80\x02X\xff\xff\xff\xffabc.", "cut off"),
        (b"\x80\x02R.", "more than it holds"),
        (b"\x80\x02tt.", "an end without a beginning"),
        (b"\x80\x02h\x05.", "recalls 5"),
        (b"\x80\x02NNs.", "more than it holds"),
        (b"\x80\x02N(NNu.", "sets items of None"),
        (b"\x80\x02N)R.", "calls None"),
        (b"\x80\x02NQ.", "named by None"),
        (b"\x80\x02ccollections\nOrderedDict\n)R.", "nothing by name"),
        (b"\x80\x02cbuiltins\neval\n.", "builtins.eval"),
        (b"\x80\x02X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93.", "os.system"),
        (b"\x80\x02N\x81.", "opcode 0x81"),
        (&deep, "more than it holds"),
        (&shared, "no state dict"),
        (&many, "values"),
        (&large, "at most"),
    ] {
        let path = archive(&place, bytes, &[]);
        let message = opened(&path).expect_err(part);
        assert!(message.contains(part) && !message.contains('\n'), "{part:?} is not in: {message}");
    }
}

#[test]
fn files_that_are_cut_off_are_refused() {
    let place = TempDir::new().expect("a folder");
    for name in ["basic.pt", "bottleneck.safetensors"] {
        let bytes = fs::read(fixture(name)).expect(name);
        for kept in [0, 1, 7, 9, 100, bytes.len() / 2, bytes.len() - 1] {
            let path = place.path().join(name);
            fs::write(&path, &bytes[..kept]).expect("written");
            let message = refusal(&path);
            assert!(message.contains(name), "{kept} bytes of {name}: {message}");
        }
    }
}

#[test]
fn headers_that_lie_are_refused() {
    let place = TempDir::new().expect("a folder");
    let file = |header: &str, declared: u64| {
        let path = place.path().join("lies.safetensors");
        let bytes = [&declared.to_le_bytes()[..], header.as_bytes(), &[0; 8]].concat();
        fs::write(&path, bytes).expect("written");
        path
    };
    let honest = r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let length = honest.len() as u64;
    assert_eq!(opened(&file(honest, length)).expect("opened").shape("w"), Some(&[2][..]));
    for (header, declared) in [
        (honest.to_owned(), u64::MAX),
        (honest.to_owned(), 1 << 40),
        (honest.to_owned(), length - 2),
        (honest.replace("[2]", "[3]"), length),
        (honest.replace("[2]", "[4611686018427387904,8]"), length + 21),
        (honest.replace("[0,8]", "[0,80]"), length + 1),
        (honest.replace("F32", "F99"), length),
    ] {
        let message = opened(&file(&header, declared)).expect_err(&header);
        assert!(message.contains("lies.safetensors"), "{message}");
    }
}

#[test]
fn an_index_names_files_beside_it_alone() {
    let place = TempDir::new().expect("a folder");
    let index = place.path().join("model.safetensors.index.json");
    for (file, part) in [
        ("../bottleneck.safetensors", "no file beside it"),
        ("/etc/passwd", "no file beside it"),
        ("gone.safetensors", "no such file"),
    ] {
        fs::write(&index, format!(r#"{{"weight_map": {{"w": "{file}"}}}}"#)).expect("written");
        let message = opened(&index).expect_err(file);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    let place = TempDir::new().expect("a folder");
    let storage: Vec<u8> = [0.0, f32::NAN].into_iter().flat_map(f32::to_le_bytes).collect();
    let path = archive(&place, &pickle("0", "2", "1"), &storage);
    let message = opened(&path).expect("opened").read("w").expect_err("NaN").to_string();
    assert!(message.contains("NaN") && message.contains("tensor w"), "{message}");
}
