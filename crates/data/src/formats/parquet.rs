//! Parquet: columns of numbers, and of lists of numbers.

use std::{
    fs::File,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{
        Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;
use ndarray::{ArrayD, IxDyn};
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
            ParquetRecordBatchReaderBuilder,
        },
    },
    basic::Compression,
    errors::ParquetError,
    file::metadata::RowGroupMetaData,
};

use taste_choice::Choice;
use taste_files::message::shortened;

use super::{
    Format, Found, ends, folder,
    text::{cells, has_text},
};
use crate::{
    Error, Keep, Layout, Options, Problem,
    columns::{Selection, select},
    error::MOST_NAME,
    origin::Origin,
    source::{Batches, Facts, MOST_ELEMENTS, Rows, Source},
};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "parquet",
        usage: "x.parquet, or a folder of them",
        about: "a table of numbers and of lists of numbers",
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
struct Table {
    origin: Origin,
    metadata: ArrowReaderMetadata,
    names: Vec<String>,
    selection: Selection,
    /// How many entries of a sample each taken column gives: 1, or the length of its lists.
    widths: Vec<usize>,
    count: usize,
    facts: Facts,
}

/// Names are not made up for the entries of lists longer than this.
const MOST_NAMES: usize = 4096;

/// The name that pandas gives to numbers of rows.
const ROW_NUMBERS: &str = "__index_level_0__";

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    if origin.length().is_none() {
        return Err(origin
            .error("a Parquet file can't be read while it is compressed as a whole: unpack it"));
    }
    let file = open_plain(origin.path())?;
    // Without the writer's own schema types are few: dictionaries are what they hold, for instance.
    let reading = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guarded(&origin, || ArrowReaderMetadata::load(&file, reading))?;
    check_places(&origin, &metadata)?;
    let fields = metadata.schema().fields();
    let names: Vec<String> = fields.iter().map(|f| f.name().clone()).collect();
    let numbers_of_rows = names.iter().position(|name| name == ROW_NUMBERS);
    let selection = select(&names, true, numbers_of_rows, options).map_err(|e| origin.error(e))?;
    for &column in selection.taken.iter().chain(&selection.label) {
        let field = &fields[column];
        let list = item(field.data_type()).is_some() && selection.label != Some(column);
        if !is_number(field.data_type()) && !list {
            return Err(origin.error(Problem::NotNumbers {
                column: shortened(field.name(), MOST_NAME),
                holds: shortened(&field.data_type().to_string(), MOST_NAME),
            }));
        }
    }
    if let Some(&column) = selection.kept.iter().find(|&&c| !has_text(fields[c].data_type())) {
        return Err(origin.error(Problem::NotText {
            column: shortened(fields[column].name(), MOST_NAME),
            holds: shortened(&fields[column].data_type().to_string(), MOST_NAME),
        }));
    }
    let bytes =
        selection.taken.iter().all(|&c| item(fields[c].data_type()) == Some(&DataType::UInt8));
    let rows = metadata.metadata().file_metadata().num_rows();
    let count = usize::try_from(rows).ok().filter(|&n| n > 0);
    let count = count.ok_or_else(|| origin.error("it holds no rows"))?;
    let taken = Some(selection.taken.iter().map(|&c| names[c].clone()).collect());
    let facts = Facts { sample: Vec::new(), bytes, layout: Layout::Auto, columns: None, taken };
    let mut table = Table { origin, metadata, names, selection, widths: Vec::new(), count, facts };
    table.widths = table.find_widths()?;
    let width: usize = table.widths.iter().sum();
    table.facts.sample = vec![width];
    table.facts.columns = (width <= MOST_NAMES).then(|| table.entry_names());
    Ok(Box::new(table))
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

fn is_number(kind: &DataType) -> bool {
    kind.is_integer()
        || matches!(
            kind,
            DataType::Boolean | DataType::Float16 | DataType::Float32 | DataType::Float64
        )
}

/// The type of a list's entries, if they are numbers.
fn item(kind: &DataType) -> Option<&DataType> {
    match kind {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Some(field.data_type()).filter(|kind| is_number(kind))
        }
        _ => None,
    }
}

