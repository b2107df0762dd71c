//! Files that are going to be written.

use std::{
    collections::HashMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow, bail};
use taste_files::AtomicFile;

/// Fails before anything is computed if a file can't be written or would overwrite another of the same run.
pub(crate) fn check_targets(sources: &[&Path], targets: &[(&str, &Path)]) -> Result<()> {
    let mut taken: HashMap<PathBuf, &str> = HashMap::new();
    for source in sources {
        taken.insert(same(source), "");
    }
    for &(flag, path) in targets {
        if path.file_name().is_none() {
            bail!("{flag} {}: it is a folder, not a file", path.display());
        }
        // One that is started and dropped leaves nothing behind.
        AtomicFile::create(path).map_err(|e| anyhow!("{flag} {}: {e}", path.display()))?;
        match taken.insert(same(path), flag) {
            None => {}
            Some("") => bail!("{flag} {}: this would overwrite what is read", path.display()),
            Some(other) => bail!("{flag} {}: {other} writes to the same file", path.display()),
        }
    }
    Ok(())
}

/// One name for a file, whether it exists or not.
pub(crate) fn same(path: &Path) -> PathBuf {
    let whole = || -> Option<PathBuf> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(whole).unwrap_or_else(|| path.to_owned())
}

/// Writes a file as a whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let whole = || -> io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(bytes)?;
        file.commit()
    };
    whole().map_err(|e| anyhow!("{}: it can't be written: {e}", path.display()))
}

/// A folder that goes again if nothing comes of it.
pub(crate) struct NewFolder {
    made: Vec<PathBuf>,
}

impl NewFolder {
    /// Makes a folder for a flag, if it is not there.
    pub(crate) fn make(flag: &str, path: &Path) -> Result<Self> {
        let missing = path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists());
        let made = missing.map(Path::to_owned).collect();
        fs::create_dir_all(path)
            .map_err(|e| anyhow!("{flag} {}: the folder can't be made: {e}", path.display()))?;
        Ok(Self { made })
    }

    /// It stays.
    pub(crate) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // What holds files stays.
        for folder in &self.made {
            let _ = fs::remove_dir(folder);
        }
    }
}
