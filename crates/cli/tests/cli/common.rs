//! Runs of the binary in a folder of their own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use ndarray::ArrayD;
use taste_data::npy::{DType, Element, Elements, Reader, Writer};
use tempfile::TempDir;

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A folder with files in it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    /// A folder with `model.onnx` and `x.npy` of a golden case.
    pub(crate) fn golden(case: &str) -> Self {
        let place = Self::new();
        for name in ["model.onnx", "x.npy"] {
            fs::copy(golden(case).join(name), place.path(name)).unwrap();
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write<T: Element>(&self, name: &str, array: &ArrayD<T>) {
        let mut writer = Writer::create(&self.path(name), array.shape()).unwrap();
        writer.append(&array.view()).unwrap();
        writer.finish().unwrap();
    }

    pub(crate) fn array(&self, name: &str) -> ArrayD<f64> {
        array(&self.path(name)).1
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `taste` here with arguments separated by spaces.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_taste"))
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Run {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The most memory that a run which must work holds at once, in bytes, as the system tells until just before its end;
    /// none where the system does not tell.
    pub(crate) fn peak(&self, arguments: &str) -> Option<u64> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taste"))
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = None;
        while child.try_wait().unwrap().is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kibibytes = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse().ok());
            peak = peak.max(kibibytes.map(|k: u64| 1024 * k));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.wait().unwrap().success(), "taste {arguments}");
        peak
    }

    /// A run that must work.
    pub(crate) fn ok(&self, arguments: &str) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, Some(0), "taste {arguments}\n{}", run.err);
        run
    }

    /// A run whose standard output must be JSON.
    pub(crate) fn json(&self, arguments: &str) -> serde_json::Value {
        let run = self.ok(arguments);
        serde_json::from_str(&run.out)
            .unwrap_or_else(|e| panic!("taste {arguments}: {e}\n{}", run.out))
    }

    pub(crate) fn text(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A run that must fail with one sentence that contains `message`, and leave no file behind.
    pub(crate) fn fails(&self, arguments: &str, message: &str) {
        let before = self.names();
        let run = self.run(arguments);
        assert_eq!(run.code, Some(2), "taste {arguments}\n{}{}", run.out, run.err);
        assert!(run.err.starts_with("error: "), "taste {arguments}\n{}", run.err);
        assert_eq!(run.err.trim_end().lines().count(), 1, "taste {arguments}\n{}", run.err);
        assert!(
            run.err.contains(message),
            "taste {arguments}\nwanted {message:?}, got {}",
            run.err
        );
        assert!(!run.err.contains("internal error"), "{}", run.err);
        assert_eq!(self.names(), before, "taste {arguments}");
    }
}

/// A case of the engine's fixtures.
pub(crate) fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/fixtures/golden").join(case)
}

pub(crate) fn array(path: &Path) -> (DType, ArrayD<f64>) {
    let mut reader = Reader::open(path).unwrap();
    let rows = reader.shape()[0];
    let values = match reader.rows(0, rows).unwrap() {
        Elements::F32(a) => a.mapv(f64::from),
        Elements::F64(a) => a,
        Elements::U8(a) => a.mapv(f64::from),
        Elements::I64(a) => a.mapv(|v| v as f64),
    };
    (reader.dtype(), values)
}

/// The largest difference, relative to the largest entry.
pub(crate) fn distance(got: &ArrayD<f64>, want: &ArrayD<f64>) -> f64 {
    assert_eq!(got.shape(), want.shape());
    let scale = want.iter().fold(1e-12f64, |m, v| m.max(v.abs()));
    got.iter().zip(want).fold(0.0, |m, (g, w)| {
        let d = (g - w).abs() / scale;
        if d.is_nan() { f64::INFINITY } else { m.max(d) }
    })
}
