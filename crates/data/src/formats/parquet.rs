//! Parquet: columns of numbers, of words, and of lists of numbers.

use std::{
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    basic::Compression,
    errors::ParquetError,
    file::metadata::RowGroupMetaData,
};
use taste_choice::Choice;
use taste_files::message::shortened;

use super::{
    Format, Found, ends, folder,
    records::{ColumnTable, Columnar, RecordBatches},
};
use crate::{Error, Options, origin::Origin, source::Source};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "parquet",
        usage: "x.parquet, or a folder of them",
        about: "a table of numbers, words and lists of numbers",
    },
    endings: &[".parquet", ".pq"],
    files: ["Parquet file", "Parquet files"],
    starts: Some(|bytes| bytes.starts_with(b"PAR1")),
    is_text: false,
    in_folder: |name| ends(name, &[".parquet", ".pq"]),
    together: Some(folder::by_name),
    open,
};

#[derive(Debug)]
struct Parquet {
    origin: Origin,
    metadata: ArrowReaderMetadata,
}

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    origin.must_be_plain("a Parquet file")?;
    let file = open_plain(origin.path())?;
    // Without the writer's own schema types are few: dictionaries are what they hold, for instance.
    let reading = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guarded(&origin, || ArrowReaderMetadata::load(&file, reading))?;
    check_places(&origin, &metadata)?;
    let fields = metadata.schema().fields().clone();
    let rows = usize::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    let parquet = Parquet { origin: origin.clone(), metadata };
    Ok(Box::new(ColumnTable::open(origin, parquet, &fields, rows, options)?))
}

impl Columnar for Parquet {
    fn batches(&self, columns: &[usize], most: usize) -> Result<RecordBatches, Error> {
        let file = open_plain(self.origin.path())?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        let builder = builder.with_projection(mask).with_batch_size(most);
        let mut batches = guarded(&self.origin, || builder.build())?;
        let origin = self.origin.clone();
        let next = move || guarded(&origin, || Ok(batches.next().transpose()?)).transpose();
        Ok(Box::new(std::iter::from_fn(next)))
    }
}

fn open_plain(path: &Path) -> Result<File, Error> {
    File::open(path).map_err(|e| Error::at(path, e))
}

fn refused(origin: &Origin, problem: &ParquetError) -> Error {
    let problem = problem.to_string();
    let line = problem.lines().next().unwrap_or_default();
    // Errors come wrapped in the names of the layers that they went through.
    let core = line.rsplit("error: ").next().unwrap_or(line);
    origin.error(format!("the Parquet file can't be read: {}", shortened(core, 160)))
}

/// Runs a part of the decoder, which panics on some damaged files.
fn guarded<T>(
    origin: &Origin,
    decode: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(decoded) => decoded.map_err(|e| refused(origin, &e)),
        Err(_) => Err(origin.error("the Parquet file can't be read: its pages are damaged")),
    }
}

/// Columns must lie within the file.
fn check_places(origin: &Origin, metadata: &ArrowReaderMetadata) -> Result<(), Error> {
    let length = origin.length().and_then(|n| i64::try_from(n).ok()).unwrap_or(i64::MAX);
    for column in metadata.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        check_codec(origin, column.compression())?;
        let inside =
            start >= 0 && column.compressed_size() >= 0 && end.is_some_and(|e| e <= length);
        if !inside {
            return Err(origin.error("the Parquet file can't be read: a column lies outside of it"));
        }
    }
    Ok(())
}

/// Pages must be compressed in a way that this build reads.
fn check_codec(origin: &Origin, codec: Compression) -> Result<(), Error> {
    let (name, hint) = match codec {
        Compression::ZSTD(_) if !cfg!(feature = "zstd") => {
            ("Zstandard", ", or build with the feature zstd")
        }
        Compression::BROTLI(_) => ("Brotli", ""),
        Compression::LZO => ("LZO", ""),
        _ => return Ok(()),
    };
    Err(origin.error(format!(
        "its pages are compressed with {name}, which this build does not read: write it with snappy{hint}"
    )))
}
