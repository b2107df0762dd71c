//! Files that are named, with wildcards or without.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

/// The files and folders that paths stand for: `*`, `?` and `[…]` in those that do not exist are filled in, in the order of
/// names.
pub(crate) fn expanded(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        let text = path.to_string_lossy();
        if path.exists() || !text.contains(['*', '?', '[']) {
            all.push(path.clone());
            continue;
        }
        let found = glob::glob(&text).map_err(|e| anyhow!("{text}: {e}"))?;
        let found: Vec<PathBuf> = found.filter_map(Result::ok).collect();
        if found.is_empty() {
            bail!("{text}: there is no such file or folder");
        }
        all.extend(found);
    }
    Ok(all)
}

/// Paths as a list for checks.
pub(crate) fn borrowed(paths: &[PathBuf]) -> impl Iterator<Item = &Path> {
    paths.iter().map(PathBuf::as_path)
}

/// Several paths in a few words.
pub(crate) fn shown(paths: &[PathBuf]) -> String {
    match paths {
        [] => String::new(),
        [one] => one.display().to_string(),
        [first, .., last] => format!("{} … {}", first.display(), last.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_filled_in_unless_a_file_has_that_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["b.csv", "a.csv", "c.npy", "x[1].csv"] {
            std::fs::write(path(name), "1").expect("a file");
        }
        let found = expanded(&[path("?.csv"), path("x[1].csv"), path("gone.npy")]).expect("files");
        assert_eq!(found, [path("a.csv"), path("b.csv"), path("x[1].csv"), path("gone.npy")]);
        assert!(expanded(&[path("*.parquet")]).is_err());
    }
}
