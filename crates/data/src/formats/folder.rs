//! Folders: images by class, or the parts of a data set.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{images, open_file};
use crate::{Error, Options, origin::described, source::Source};

/// No data set is nested as deeply as this.
const MOST_DEPTH: usize = 32;

/// What a file in a folder holds, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Cifar,
    Idx,
    Parquet,
    Csv,
    NumPy,
    Picture,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let name = plain_name(path);
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        Some(match () {
            () if ends(&[".bin"]) => Self::Cifar,
            () if ends(&["-ubyte"]) && name.contains("images") => Self::Idx,
            () if ends(&[".parquet", ".pq"]) => Self::Parquet,
            () if ends(&[".csv", ".tsv"]) => Self::Csv,
            () if ends(&[".npy", ".npz"]) && !ends(&["-labels.npy"]) => Self::NumPy,
            () if ends(&[".png", ".jpg", ".jpeg"]) => Self::Picture,
            () => return None,
        })
    }

    /// `1 CSV file`, `2 CSV files`.
    fn counted(self, count: usize) -> String {
        let (one, several) = match self {
            Self::Cifar => ("CIFAR batch", "CIFAR batches"),
            Self::Idx => ("IDX file of images", "IDX files of images"),
            Self::Parquet => ("Parquet file", "Parquet files"),
            Self::Csv => ("CSV file", "CSV files"),
            Self::NumPy => ("NumPy file", "NumPy files"),
            Self::Picture => ("picture", "pictures"),
        };
        format!("{count} {}", if count == 1 { one } else { several })
    }
}

/// Opens what a folder holds: the batches of CIFAR, the images below it, or tables and arrays of one kind.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Vec<Box<dyn Source>>, Error> {
    let entries = listed(path).map_err(|e| Error::at(path, described(&e)))?;
    let files: Vec<&PathBuf> = entries.iter().filter(|p| p.is_file()).collect();
    let parts = parts(path, &files)?;
    if !parts.is_empty() {
        return parts.into_iter().map(|file| open_file(file, options)).collect();
    }
    let mut images = Vec::new();
    walk(path, &mut Vec::new(), &mut images).map_err(|e| Error::at(path, described(&e)))?;
    if images.is_empty() {
        return Err(Error::at(
            path,
            "the folder holds no data: no PNG or JPEG images, no CIFAR batches, no IDX files, no tables and no arrays",
        ));
    }
    let classes = classes(path, &images);
    Ok(vec![images::open_files(path, images, classes, options)?])
}

/// The files of a data set that lies directly in a folder, if it is one and not a set of pictures.
fn parts<'a>(path: &Path, files: &[&'a PathBuf]) -> Result<Vec<&'a PathBuf>, Error> {
    let mut kinds: BTreeMap<Kind, Vec<&PathBuf>> = BTreeMap::new();
    for &file in files {
        if let Some(kind) = Kind::of(file) {
            kinds.entry(kind).or_default().push(file);
        }
    }
    if kinds.len() > 1 {
        let counted: Vec<String> = kinds.iter().map(|(kind, f)| kind.counted(f.len())).collect();
        return Err(Error::at(
            path,
            format!(
                "the folder holds {}, and which of them are the data is not clear: name a file, or a folder with one \
                 kind of file",
                counted.join(" and ")
            ),
        ));
    }
    let Some((kind, mut parts)) = kinds.pop_first() else { return Ok(Vec::new()) };
    match kind {
        Kind::Picture => return Ok(Vec::new()),
        Kind::Parquet | Kind::Csv => return Ok(parts),
        Kind::Idx if parts.len() > 1 => {
            let names: Vec<String> = parts.iter().map(|p| p.display().to_string()).collect();
            return Err(Error::at(path, format!("choose one of {}", names.join(", "))));
        }
        Kind::Cifar => {
            let is_train = |p: &&PathBuf| {
                let name = plain_name(p);
                name == "train.bin" || name.starts_with("data_batch_")
            };
            if parts.iter().any(is_train) {
                parts.retain(is_train);
            }
        }
        Kind::Idx | Kind::NumPy => {}
    }
    // data_batch_10 comes after data_batch_9.
    parts.sort_by_key(|p| (plain_name(p).len(), (*p).clone()));
    Ok(parts)
}

fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.strip_suffix(".gz").unwrap_or(&name).to_owned()
}

/// What is in a folder, sorted, without hidden files.
fn listed(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            entries.push(entry.path());
        }
    }
    entries.sort();
    Ok(entries)
}

/// All images at or below a folder, sorted by path. Links are followed, but not in circles.
fn walk(path: &Path, above: &mut Vec<PathBuf>, images: &mut Vec<PathBuf>) -> io::Result<()> {
    let real = fs::canonicalize(path)?;
    if above.contains(&real) || above.len() > MOST_DEPTH {
        return Ok(());
    }
    above.push(real);
    for entry in listed(path)? {
        if entry.is_dir() {
            walk(&entry, above, images)?;
        } else if Kind::of(&entry) == Some(Kind::Picture) {
            images.push(entry);
        }
    }
    above.pop();
    Ok(())
}

/// The number of the subfolder that each image is in, in the sorted order of those with images, if all are in one.
fn classes(root: &Path, images: &[PathBuf]) -> Option<Vec<i64>> {
    let folder = |image: &PathBuf| {
        let mut below = image.strip_prefix(root).ok()?.components();
        let first = below.next()?.as_os_str().to_owned();
        below.next().map(|_| first)
    };
    let folders: Vec<_> = images.iter().map(folder).collect::<Option<_>>()?;
    let mut names = folders.clone();
    names.sort();
    names.dedup();
    let number = |f| names.binary_search(f).ok().and_then(|n| i64::try_from(n).ok());
    folders.iter().map(number).collect()
}
