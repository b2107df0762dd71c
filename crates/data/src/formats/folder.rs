//! Folders: images by class, or the parts of a data set.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{FORMATS, Format, images, open_file};
use crate::{Error, Options, Problem, source::Source};

/// No data set is nested as deeply as this.
const MOST_DEPTH: usize = 32;

/// The format of a file in a folder, as far as its name tells.
fn format_of(path: &Path) -> Option<&'static Format> {
    let name = plain_name(path);
    FORMATS.iter().find(|format| (format.in_folder)(&name))
}

/// Opens what a folder holds: the batches of CIFAR, the images below it, or tables and arrays of one kind.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Vec<Box<dyn Source>>, Error> {
    let entries = listed(path).map_err(|e| Error::at(path, e))?;
    let files: Vec<PathBuf> = entries.into_iter().filter(|p| p.is_file()).collect();
    let parts = parts(&files).map_err(|problem| Error::at(path, problem))?;
    if !parts.is_empty() {
        return parts.iter().map(|file| open_file(file, options)).collect();
    }
    let mut found = Found::default();
    walk(path, &mut Vec::new(), &mut found).map_err(|e| Error::at(path, e))?;
    let Found { images, others } = found;
    if images.is_empty() {
        return Err(Error::at(
            path,
            "the folder holds no data: no PNG, JPEG, WebP or TIFF images, no CIFAR batches, no IDX files, no tables and no arrays",
        ));
    }
    let classes = classes(path, &images).filter(|_| options.labels);
    Ok(vec![images::open_files(path, images, classes, others, options)?])
}

/// The data sets in a folder, where each of its arrays and tables is one, in the order of their names; the folder itself
/// where it is one data set, as a folder of images is.
pub fn sets_in(path: &Path) -> Result<Vec<PathBuf>, Error> {
    const APART: [&str; 6] = ["npy", "npz", "csv", "parquet", "feather", "jsonl"];
    let entries = listed(path).map_err(|e| Error::at(path, e))?;
    let is_set = |file: &PathBuf| {
        let format = format_of(file).filter(|_| file.is_file());
        format.is_some_and(|format| APART.contains(&format.choice.name))
    };
    let sets: Vec<PathBuf> = entries.into_iter().filter(is_set).collect();
    Ok(if sets.is_empty() { vec![path.to_owned()] } else { sets })
}

/// The files of a data set that lies directly in a folder, if it is one and not a set of images.
fn parts(files: &[PathBuf]) -> Result<Vec<PathBuf>, Problem> {
    // By what files are called: arrays alone and in archives go together.
    let mut kinds: Vec<(&Format, Vec<PathBuf>)> = Vec::new();
    for format in FORMATS {
        let is_of = |file: &&PathBuf| format_of(file).is_some_and(|f| f.choice == format.choice);
        let own = files.iter().filter(is_of).cloned();
        match kinds.iter_mut().find(|(first, _)| first.files == format.files) {
            Some((_, files)) => files.extend(own),
            None => kinds.push((format, own.collect())),
        }
    }
    kinds.retain(|(_, files)| !files.is_empty());
    if kinds.len() > 1 {
        let counted = |(format, files): &(&Format, Vec<PathBuf>)| {
            let [one, several] = format.files;
            format!("{} {}", files.len(), if files.len() == 1 { one } else { several })
        };
        let counted: Vec<String> = kinds.iter().map(counted).collect();
        return Err(Problem::Format(format!(
            "the folder holds {}, and which of them are the data is not clear: name a file, or a folder with one kind \
             of file",
            counted.join(" and ")
        )));
    }
    match kinds.pop() {
        Some((Format { together: Some(together), .. }, files)) => together(files),
        _ => Ok(Vec::new()),
    }
}

/// All files, in the order of their names.
#[expect(clippy::unnecessary_wraps, reason = "one of the ways to put files together")]
pub(super) fn by_name(mut files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Problem> {
    files.sort();
    Ok(files)
}

/// All files, `x_9` before `x_10`.
#[expect(clippy::unnecessary_wraps, reason = "one of the ways to put files together")]
pub(super) fn by_number(mut files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Problem> {
    files.sort_by_key(|path| (plain_name(path).len(), path.clone()));
    Ok(files)
}

/// The file's name without `.gz`, in small letters.
pub(super) fn plain_name(path: &Path) -> String {
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

/// What lies at or below a folder, sorted by path.
#[derive(Default)]
struct Found {
    images: Vec<PathBuf>,
    /// Files that are none.
    others: Vec<PathBuf>,
}

/// All files at or below a folder. Links are followed, but not in circles.
fn walk(path: &Path, above: &mut Vec<PathBuf>, found: &mut Found) -> io::Result<()> {
    let real = fs::canonicalize(path)?;
    if above.contains(&real) || above.len() > MOST_DEPTH {
        return Ok(());
    }
    above.push(real);
    for entry in listed(path)? {
        if entry.is_dir() {
            walk(&entry, above, found)?;
        } else if format_of(&entry).is_some_and(|format| format.together.is_none()) {
            found.images.push(entry);
        } else {
            found.others.push(entry);
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
