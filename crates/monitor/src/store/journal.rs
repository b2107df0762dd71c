//! The journal: records, one behind the other, in files that start anew with every snapshot.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::{about, file_name, frame, numbered, sync_folder};
use crate::Error;

const PREFIX: &str = "journal-";
const MARK: &str = "acknowledged";

/// The journal while records are added.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    path: PathBuf,
    file: File,
    /// Bytes of the file that hold whole records.
    length: u64,
    /// The number of the last record, and of the last one that is durable.
    last: u64,
    durable: u64,
    mark: File,
    stopped: Option<String>,
}

/// A journal, and what was cut off its end.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) journal: Journal,
    /// Bytes of a record that was never finished.
    pub(crate) cut: u64,
    /// Records that were acknowledged and are gone; that was accepted.
    pub(crate) lost: u64,
}

impl Journal {
    /// Reads the records behind number `from`, and opens the journal for more.
    pub(crate) fn open(
        folder: &Path,
        from: u64,
        accept_loss: bool,
        mut take: impl FnMut(u64, &[u8], &Path) -> Result<(), Error>,
    ) -> Result<Opened, Error> {
        let (mark, acknowledged) = open_mark(folder)?;
        let files = numbered(folder, PREFIX)?;
        let (mut last, mut cut) = (from, 0);
        let mut open: Option<(PathBuf, u64)> = None;
        for (i, (first, path)) in files.iter().enumerate() {
            let is_last = i + 1 == files.len();
            let next = files.get(i + 1).map(|f| f.0);
            if next.is_some_and(|next| next <= from + 1) {
                continue;
            }
            if *first > last + 1 {
                let what = format!("records {} to {} are missing before it", last + 1, first - 1);
                return Err(Error::Damaged { path: path.clone(), at: 0, what });
            }
            let bytes = fs::read(path).map_err(|e| about(path, &e))?;
            let (mut rest, mut expected) = (&bytes[..], *first);
            while let Some((number, record, behind)) = frame::parse(rest) {
                if number != expected {
                    let at = (bytes.len() - rest.len()) as u64;
                    let what = format!("record {number} stands where {expected} is expected");
                    return Err(Error::Damaged { path: path.clone(), at, what });
                }
                if number > last {
                    take(number, record, path)?;
                    last = number;
                }
                (rest, expected) = (behind, expected + 1);
            }
            let whole = (bytes.len() - rest.len()) as u64;
            if !rest.is_empty() {
                let what = format!("record {expected} does not have its checksum");
                let damaged = Error::Damaged { path: path.clone(), at: whole, what };
                if !is_last || frame::any_beyond(rest, expected) {
                    return Err(damaged);
                }
                cut = rest.len() as u64;
            }
            open = Some((path.clone(), whole));
        }
        let lost = acknowledged.saturating_sub(last);
        if lost > 0 && !accept_loss {
            return Err(Error::Lost { folder: folder.to_owned(), found: last, acknowledged });
        }
        let (path, length) = open.unwrap_or_else(|| (folder.join(file_name(PREFIX, last + 1)), 0));
        let file = open_at(&path, length, cut > 0).map_err(|e| about(&path, &e))?;
        sync_folder(folder).map_err(|e| about(folder, &e))?;
        let folder = folder.to_owned();
        let journal = Self { folder, path, file, length, last, durable: last, mark, stopped: None };
        Ok(Opened { journal, cut, lost })
    }

    /// The number of the last record.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The number of the last durable record.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.length
    }

    pub(crate) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    fn going(&self) -> Result<(), Error> {
        self.stopped.clone().map_or(Ok(()), |why| Err(Error::Stopped(why)))
    }

    /// After an error nothing is known of the file, so nothing is added any more.
    fn stop(&mut self, path: &Path, error: &std::io::Error) -> Error {
        let why = format!("{}: {error}", path.display());
        self.stopped = Some(why.clone());
        Error::Stopped(why)
    }

    /// Adds a record, which is durable after the next [`Self::commit`].
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<u64, Error> {
        self.going()?;
        let number = self.last + 1;
        let Some(bytes) = frame::frame(number, record) else {
            let what = format!("a record of {} bytes is too long", record.len());
            return Err(Error::File { path: self.path.clone(), what });
        };
        if let Err(error) = self.file.write_all(&bytes) {
            // What was written of it goes; if that fails, it is cut off when the journal is opened again.
            let _ = self.file.set_len(self.length);
            return Err(self.stop(&self.path.clone(), &error));
        }
        self.length += bytes.len() as u64;
        self.last = number;
        Ok(number)
    }

    /// Makes all records durable.
    pub(crate) fn commit(&mut self) -> Result<u64, Error> {
        self.going()?;
        if self.durable == self.last {
            return Ok(self.durable);
        }
        if let Err(error) = self.file.sync_data() {
            return Err(self.stop(&self.path.clone(), &error));
        }
        if let Err(error) = write_mark(&mut self.mark, self.last) {
            return Err(self.stop(&self.folder.join(MARK), &error));
        }
        self.durable = self.last;
        Ok(self.durable)
    }

    /// Begins a new file behind a snapshot of everything so far.
    pub(crate) fn rotate(&mut self) -> Result<(), Error> {
        self.commit()?;
        let path = self.folder.join(file_name(PREFIX, self.last + 1));
        let file = open_at(&path, 0, false).and_then(|file| {
            sync_folder(&self.folder)?;
            Ok(file)
        });
        self.file = file.map_err(|e| about(&path, &e))?;
        (self.path, self.length) = (path, 0);
        Ok(())
    }

    /// Removes files whose records are all at or before a number.
    pub(crate) fn forget(&self, number: u64) -> Result<(), Error> {
        let files = numbered(&self.folder, PREFIX)?;
        for pair in files.windows(2) {
            if pair[1].0 <= number + 1 {
                fs::remove_file(&pair[0].1).map_err(|e| about(&pair[0].1, &e))?;
            }
        }
        Ok(())
    }
}

/// Opens a file to add to it behind its first bytes; what follows them goes.
fn open_at(path: &Path, length: u64, cuts: bool) -> std::io::Result<File> {
    let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
    if cuts {
        file.set_len(length)?;
        file.sync_all()?;
    }
    file.seek(SeekFrom::Start(length))?;
    Ok(file)
}

/// The file with the number of the last durable record, and that number; 0 if it can't be read.
fn open_mark(folder: &Path) -> Result<(File, u64), Error> {
    let path = folder.join(MARK);
    let number = fs::read(&path).ok().and_then(|bytes| frame::parse(&bytes).map(|f| f.0));
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    Ok((file.map_err(|e| about(&path, &e))?, number.unwrap_or(0)))
}

fn write_mark(file: &mut File, number: u64) -> std::io::Result<()> {
    let bytes = frame::frame(number, b"").unwrap_or_default();
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&bytes)
}
