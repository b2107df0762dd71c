//! Files that appear whole or not at all.

use std::{
    fs,
    io::{self, ErrorKind, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use crate::Error;

/// A file that takes its name when it is finished and is gone if it is dropped before; what had that name before
/// stays until then.
///
/// ```
/// use std::io::Write;
/// # let folder = std::env::temp_dir();
/// let mut file = taste_data::AtomicFile::create(&folder.join("report.txt"))?;
/// file.write_all(b"all is well")?;
/// file.finish()?;
/// # std::fs::remove_file(folder.join("report.txt"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: taste_files::AtomicFile,
}

/// Why a file can't be started.
#[derive(Debug)]
pub(crate) enum Refusal {
    Io(io::Error),
    NotAFile(&'static str),
    ReadOnly,
    NoFolder(PathBuf),
    Dangling(PathBuf),
}

impl Refusal {
    /// The rest of a sentence that starts with the file's name.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Io(e) if e.kind() == ErrorKind::PermissionDenied => {
                "it can't be written: files may not be made in its folder".to_owned()
            }
            Self::Io(e) => format!("it can't be written: {e}"),
            Self::NotAFile(what) => format!("it is {what}, not a file"),
            Self::ReadOnly => "it is there already and may not be changed".to_owned(),
            Self::NoFolder(folder) => format!("there is no folder {}", folder.display()),
            Self::Dangling(to) => format!("it is a link to {}, which is not there", to.display()),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(problem: io::Error) -> Self {
        Self::Io(problem)
    }
}

impl AtomicFile {
    /// Starts a file; its folder must be there. A link is written through.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::start(path).map_err(|refusal| Error::at(path, refusal.sentence()))
    }

    pub(crate) fn start(path: &Path) -> Result<Self, Refusal> {
        let before = fs::metadata(path).ok();
        // Through a link, and never in place of a device.
        let target = match &before {
            Some(found) if found.is_dir() => return Err(Refusal::NotAFile("a folder")),
            Some(found) if !found.is_file() => {
                return Err(Refusal::NotAFile("a pipe or a device"));
            }
            Some(found) if found.permissions().readonly() => return Err(Refusal::ReadOnly),
            Some(_) => fs::canonicalize(path)?,
            None => match fs::read_link(path) {
                Ok(to) => return Err(Refusal::Dangling(to)),
                Err(_) => path.to_owned(),
            },
        };
        if let Some(folder) = target.parent().filter(|f| !f.as_os_str().is_empty() && !f.is_dir()) {
            return Err(Refusal::NoFolder(folder.to_owned()));
        }
        let file = taste_files::AtomicFile::create(&target)?;
        if let Some(found) = before {
            file.set_permissions(found.permissions())?;
        }
        Ok(Self { file })
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<(), Error> {
        let target = self.path().to_owned();
        self.commit().map_err(|e| Error::write(&target.display().to_string(), e))
    }

    pub(crate) fn commit(self) -> io::Result<()> {
        self.file.commit()
    }

    /// The name that the file will have.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
