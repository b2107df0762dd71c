//! Arrow files, which pandas calls Feather: columns of numbers, of words, and of lists of numbers.

use std::{
    fs::File,
    io::BufReader,
    panic::{AssertUnwindSafe, catch_unwind},
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_schema::ArrowError;
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
        about: "an Arrow file: a table of numbers, words and lists of numbers",
    },
    endings: &[".feather", ".arrow", ".ipc"],
    files: ["Arrow file", "Arrow files"],
    starts: Some(|bytes| bytes.starts_with(b"ARROW1")),
    is_text: false,
    in_folder: |name| ends(name, &[".feather", ".arrow", ".ipc"]),
    together: Some(folder::by_name),
    open,
};

#[derive(Debug)]
struct Feather {
    origin: Origin,
}

type Reader = FileReader<BufReader<File>>;

impl Feather {
    fn reader(&self, columns: Option<Vec<usize>>) -> Result<Reader, Error> {
        let file = File::open(self.origin.path()).map_err(|e| self.origin.error(e))?;
        self.guarded(|| FileReader::try_new(BufReader::new(file), columns))
    }

    /// Runs a part of the decoder, which panics on some damaged files.
    fn guarded<T>(&self, decode: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, Error> {
        guarded(&self.origin, decode)
    }
}

fn guarded<T>(origin: &Origin, decode: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(decoded) => decoded.map_err(|e| {
            let text = e.to_string();
            let line = text.lines().next().unwrap_or_default();
            let core = line.rsplit("error: ").next().unwrap_or(line);
            origin.error(format!("the Arrow file can't be read: {}", shortened(core, 160)))
        }),
        Err(_) => Err(origin.error("the Arrow file can't be read: it is damaged")),
    }
}

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    origin.must_be_plain("an Arrow file")?;
    let feather = Feather { origin: origin.clone() };
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