/// Numbers in double precision, NaN where there are none.
fn numbers(array: &dyn Array) -> Option<Vec<f64>> {
    macro_rules! widened {
        ($type:ty, $widen:expr) => {
            array.as_primitive::<$type>().iter().map(|v| v.map_or(f64::NAN, $widen)).collect()
        };
    }
    Some(match array.data_type() {
        DataType::Boolean => {
            array.as_boolean().iter().map(|v| v.map_or(f64::NAN, f64::from)).collect()
        }
        DataType::Int8 => widened!(Int8Type, f64::from),
        DataType::Int16 => widened!(Int16Type, f64::from),
        DataType::Int32 => widened!(Int32Type, f64::from),
        DataType::Int64 => widened!(Int64Type, |v| v as f64),
        DataType::UInt8 => widened!(UInt8Type, f64::from),
        DataType::UInt16 => widened!(UInt16Type, f64::from),
        DataType::UInt32 => widened!(UInt32Type, f64::from),
        DataType::UInt64 => widened!(UInt64Type, |v| v as f64),
        DataType::Float16 => widened!(Float16Type, f64::from),
        DataType::Float32 => widened!(Float32Type, f64::from),
        DataType::Float64 => widened!(Float64Type, f64::from),
        _ => return None,
    })
}

/// The entries of a column of lists, and the place of each row's among them; none where a row has no list.
fn lists(array: &dyn Array) -> Option<(ArrayRef, Vec<Option<Range<usize>>>)> {
    let rows = 0..array.len();
    if let Some(found) = array.as_list_opt::<i32>() {
        let offsets = found.value_offsets();
        let place = |row: usize| {
            Some(usize::try_from(offsets[row]).ok()?..usize::try_from(offsets[row + 1]).ok()?)
        };
        let places = rows.map(|row| place(row).filter(|_| found.is_valid(row))).collect();
        return Some((found.values().clone(), places));
    }
    None
}

impl Table {
    /// The columns that are read.
    fn chosen(&self) -> impl Iterator<Item = usize> {
        let Selection { taken, label, kept } = &self.selection;
        taken.iter().chain(label).chain(kept).copied()
    }

