//! Which sets are meant.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use taste_detector::Detector;

use crate::{files, tell};

/// A set by its name and place.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Whether it was found in a folder, where other files lie as well.
    found: bool,
}

/// The sets that were named, those in folders one by one.
pub(crate) fn named(texts: &[String]) -> Result<Vec<Named>> {
    let mut sets: Vec<Named> = Vec::new();
    for text in texts {
        let (name, path) = split(text);
        let path = Path::new(path);
        if !path.is_dir() {
            let name = name.map_or_else(|| stem(path), str::to_owned);
            sets.push(Named { name, path: path.to_owned(), found: false });
            continue;
        }
        let inside = taste_data::sets_in(path)?;
        let found = inside != [path.to_owned()];
        for set in inside {
            let name = match (name, found) {
                (Some(group), true) => format!("{group}/{}", stem(&set)),
                (Some(name), false) => name.to_owned(),
                (None, _) => stem(&set),
            };
            sets.push(Named { name, path: set, found });
        }
    }
    for (i, set) in sets.iter().enumerate() {
        if let Some(other) = sets[..i].iter().find(|other| other.name == set.name) {
            bail!(
                "--ood {}: {} is called {} as well; write NAME={}",
                set.path.display(),
                other.path.display(),
                set.name,
                set.path.display()
            );
        }
    }
    Ok(sets)
}

/// `NAME=REST`, unless there is a file of that very name.
pub(super) fn split(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, rest)) if !name.is_empty() && !Path::new(text).exists() => (Some(name), rest),
        _ => (None, text),
    }
}

/// The name of a file without its endings, or of a folder.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let ending = plain.rfind('.').filter(|at| *at > 0 && path.is_file());
    plain[..ending.unwrap_or(plain.len())].to_owned()
}

/// Without files of folders that are something else: clean samples, labels, what the detector was made of, or what it
/// can't take.
pub(super) fn fitting(
    sets: Vec<Named>,
    others: &[&Path],
    detector: &Detector,
    quiet: bool,
) -> Result<Vec<Named>> {
    let data = &detector.manifest().data;
    let made_of = std::iter::once(&data.train).chain(&data.calibration).map(Path::new);
    let others: Vec<PathBuf> = others.iter().copied().chain(made_of).map(files::same).collect();
    let (mut kept, mut last) = (Vec::new(), None);
    for set in sets {
        if !set.found {
            kept.push(set);
        } else if others.contains(&files::same(&set.path)) {
        } else if let Err(e) = detector.open_data(&set.path, false) {
            if !quiet {
                tell(&format!("note: left out {e}"));
            }
            last = Some(e);
        } else {
            kept.push(set);
        }
    }
    match last {
        Some(e) if kept.is_empty() => Err(e.into()),
        _ if kept.is_empty() => bail!("--ood: the folder holds no other sets than those of --id"),
        _ => Ok(kept),
    }
}
