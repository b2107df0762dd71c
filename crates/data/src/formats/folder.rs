//! Folders: images by class, or the parts of a data set.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{images, open_file};
use crate::{Error, Options, origin::described, source::Source};

/// No data set is nested as deeply as this.
const MOST_DEPTH: usize = 32;

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

/// The files of a data set that lies directly in a folder, if it is one.
fn parts<'a>(path: &Path, files: &[&'a PathBuf]) -> Result<Vec<&'a PathBuf>, Error> {
    let named = |matches: &dyn Fn(&str) -> bool| -> Vec<&'a PathBuf> {
        let mut found: Vec<_> = files.iter().copied().filter(|p| matches(&plain_name(p))).collect();
        // data_batch_10 comes after data_batch_9.
        found.sort_by_key(|p| (plain_name(p).len(), (*p).clone()));
        found
    };
    let ends = |name: &str, ending: &str| name.strip_suffix(ending).is_some();
    let cifar_train = named(&|name| {
        name == "train.bin" || (name.starts_with("data_batch_") && ends(name, ".bin"))
    });
    if !cifar_train.is_empty() {
        return Ok(cifar_train);
    }
    let cifar = named(&|name| ends(name, ".bin"));
    if !cifar.is_empty() {
        return Ok(cifar);
    }
    let idx = named(&|name| name.contains("images") && name.ends_with("-ubyte"));
    if idx.len() > 1 {
        let names: Vec<String> = idx.iter().map(|p| p.display().to_string()).collect();
        return Err(Error::at(path, format!("choose one of {}", names.join(", "))));
    }
    if !idx.is_empty() {
        return Ok(idx);
    }
    for ending in [".parquet", ".csv", ".tsv"] {
        let mut tables = named(&|name| name.ends_with(ending));
        if !tables.is_empty() {
            tables.sort();
            return Ok(tables);
        }
    }
    Ok(named(&|name| ends(name, ".npy") && !ends(name, "-labels.npy")))
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
        } else if is_image(&entry) {
            images.push(entry);
        }
    }
    above.pop();
    Ok(())
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    matches!(extension.as_str(), "png" | "jpg" | "jpeg")
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
