//! What stands under a name that a file is to have, and why it may not be replaced.

use std::{
    fs::{self, Permissions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// A file to be made or replaced.
pub(crate) struct Target {
    /// Behind any links.
    pub(crate) path: PathBuf,
    /// Who may read and write what is there.
    pub(crate) permissions: Option<Permissions>,
}

impl Target {
    /// Errors read as the rest of a sentence that starts with the file's name.
    pub(crate) fn of(name: &Path) -> io::Result<Self> {
        let refused = |kind: ErrorKind, why: String| Err(io::Error::new(kind, why));
        let Ok(found) = fs::metadata(name) else {
            if let Ok(to) = fs::read_link(name) {
                let why = format!("it is a link to {}, which is not there", to.display());
                return refused(ErrorKind::NotFound, why);
            }
            let folder = folder_of(name);
            if !folder.is_dir() {
                let why = format!("there is no folder {}", folder.display());
                return refused(ErrorKind::NotFound, why);
            }
            return Ok(Self { path: name.to_owned(), permissions: None });
        };
        if !found.is_file() {
            let what = if found.is_dir() { "a folder" } else { "a pipe or a device" };
            return refused(ErrorKind::InvalidInput, format!("it is {what}, not a file"));
        }
        let permissions = found.permissions();
        if permissions.readonly() {
            let why = "it is there already and may not be changed".to_owned();
            return refused(ErrorKind::PermissionDenied, why);
        }
        Ok(Self { path: fs::canonicalize(name)?, permissions: Some(permissions) })
    }
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
