//! The folder that maps and images go to: an earlier run's files are replaced, nothing else is touched.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use serde::Deserialize;

use crate::files::{self, NewFolder};

/// The report, which names the files that were written with it.
pub(super) const REPORT: &str = "explain.json";
pub(super) const MAPS: &str = "maps.npy";
pub(super) const OVERVIEW: &str = "overview.png";

/// The image of a sample.
pub(super) fn image(sample: usize) -> String {
    format!("sample-{sample:06}.png")
}

/// Whether `explain` gives files such a name.
fn is_ours(name: &str) -> bool {
    let number = name.strip_prefix("sample-").and_then(|rest| rest.strip_suffix(".png"));
    let is_image = number.is_some_and(|n| n.len() >= 6 && n.bytes().all(|b| b.is_ascii_digit()));
    is_image || [REPORT, MAPS, OVERVIEW].contains(&name)
}

/// What an earlier run says that it wrote.
#[derive(Deserialize)]
struct Written {
    files: Vec<String>,
}

/// The longest report that is believed to be one.
const MOST_REPORT: u64 = 1 << 28;

pub(super) struct Folder {
    path: PathBuf,
    made: NewFolder,
    /// The files of an earlier run.
    earlier: Vec<String>,
}

impl Folder {
    /// Makes the folder, or makes sure that nothing in it would be lost.
    pub(super) fn open(path: &Path, data: &Path) -> Result<Self> {
        if files::same(path) == files::same(data) {
            bail!("-o {}: this is the folder that is read", path.display());
        }
        let mut earlier = Vec::new();
        if path.is_dir() {
            let listed = written(path).unwrap_or_default();
            for name in ours(path)? {
                if !listed.contains(&name) {
                    bail!(
                        "-o {}: it holds {name}, which no run of explain wrote that left its {REPORT} there: choose \
                         another folder",
                        path.display()
                    );
                }
                earlier.push(name);
            }
        }
        Ok(Self { path: path.to_owned(), made: NewFolder::make("-o", path)?, earlier })
    }

    /// Keeps the folder and clears it of an earlier run's files that are not going to be replaced.
    pub(super) fn keep(self, replaced: &[String]) -> Result<()> {
        self.made.keep();
        for name in self.earlier.iter().filter(|name| !replaced.contains(name)) {
            let stale = self.path.join(name);
            fs::remove_file(&stale)
                .map_err(|e| anyhow::anyhow!("{}: it can't be removed: {e}", stale.display()))?;
        }
        Ok(())
    }
}

/// The files in a folder that have names of ours.
fn ours(path: &Path) -> Result<Vec<String>> {
    let refused = |e: std::io::Error| anyhow::anyhow!("-o {}: {e}", path.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(refused)? {
        let name = entry.map_err(refused)?.file_name();
        names.extend(name.to_str().filter(|name| is_ours(name)).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn written(path: &Path) -> Option<Vec<String>> {
    let mut text = String::new();
    File::open(path.join(REPORT)).ok()?.take(MOST_REPORT).read_to_string(&mut text).ok()?;
    let written: Written = serde_json::from_str(&text).ok()?;
    Some(written.files)
}
