//! The formats, one file each.

mod array;
pub(crate) mod folder;
mod joined;
mod lines;
mod records;
mod text;

use std::{
    fmt,
    path::{Path, PathBuf},
};

pub use folder::sets_in;
use taste_choice::{Choice, Entry};

use crate::{Error, Options, Problem, origin::Origin, source::Source};
pub(crate) use images::{Shaping, decode as decode_image};

taste_choice::table! {
    /// The formats of data that can be read.
    pub FORMATS: [Format] = {
        npy::FORMAT,
        npz::FORMAT,
        parquet::FORMAT,
        feather::FORMAT,
        images::FORMAT,
        cifar::FORMAT,
        idx::FORMAT,
        jsonl::FORMAT,
        csv::FORMAT,
    }
}

/// A format: how to recognise it by content, or else by name, and how to open it.
pub struct Format {
    /// What users read of it.
    pub choice: Choice,
    /// How the names of its files end, before any `.gz`.
    pub endings: &'static [&'static str],
    /// What one file is called, and several.
    files: [&'static str; 2],
    /// Whether bytes start as such a file does; none where files start like anything.
    starts: Option<fn(&[u8]) -> bool>,
    /// Whether files of text that no name or content tells apart are taken for this.
    is_text: bool,
    /// Whether a file with this name (in small letters, without `.gz`) in a folder is data of it.
    in_folder: fn(&str) -> bool,
    /// Which of its files in a folder make a data set, and in which order; none for images, which may lie in subfolders.
    together: Option<Together>,
    open: Open,
}

type Together = fn(Vec<PathBuf>) -> Result<Vec<PathBuf>, Problem>;
type Open = fn(&Found, &Options) -> Result<Box<dyn Source>, Error>;

impl Entry for Format {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Format").field(&self.choice.name).finish()
    }
}

/// A file that is to be opened.
struct Found {
    origin: Origin,
    /// Its first bytes, decompressed.
    opening: Vec<u8>,
    /// The member of an archive that is asked for.
    member: Option<String>,
}

/// Opens a file by what it holds.
pub(crate) fn open_file(path: &Path, options: &Options) -> Result<Box<dyn Source>, Error> {
    let (path, member) = split_member(path);
    open_origin(Origin::of(&path)?, member, options)
}

/// Opens bytes by what they hold.
pub(crate) fn open_origin(
    origin: Origin,
    member: Option<String>,
    options: &Options,
) -> Result<Box<dyn Source>, Error> {
    let opening = origin.opening(64)?;
    if opening.is_empty() {
        return Err(origin.error("it is empty"));
    }
    let name = origin.file_name();
    let by_name = FORMATS.iter().find(|f| ends(&name, f.endings));
    // A name decides alone where files start like anything, and perhaps as those of another format do.
    let unmarked = by_name.filter(|f| f.starts.is_none());
    let by_content = || FORMATS.iter().find(|f| f.starts.is_some_and(|starts| starts(&opening)));
    let as_text = || FORMATS.iter().find(|f| f.is_text && is_text(&opening));
    let Some(format) = unmarked.or_else(by_content).or(by_name).or_else(as_text) else {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.choice.name).collect();
        return Err(origin.error(format!("its format is not known; {} are", names.join(", "))));
    };
    (format.open)(&Found { origin, opening, member }, options)
}

fn ends(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Splits `x.npz:member`, unless there is a file of that very name.
fn split_member(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    match text.rfind(".npz:") {
        Some(at) if !path.exists() => {
            (PathBuf::from(&text[..at + 4]), Some(text[at + 5..].to_owned()))
        }
        _ => (path.to_owned(), None),
    }
}

fn is_text(opening: &[u8]) -> bool {
    opening.iter().all(|&b| b >= 0x20 || matches!(b, b'\t' | b'\n' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_endings_are_unique_and_described() {
        let all = |of: fn(&Format) -> Vec<&'static str>| -> Vec<&str> {
            FORMATS.iter().flat_map(of).collect()
        };
        for mut names in [all(|f| vec![f.choice.name]), all(|f| f.endings.to_vec())] {
            let before = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), before);
        }
        for Format { choice, endings, .. } in FORMATS {
            assert!(!choice.usage.is_empty() && !choice.about.is_empty(), "{}", choice.name);
            assert!(!endings.is_empty(), "{}", choice.name);
        }
        assert_eq!(FORMATS.iter().filter(|f| f.is_text).count(), 1);
    }
}
