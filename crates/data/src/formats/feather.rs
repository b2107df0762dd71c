//! Arrow files, which pandas calls Feather: columns of numbers, of words, and of lists of numbers.

use std::{
    fs::File,
    io::BufReader,
    panic::{AssertUnwindSafe, catch_unwind},
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use taste_choice::Choice;
use taste_files::message::shortened;

use super::{
    Format, Found, ends, folder,
    records::{ColumnTable, Columnar, RecordBatches},
};
use crate::{Error, Options, origin::Origin, source::Source};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "feather",
        usage: "x.feather, x.arrow, or a folder of them",
        about: "an Arrow file or stream: a table of numbers, words and lists of numbers",
    },
    endings: &[".feather", ".arrow", ".ipc"],
    files: ["Arrow file", "Arrow files"],
    starts: Some(|bytes| bytes.starts_with(b"ARROW1") || bytes.starts_with(&CONTINUED)),
    is_text: false,
    in_folder: |name| ends(name, &[".feather", ".arrow", ".ipc"]),
    together: Some(folder::by_name),
    open,
};

/// What every message of a stream starts with.
const CONTINUED: [u8; 4] = [0xff; 4];

#[derive(Debug)]
struct Feather {
    origin: Origin,
    /// Whether it is a stream, which has no footer.
    is_stream: bool,
}

/// Reads batch by batch.
enum Reader {
    File(FileReader<BufReader<File>>),
    Stream(StreamReader<BufReader<File>>),
}

impl Reader {
    fn schema(&self) -> SchemaRef {
        match self {
            Self::File(reader) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
        }
    }

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Self::File(reader) => reader.next(),
            Self::Stream(reader) => reader.next(),
        }
    }
}

impl Feather {
    fn reader(&self, columns: Option<Vec<usize>>) -> Result<Reader, Error> {
        let file = File::open(self.origin.path()).map_err(|e| self.origin.error(e))?;
        let file = BufReader::new(file);
        self.guarded(|| {
            Ok(if self.is_stream {
                Reader::Stream(StreamReader::try_new(file, columns)?)
            } else {
                Reader::File(FileReader::try_new(file, columns)?)
            })
        })
    }

    /// Runs a part of the decoder, which panics on some damaged files.
    fn guarded<T>(&self, decode: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, Error> {
        guarded(&self.origin, decode)
    }
}

const ZSTD: &str = "its columns are compressed with Zstandard, which this build does not read: write it with lz4, or build \
                    with the feature zstd";

fn guarded<T>(origin: &Origin, decode: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(decoded) => decoded.map_err(|e| {
            let text = e.to_string();
            let line = text.lines().next().unwrap_or_default();
            let core = line.rsplit("error: ").next().unwrap_or(line);
            // Decoders that are not built in are told by their features.
            if core.contains("requires the zstd feature") {
                return origin.error(ZSTD);
            }
            origin.error(format!("the Arrow file can't be read: {}", shortened(core, 160)))
        }),
        Err(_) => Err(origin.error("the Arrow file can't be read: it is damaged")),
    }
}

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    origin.must_be_plain("an Arrow file")?;
    let is_stream = found.opening.starts_with(&CONTINUED);
    let feather = Feather { origin: origin.clone(), is_stream };
    let reader = feather.reader(None)?;
    let fields = reader.schema().fields().clone();
    // The footer has no number of rows; without columns a batch is only counted.
    let mut rows = 0;
    let mut counting = feather.reader(Some(Vec::new()))?;
    while let Some(batch) = feather.guarded(|| counting.next().transpose())? {
        rows += batch.num_rows();
    }
    Ok(Box::new(ColumnTable::open(origin, feather, &fields, rows, options)?))
}

impl Columnar for Feather {
    fn batches(&self, columns: &[usize], most: usize) -> Result<RecordBatches, Error> {
        let mut reader = self.reader(Some(columns.to_vec()))?;
        let (origin, most) = (self.origin.clone(), most.max(1));
        let mut rest: Option<RecordBatch> = None;
        // Batches are as long as the writer made them.
        let mut next = move || -> Result<Option<RecordBatch>, Error> {
            loop {
                let batch = match rest.take() {
                    Some(batch) => batch,
                    None => match guarded(&origin, || reader.next().transpose())? {
                        Some(batch) => batch,
                        None => return Ok(None),
                    },
                };
                let rows = batch.num_rows();
                if rows > most {
                    rest = Some(batch.slice(most, rows - most));
                    return Ok(Some(batch.slice(0, most)));
                }
                if rows > 0 {
                    return Ok(Some(batch));
                }
            }
        };
        Ok(Box::new(std::iter::from_fn(move || next().transpose())))
    }
}
