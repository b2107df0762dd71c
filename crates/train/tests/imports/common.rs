//! Files and comparisons.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ndarray::ArrayD;
use taste_data::npy::{Elements, Reader};
use taste_engine::{Backend, Value};
use taste_train::import::{self, Imported, Options};
use tempfile::TempDir;

/// What differs by more is wrong.
const TOLERANCE: f64 = 1e-4;

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/imports").join(name)
}

pub(crate) fn array(name: &str) -> ArrayD<f32> {
    let mut reader = Reader::open(&fixture(name)).expect(name);
    let rows = reader.shape()[0];
    match reader.rows(0, rows).expect(name) {
        Elements::F32(array) => array,
        other => panic!("{name}: {other:?}"),
    }
}

pub(crate) fn imported(path: &Path, options: &Options) -> Imported {
    import::open(path, options).unwrap_or_else(|e| panic!("{e}"))
}

/// Why a file is refused: one sentence that names it.
pub(crate) fn refusal(path: &Path) -> String {
    let message = import::open(path, &Options::default()).expect_err("refused").to_string();
    assert!(!message.contains('\n'), "{message}");
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    assert!(message.contains(&*name), "{message}");
    message
}

/// Both engines give what the library gave.
pub(crate) fn agrees(
    imported: &Imported,
    feeds: &[(&str, ArrayD<f32>)],
    output: &str,
    wanted: &ArrayD<f32>,
) {
    let feeds: Vec<(&str, Value)> =
        feeds.iter().map(|(name, array)| (*name, Value::from(array.clone()))).collect();
    let feeds: Vec<(&str, &Value)> = feeds.iter().map(|(name, value)| (*name, value)).collect();
    for backend in [Backend::REFERENCE, Backend::RTEN] {
        let session = backend.load(&imported.model, &[output], 1).expect("a session");
        let found = session.run(&feeds).expect("a result")[0].to_f64();
        assert_eq!(found.shape(), wanted.shape());
        let gap = found.iter().zip(wanted).map(|(f, w)| (f - f64::from(*w)).abs());
        let gap = gap.fold(0.0, f64::max);
        let largest = wanted.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        assert!(gap < TOLERANCE, "{backend}: {gap} of {largest}");
        assert!(largest > 0.1, "an output of at most {largest} shows nothing");
    }
}

/// A folder with a copy of another one, to be changed.
pub(crate) fn copy(name: &str) -> TempDir {
    let place = TempDir::new().expect("a folder");
    for entry in fs::read_dir(fixture(name)).expect(name) {
        let entry = entry.expect(name);
        fs::copy(entry.path(), place.path().join(entry.file_name())).expect(name);
    }
    place
}