    fn reader(&self, most: usize) -> Result<ParquetRecordBatchReader, Error> {
        let file = open_plain(self.origin.path())?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), self.chosen());
        let builder = builder.with_projection(mask).with_batch_size(most);
        guarded(&self.origin, || builder.build())
    }

    fn next(&self, batches: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>, Error> {
        guarded(&self.origin, || Ok(batches.next().transpose()?))
    }

    /// The column of a batch that stands for one of the file: a batch keeps the file's order.
    fn column<'a>(&self, batch: &'a RecordBatch, column: usize) -> Result<&'a ArrayRef, Error> {
        let mut before: Vec<usize> = self.chosen().filter(|&c| c < column).collect();
        before.sort_unstable();
        before.dedup();
        let found = batch.columns().get(before.len());
        found.ok_or_else(|| self.origin.error("a column is missing"))
    }

    fn find_widths(&self) -> Result<Vec<usize>, Error> {
        let fields = self.metadata.schema().fields();
        let mut widths: Vec<Option<usize>> = self
            .selection
            .taken
            .iter()
            .map(|&c| item(fields[c].data_type()).is_none().then_some(1))
            .collect();
        if widths.contains(&None) {
            let mut batches = self.reader(1)?;
            while let Some(batch) = self.next(&mut batches)? {
                for (width, &column) in widths.iter_mut().zip(&self.selection.taken) {
                    if width.is_none() {
                        let found = lists(self.column(&batch, column)?);
                        *width = found.and_then(|(_, places)| places[0].as_ref().map(Range::len));
                    }
                }
                if !widths.contains(&None) {
                    break;
                }
            }
        }
        let total = widths.iter().flatten().try_fold(0usize, |sum, &w| sum.checked_add(w));
        if total.is_none_or(|total| total > MOST_ELEMENTS) {
            return Err(self.origin.error("its lists are too long"));
        }
        Ok(widths.into_iter().map(|width| width.unwrap_or(0)).collect())
    }

    fn entry_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let fields = self.metadata.schema().fields();
        for (&column, &width) in self.selection.taken.iter().zip(&self.widths) {
            let name = &self.names[column];
            match item(fields[column].data_type()) {
                None => names.push(name.clone()),
                Some(_) => names.extend((0..width).map(|i| format!("{name}[{i}]"))),
            }
        }
        names
    }

    fn rows(&self, batch: &RecordBatch, first: usize) -> Result<Rows, Error> {
        let (n, width) = (batch.num_rows(), self.widths.iter().sum::<usize>());
        let mut values = vec![f32::NAN; n * width];
        let mut at = 0;
        for (&column, &entries) in self.selection.taken.iter().zip(&self.widths) {
            let array = self.column(batch, column)?;
            self.fill(
                array,
                column,
                first,
                &mut |row, entry, value| {
                    values[row * width + at + entry] = value;
                },
                entries,
            )?;
            at += entries;
        }
        let labels = self.selection.label.map(|column| self.labels(batch, column, first));
        let values = ArrayD::from_shape_vec(IxDyn(&[n, width]), values).expect("n rows");
        let texts = |&column: &usize| {
            let odd =
                || self.origin.error(format!("column {:?} changes its type", self.names[column]));
            cells(self.column(batch, column)?).ok_or_else(odd)
        };
        let kept = self.selection.kept.iter().map(texts).collect::<Result<_, Error>>()?;
        Ok(Rows { index: (first..first + n).collect(), values, labels: labels.transpose()?, kept })
    }

    /// Puts the entries of a column where they belong.
    #[expect(clippy::cast_possible_truncation, reason = "rounding to single precision")]
    fn fill(
        &self,
        array: &ArrayRef,
        column: usize,
        first: usize,
        put: &mut dyn FnMut(usize, usize, f32),
        entries: usize,
    ) -> Result<(), Error> {
        let odd = || self.origin.error(format!("column {:?} changes its type", self.names[column]));
        let Some((inner, places)) = lists(array) else {
            let found = numbers(array).ok_or_else(odd)?;
            found.into_iter().enumerate().for_each(|(row, v)| put(row, 0, v as f32));
            return Ok(());
        };
        let found = numbers(&inner).ok_or_else(odd)?;
        for (row, place) in places.into_iter().enumerate() {
            let Some(place) = place else { continue };
            if place.len() != entries {
                return Err(self.origin.error(format!(
                    "column {:?} has a list of {} entries in row {} and one of {entries} before: all must have one length",
                    shortened(&self.names[column], MOST_NAME),
                    place.len(),
                    first + row
                )));
            }
            let list = found.get(place).ok_or_else(odd)?;
            list.iter().enumerate().for_each(|(entry, &v)| put(row, entry, v as f32));
        }
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
    fn labels(&self, batch: &RecordBatch, column: usize, first: usize) -> Result<Vec<i64>, Error> {
        let array = self.column(batch, column)?;
        let found = numbers(array).unwrap_or_default();
        let label = |(row, v): (usize, f64)| {
            if v.fract() == 0.0 && v.abs() < 1e15 {
                return Ok(v as i64);
            }
            let name = shortened(&self.names[column], MOST_NAME);
            Err(self.origin.error(Problem::Labels(format!(
                "column {name:?}: the label of row {} is {v}, not a whole number",
                first + row
            ))))
        };
        found.into_iter().enumerate().map(label).collect()
    }
}

impl Source for Table {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        Some(self.count)
    }

    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error> {
        let mut batches = self.reader(most)?;
        let mut passed = 0;
        let mut next = move || -> Result<Option<Rows>, Error> {
            let Some(batch) = self.next(&mut batches)? else {
                if passed == self.count {
                    return Ok(None);
                }
                let message = format!("it declares {} rows and holds {passed}", self.count);
                return Err(self.origin.error(message));
            };
            let first = passed;
            passed += batch.num_rows();
            Ok(Some(self.rows(&batch, first)?.kept(&keep)))
        };
        Ok(Box::new(std::iter::from_fn(move || next().transpose()).fuse()))
    }
}
