//! Results of steps that are kept on disk.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use taste_files::AtomicFile;

use crate::{Effort, Error, Run, error::at};

/// A folder of results, by what they depend on.
pub(crate) struct Steps {
    folder: PathBuf,
    /// What every step of the run depends on.
    common: String,
}

impl Steps {
    /// Nothing is kept.
    pub(crate) fn none() -> Self {
        Self { folder: PathBuf::new(), common: String::new() }
    }

    pub(crate) fn open(
        out: &Path,
        experiment: &str,
        effort: Effort,
        seed: u64,
    ) -> Result<Self, Error> {
        let folder = out.join("kept").join(experiment);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let common = format!("{} {experiment} {} {seed}", env!("CARGO_PKG_VERSION"), effort.name());
        Ok(Self { folder, common })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &str, facts: &str) -> PathBuf {
        let key = taste_onnx::sha256(format!("{} {name} {facts}", self.common).as_bytes());
        let plain: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(60)
            .collect();
        self.folder.join(format!("{plain}-{}.json", &key[..12]))
    }
}

impl Run<'_> {
    /// A file that takes long to make: a network, a detector. Made now, or left by an earlier run of any experiment in the
    /// same folder with the same name, facts and seed. Facts are all else that it depends on.
    pub fn file(
        &self,
        name: &str,
        step: &str,
        facts: &impl Serialize,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<PathBuf, Error> {
        let folder = self.out().join("kept").join("files");
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let facts = serde_json::to_string(facts).unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION");
        let key = format!("{version} {name} {facts} {}", self.seed_value());
        let key = taste_onnx::sha256(key.as_bytes());
        let path = folder.join(format!("{name}-{}.onnx", &key[..12]));
        let started = self.begin(step, path.is_file())?;
        if !path.is_file() {
            make(&path)?;
            self.end(started);
        }
        Ok(path)
    }

    /// The result of a step: computed now, or what an earlier run of the same experiment left of a step with the same name
    /// and facts. Facts are all that the result depends on beside the experiment, how much of it is run, and the seed.
    pub fn step<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        facts: &impl Serialize,
        compute: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let facts = serde_json::to_string(facts).unwrap_or_default();
        let path = self.steps.path(name, &facts);
        let kept = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let started = self.begin(name, kept.is_some())?;
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let found = compute()?;
        let write = || {
            let mut file = AtomicFile::create(&path)?;
            file.write_all(&serde_json::to_vec(&found)?)?;
            file.commit()
        };
        write().map_err(at(&path))?;
        self.end(started);
        Ok(found)
    }
}
