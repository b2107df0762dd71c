//! Standard input: copied to a file without a name, as data are gone through more than once.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
    sync::OnceLock,
};

use crate::Error;

/// What stands for standard input among paths.
pub(crate) const STANDARD: &str = "-";

/// The copy, or why there is none.
static COPY: OnceLock<Result<File, String>> = OnceLock::new();

/// What a path is called in messages.
pub(crate) fn shown(path: &Path) -> String {
    if path == Path::new(STANDARD) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// A reader of standard input from its first byte on, as often as needed.
#[derive(Debug)]
pub(crate) struct Standard {
    file: &'static File,
    at: u64,
}

/// Opens standard input; all of it is read when this is called first.
pub(crate) fn open() -> Result<Standard, Error> {
    match COPY.get_or_init(|| copied().map_err(|e| e.to_string())) {
        Ok(file) => Ok(Standard { file, at: 0 }),
        Err(reason) => Err(Error::new("standard input", reason.clone())),
    }
}

fn copied() -> io::Result<File> {
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        return Err(io::Error::other("it is a terminal: pipe a file into it"));
    }
    let mut file = tempfile::tempfile()?;
    io::copy(&mut input, &mut file)?;
    Ok(file)
}

impl Standard {
    /// The first bytes, at most `most`.
    pub(crate) fn opening(self, most: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let read = self.take(most).read_to_end(&mut bytes);
        read.map_err(|e| Error::new("standard input", e))?;
        Ok(bytes)
    }
}

impl Read for Standard {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = read_at(self.file, into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, at)
}
