//! Where bytes come from: a file, a compressed file, a member of an archive.

use std::{
    fs::{self, File},
    io::{self, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use flate2::{
    CrcReader,
    bufread::{DeflateDecoder, MultiGzDecoder},
};

use crate::{
    Error, Problem,
    standard::{self, STANDARD},
};

/// Bytes that can be read from the first on, as often as needed.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Plain {
        length: u64,
    },
    Gzip,
    /// Standard input, compressed with gzip or not.
    Standard {
        gzip: bool,
    },
    Member(Member),
    /// Bytes that came without a file.
    Memory(Arc<[u8]>),
}

/// A member of a zip archive.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) start: u64,
    pub(crate) stored: u64,
    pub(crate) deflated: bool,
    pub(crate) crc: u32,
}

impl Origin {
    /// A file, compressed with gzip or not, or `-` for standard input.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        if path == Path::new(STANDARD) {
            let gzip = standard::open()?.opening(2)? == [0x1f, 0x8b];
            return Ok(Self { path: path.to_owned(), kind: Kind::Standard { gzip } });
        }
        let refused = |e: io::Error| Error::at(path, e);
        // Before opening: opening a pipe would block.
        let metadata = fs::metadata(path).map_err(refused)?;
        if !metadata.is_file() {
            let what = if metadata.is_dir() { "a folder" } else { "a pipe or a device" };
            return Err(Error::at(path, format!("it is {what}, not a file")));
        }
        let mut opening = Vec::new();
        File::open(path).and_then(|f| f.take(2).read_to_end(&mut opening)).map_err(refused)?;
        let kind = match opening[..] {
            [0x1f, 0x8b] => Kind::Gzip,
            _ => Kind::Plain { length: metadata.len() },
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// A member of an archive.
    pub(crate) fn member(archive: &Path, member: Member) -> Self {
        Self { path: archive.to_owned(), kind: Kind::Member(member) }
    }

    /// Bytes that came without a file, under a name for messages.
    pub(crate) fn memory(name: &str, bytes: Arc<[u8]>) -> Self {
        Self { path: PathBuf::from(name), kind: Kind::Memory(bytes) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file's name without `.gz`, in small letters.
    pub(crate) fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        name.strip_suffix(".gz").unwrap_or(&name).to_owned()
    }

    /// How many bytes there are, if that is known without reading them.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.kind {
            Kind::Plain { length } => Some(length),
            Kind::Gzip | Kind::Standard { .. } | Kind::Member(_) | Kind::Memory(_) => None,
        }
    }

    /// The first bytes, at most `most`.
    pub(crate) fn opening(&self, most: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.open()?.take(most).read_to_end(&mut bytes).map_err(|e| self.error(e))?;
        Ok(bytes)
    }

    /// All bytes, from the first on.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send>, Error> {
        if let Kind::Standard { gzip } = self.kind {
            let input = standard::open()?;
            if gzip {
                return Ok(Box::new(MultiGzDecoder::new(BufReader::new(input))));
            }
            return Ok(Box::new(input));
        }
        if let Kind::Memory(bytes) = &self.kind {
            return Ok(Box::new(Cursor::new(Arc::clone(bytes))));
        }
        let inner = || -> io::Result<Box<dyn Read + Send>> {
            let mut file = File::open(&self.path)?;
            Ok(match &self.kind {
                Kind::Plain { .. } | Kind::Standard { .. } | Kind::Memory(_) => Box::new(file),
                Kind::Gzip => Box::new(MultiGzDecoder::new(BufReader::new(file))),
                Kind::Member(member) => {
                    file.seek(SeekFrom::Start(member.start))?;
                    let stored = BufReader::new(file.take(member.stored));
                    let bytes: Box<dyn Read + Send> = if member.deflated {
                        Box::new(DeflateDecoder::new(stored))
                    } else {
                        Box::new(stored)
                    };
                    Box::new(Checked { inner: CrcReader::new(bytes), crc: member.crc })
                }
            })
        };
        inner().map_err(|e| self.error(e))
    }

    /// What is wrong with these bytes.
    pub(crate) fn error(&self, problem: impl Into<Problem>) -> Error {
        match &self.kind {
            Kind::Member(m) => {
                Error::new(format!("{}: member {:?}", self.path.display(), m.name), problem)
            }
            _ => Error::new(self.name(), problem),
        }
    }

    /// What the file is called in messages.
    pub(crate) fn name(&self) -> String {
        standard::shown(&self.path)
    }

    /// Fails unless the file can be read from any place on.
    pub(crate) fn must_be_plain(&self, what: &str) -> Result<(), Error> {
        match self.kind {
            Kind::Plain { .. } => Ok(()),
            Kind::Standard { .. } | Kind::Memory(_) => Err(self.error(format!(
                "it holds {what}, which can't be read from there: CSV and JSON lines can"
            ))),
            Kind::Gzip | Kind::Member(_) => Err(self.error(format!(
                "{what} can't be read while it is compressed as a whole: unpack it"
            ))),
        }
    }
}

/// What the system or a decoder says, in words.
pub(crate) fn described(problem: &io::Error) -> String {
    match problem.kind() {
        ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        ErrorKind::UnexpectedEof => "the file is cut off".to_owned(),
        ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            format!("its compressed data are damaged ({problem})")
        }
        _ => problem.to_string(),
    }
}

/// Bytes whose checksum is compared at their end.
struct Checked {
    inner: CrcReader<Box<dyn Read + Send>>,
    crc: u32,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        if read == 0 && !into.is_empty() && self.inner.crc().sum() != self.crc {
            return Err(io::Error::new(ErrorKind::InvalidData, "wrong checksum"));
        }
        Ok(read)
    }
}
