//! Runs that can be stopped: chunks that are done stay in files beside the output until it is whole, and are taken up again
//! if model, samples, labels and settings are the same.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use ndarray::ArrayD;
use taste_data::{
    Samples,
    npy::{Elements, Reader, Writer},
};
use taste_detector::{Error, Progress, refused};
use taste_files::AtomicFile;
use taste_stats::random::{GOLDEN, mix};

use super::{
    Attacker, Outcome, Task,
    attacker::{shaped, teller},
};

/// What came of a run whose samples are in a file.
#[derive(Clone, Debug)]
pub struct Written {
    /// What came of the attack.
    pub outcome: Outcome,
    /// How many samples were done in an earlier run that was stopped.
    pub taken_up: usize,
    /// Whether the samples had labels.
    pub has_labels: bool,
}

/// The folder that holds the parts of an output while a run goes on.
pub fn folder(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".parts");
    name.into()
}

impl Attacker<'_> {
    /// Attacks all samples of a data set, and writes an npy file of the same shape in single precision. A run that is stopped
    /// goes on where it was, from what is in [`folder`].
    pub fn write(
        &self,
        data: &dyn Samples,
        out: &Path,
        progress: &Progress<'_>,
    ) -> Result<Written, Error> {
        let mut parts = Parts { folder: folder(out), files: Vec::new() };
        let mut written = Written { outcome: Outcome::default(), taken_up: 0, has_labels: false };
        let total = data.count();
        for chunk in data.chunks(self.chunk())? {
            let chunk = chunk?;
            let first = chunk.index.first().copied().unwrap_or(0);
            let named = |e: Error| match e {
                Error::Request(message) => refused(format!("{}: {message}", data.name())),
                other => other,
            };
            let task =
                self.task(&chunk.values.view(), chunk.labels.as_deref(), first).map_err(named)?;
            written.has_labels = chunk.labels.is_some();
            let done = written.outcome.samples;
            let mut tell = teller(done, chunk.len(), total, progress);
            let path = parts.path(&self.name_of(&task));
            let found = if let Some(found) = taken_up(&path, chunk.values.shape()) {
                // Samples that come twice are done once.
                if parts.files.iter().all(|(own, _)| *own != path) {
                    written.taken_up += chunk.len();
                }
                tell(1.0)?;
                found
            } else {
                let (points, found) = self.attack_task(&task, &mut tell)?;
                keep(&path, &shaped(points, chunk.values.shape())?, &found)?;
                found
            };
            parts.files.push((path, chunk.len()));
            written.outcome.add(found);
        }
        if parts.files.is_empty() {
            return Err(refused(format!("{}: there are no samples to attack", data.name())));
        }
        parts.join(out, data.sample_shape())?;
        parts.remove();
        Ok(written)
    }

    /// A name that is the same for the same model, samples, labels and settings, and for nothing else.
    fn name_of(&self, task: &Task<'_>) -> String {
        let bounds = format!("{:?}", self.ball.bounds());
        let settings = format!(
            "1 {} {} {} {:x} {bounds} {}",
            self.victim.fingerprint().unwrap_or_default(),
            self.attack.written(),
            self.ball.norm(),
            self.ball.eps().to_bits(),
            self.seed
        );
        let numbers = task.x.iter().chain(&task.logits).map(|v| u64::from(v.to_bits()));
        let labels = task.labels.iter().map(|k| *k as u64);
        let words = settings.bytes().map(u64::from).chain(labels).chain(numbers);
        let (mut a, mut b) = (1u64, GOLDEN);
        for word in words {
            a = mix(a ^ word).wrapping_add(GOLDEN);
            b = mix(b.wrapping_add(word)) ^ a.rotate_left(17);
        }
        format!("{a:016x}{b:016x}")
    }
}

struct Parts {
    folder: PathBuf,
    /// With how many samples they hold.
    files: Vec<(PathBuf, usize)>,
}

impl Parts {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.npy"))
    }

    /// Writes all parts one after the other.
    fn join(&self, out: &Path, sample: &[usize]) -> Result<(), Error> {
        let rows = self.files.iter().map(|(_, rows)| rows).sum();
        let shape: Vec<usize> = std::iter::once(rows).chain(sample.iter().copied()).collect();
        let mut writer = Writer::<f32>::create(out, &shape).map_err(taste_data::Error::from)?;
        for (path, rows) in &self.files {
            let values = read(path, *rows).ok_or_else(|| {
                refused(format!("{}: this part of the run is gone; start again", path.display()))
            })?;
            writer.append(&values.view()).map_err(taste_data::Error::from)?;
        }
        writer.finish().map_err(taste_data::Error::from)?;
        Ok(())
    }

    /// Removes all parts, of other runs for this output as well.
    fn remove(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| is_part(path)) {
            // What can't be removed is no harm.
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Whether a file has a name that parts have.
fn is_part(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let ending = path.extension().and_then(|s| s.to_str()).unwrap_or_default();
    stem.len() == 32
        && stem.bytes().all(|b| b.is_ascii_hexdigit())
        && matches!(ending, "npy" | "json")
}

/// The outcome of a part that an earlier run left whole.
fn taken_up(path: &Path, shape: &[usize]) -> Option<Outcome> {
    let outcome: Outcome =
        serde_json::from_slice(&fs::read(path.with_extension("json")).ok()?).ok()?;
    let there = Reader::open(path).ok()?;
    (there.shape() == shape && outcome.samples == shape[0]).then_some(outcome)
}

/// Keeps a part: the samples first, so that the outcome is there only if they are.
fn keep(path: &Path, values: &ArrayD<f32>, outcome: &Outcome) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let unwritable =
        |e: io::Error| refused(format!("{}: it can't be written: {e}", folder.display()));
    fs::create_dir_all(folder).map_err(unwritable)?;
    let mut writer =
        Writer::<f32>::create(path, values.shape()).map_err(taste_data::Error::from)?;
    writer.append(&values.view()).map_err(taste_data::Error::from)?;
    writer.finish().map_err(taste_data::Error::from)?;
    let text = serde_json::to_vec(outcome).map_err(|e| refused(e.to_string()))?;
    let whole = || -> io::Result<()> {
        let mut file = AtomicFile::create(&path.with_extension("json"))?;
        file.write_all(&text)?;
        file.commit()
    };
    whole().map_err(unwritable)
}

fn read(path: &Path, rows: usize) -> Option<ArrayD<f32>> {
    match Reader::open(path).ok()?.rows(0, rows).ok()? {
        Elements::F32(values) => Some(values),
        _ => None,
    }
}
