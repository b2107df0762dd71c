//! Tables in the columns of Arrow: what their formats share.

use std::{fmt, ops::Range};

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{
        Decimal32Type, Decimal64Type, Decimal128Type, Float16Type, Float32Type, Float64Type,
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Fields};
use ndarray::{ArrayD, IxDyn};
use taste_files::message::shortened;

use super::text::{cells, has_text, is_words};
use crate::{
    Error, Keep, Layout, Options, Problem,
    columns::{Codes, Selection, select},
    error::{MOST_NAME, listed},
    origin::Origin,
    skips::Skips,
    source::{Batches, Facts, MOST_ELEMENTS, Rows, Source},
};

/// A file of record batches.
pub(super) trait Columnar: fmt::Debug + Send + Sync {
    /// The rows from the first on, at most `most` at once: of some columns, by their places in the file and in its order.
    fn batches(&self, columns: &[usize], most: usize) -> Result<RecordBatches, Error>;
}

pub(super) type RecordBatches = Box<dyn Iterator<Item = Result<RecordBatch, Error>> + Send>;

/// A table of record batches.
#[derive(Debug)]
pub(super) struct ColumnTable<C> {
    file: C,
    origin: Origin,
    fields: Fields,
    names: Vec<String>,
    selection: Selection,
    /// How many entries of a sample each taken column gives: 1, or the length of its lists.
    widths: Vec<usize>,
    /// What lists of other lengths are padded to with NaN or cut to.
    length: Option<usize>,
    /// Rows with lists that were cut.
    cut: Skips,
    count: usize,
    facts: Facts,
}

/// Rows gone through at once for the lengths of lists.
const ROWS_AT_ONCE: usize = 4096;

/// Names are not made up for the entries of lists longer than this.
const MOST_NAMES: usize = 4096;

/// The name that pandas gives to numbers of rows.
const ROW_NUMBERS: &str = "__index_level_0__";

impl<C: Columnar> ColumnTable<C> {
    /// Chooses among the columns of a file of `count` rows.
    pub(super) fn open(
        origin: Origin,
        file: C,
        fields: &Fields,
        count: usize,
        options: &Options,
    ) -> Result<Self, Error> {
        if count == 0 {
            return Err(origin.error("it holds no rows"));
        }
        let names: Vec<String> = fields.iter().map(|f| f.name().clone()).collect();
        let numbers_of_rows = names.iter().position(|name| name == ROW_NUMBERS);
        let selection =
            select(&names, true, numbers_of_rows, options).map_err(|e| origin.error(e))?;
        check_types(fields, &selection).map_err(|problem| origin.error(problem))?;
        let is_bytes = |&c: &usize| item(fields[c].data_type()) == Some(&DataType::UInt8);
        let texts = fields.iter().filter(|f| has_text(f.data_type()) && f.name() != ROW_NUMBERS);
        let facts = Facts {
            sample: Vec::new(),
            bytes: selection.taken.iter().all(is_bytes),
            layout: Layout::Auto,
            columns: None,
            taken: Some(selection.taken.iter().map(|&c| names[c].clone()).collect()),
            sized: false,
            texts: texts.map(|f| f.name().clone()).collect(),
        };
        let fields = fields.clone();
        let length = options.sequences.as_ref().map(|s| s.length);
        let mut table = Self {
            file,
            origin,
            fields,
            names,
            selection,
            widths: Vec::new(),
            length,
            cut: Skips::default(),
            count,
            facts,
        };
        table.widths = table.find_widths()?;
        let width: usize = table.widths.iter().sum();
        table.facts.sample = vec![width];
        table.facts.columns = (width <= MOST_NAMES).then(|| table.entry_names());
        Ok(table)
    }

    fn find_widths(&self) -> Result<Vec<usize>, Error> {
        let width = |&c: &usize| match item(self.fields[c].data_type()) {
            None => Some(1),
            Some(_) => self.length,
        };
        let mut widths: Vec<Option<usize>> = self.selection.taken.iter().map(width).collect();
        if widths.contains(&None) {
            for batch in self.file.batches(&self.chosen(), 1)? {
                let batch = batch?;
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

    /// The columns that are read, in the order of the file.
    fn chosen(&self) -> Vec<usize> {
        let Selection { taken, label, kept, .. } = &self.selection;
        let mut chosen: Vec<usize> = taken.iter().chain(label).chain(kept).copied().collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    /// The column of a batch that stands for one of the file: a batch keeps the file's order.
    fn column<'a>(&self, batch: &'a RecordBatch, column: usize) -> Result<&'a ArrayRef, Error> {
        let place = self.chosen().binary_search(&column).ok();
        let found = place.and_then(|place| batch.columns().get(place));
        found.ok_or_else(|| self.origin.error("a column is missing"))
    }

    fn entry_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (&column, &width) in self.selection.taken.iter().zip(&self.widths) {
            let name = &self.names[column];
            match item(self.fields[column].data_type()) {
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
        let Selection { taken, codes, .. } = &self.selection;
        for ((&column, codes), &entries) in taken.iter().zip(codes).zip(&self.widths) {
            let array = self.column(batch, column)?;
            let mut put = |row: usize, entry: usize, value: f32| {
                values[row * width + at + entry] = value;
            };
            match codes {
                Some(codes) => self.code(array, column, codes, &mut put)?,
                None => self.fill(array, column, first, &mut put, entries)?,
            }
            at += entries;
        }
        let labels = self.selection.label.map(|column| self.labels(batch, column, first));
        let values = ArrayD::from_shape_vec(IxDyn(&[n, width]), values).expect("n rows");
        let texts =
            |&column: &usize| cells(self.column(batch, column)?).ok_or_else(|| self.odd(column));
        let kept = self.selection.kept.iter().map(texts).collect::<Result<_, Error>>()?;
        Ok(Rows { index: (first..first + n).collect(), values, labels: labels.transpose()?, kept })
    }

    fn odd(&self, column: usize) -> Error {
        self.origin.error(format!("column {:?} changes its type", self.names[column]))
    }

    /// Puts the numbers that stand for a column's words where they belong.
    fn code(
        &self,
        array: &ArrayRef,
        column: usize,
        codes: &Codes,
        put: &mut dyn FnMut(usize, usize, f32),
    ) -> Result<(), Error> {
        let words = cells(array).ok_or_else(|| self.odd(column))?;
        words.iter().enumerate().for_each(|(row, word)| put(row, 0, codes.number(word)));
        Ok(())
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
        let Some((inner, places)) = lists(array) else {
            let found = numbers(array).ok_or_else(|| self.odd(column))?;
            found.into_iter().enumerate().for_each(|(row, v)| put(row, 0, v as f32));
            return Ok(());
        };
        let found = numbers(&inner).ok_or_else(|| self.odd(column))?;
        for (row, place) in places.into_iter().enumerate() {
            let Some(place) = place else { continue };
            if place.len() > entries && self.length.is_some() {
                self.cut.note(first + row, String::new(), String::new());
            }
            if place.len() != entries && self.length.is_none() {
                return Err(self.origin.error(format!(
                    "column {:?} has a list of {} entries in row {} and one of {entries} before: all must have one length",
                    shortened(&self.names[column], MOST_NAME),
                    place.len(),
                    first + row
                )));
            }
            let list = found.get(place).ok_or_else(|| self.odd(column))?;
            list.iter().take(entries).enumerate().for_each(|(entry, &v)| put(row, entry, v as f32));
        }
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
    fn labels(&self, batch: &RecordBatch, column: usize, first: usize) -> Result<Vec<i64>, Error> {
        let array = self.column(batch, column)?;
        let classes = &self.selection.classes;
        let name = || shortened(&self.names[column], MOST_NAME);
        if is_words(array.data_type()) {
            let words = cells(array).ok_or_else(|| self.odd(column))?;
            let label = |(row, word): (usize, &String)| {
                classes.find(word).or_else(|| word.trim().parse().ok()).ok_or_else(|| {
                    self.origin.error(Problem::Labels(format!(
                        "column {:?}: the label of row {} is {:?}, which is none of the classes {}",
                        name(),
                        first + row,
                        shortened(word, MOST_NAME),
                        listed(classes.names())
                    )))
                })
            };
            return words.iter().enumerate().map(label).collect();
        }
        let found = numbers(array).unwrap_or_default();
        let label = |(row, v): (usize, f64)| {
            if v.fract() == 0.0 && v.abs() < 1e15 {
                return Ok(v as i64);
            }
            Err(self.origin.error(Problem::Labels(format!(
                "column {:?}: the label of row {} is {v}, not a whole number",
                name(),
                first + row
            ))))
        };
        found.into_iter().enumerate().map(label).collect()
    }
}

/// Columns must hold what they are read as.
fn check_types(fields: &Fields, selection: &Selection) -> Result<(), Problem> {
    let holds = |column: usize| {
        let field = &fields[column];
        let name = shortened(field.name(), MOST_NAME);
        (name, shortened(&field.data_type().to_string(), MOST_NAME))
    };
    for (&column, codes) in selection.taken.iter().zip(&selection.codes) {
        let kind = fields[column].data_type();
        let words = codes.is_some() && has_text(kind);
        if !is_number(kind) && item(kind).is_none() && !words {
            let (column, holds) = holds(column);
            return Err(Problem::NotNumbers { column, holds });
        }
    }
    if let Some(column) = selection.label {
        let kind = fields[column].data_type();
        if !is_number(kind) && (!is_words(kind) || selection.classes.is_empty()) {
            let (column, holds) = holds(column);
            return Err(Problem::NotNumbers { column, holds });
        }
    }
    match selection.kept.iter().find(|&&c| !has_text(fields[c].data_type())) {
        Some(&column) => {
            let (column, holds) = holds(column);
            Err(Problem::NotText { column, holds })
        }
        None => Ok(()),
    }
}

impl<C: Columnar> Source for ColumnTable<C> {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        Some(self.count)
    }

    fn longest_lists(&self) -> Result<Vec<(String, usize)>, Error> {
        let of_lists = |&c: &usize| item(self.fields[c].data_type()).is_some();
        let columns: Vec<usize> = (0..self.names.len()).filter(of_lists).collect();
        let mut longest = vec![0; columns.len()];
        if !columns.is_empty() {
            for batch in self.file.batches(&columns, ROWS_AT_ONCE)? {
                for (longest, array) in longest.iter_mut().zip(batch?.columns()) {
                    let places = lists(array).map(|(_, places)| places).unwrap_or_default();
                    *longest = places.iter().flatten().map(Range::len).fold(*longest, usize::max);
                }
            }
        }
        Ok(columns.iter().map(|&c| self.names[c].clone()).zip(longest).collect())
    }

    fn cut_count(&self) -> usize {
        self.cut.count()
    }

    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error> {
        let mut batches = self.file.batches(&self.chosen(), most)?;
        let mut passed = 0;
        let mut next = move || -> Result<Option<Rows>, Error> {
            let Some(batch) = batches.next().transpose()? else {
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

fn is_number(kind: &DataType) -> bool {
    kind.is_integer()
        || matches!(
            kind,
            DataType::Boolean
                | DataType::Float16
                | DataType::Float32
                | DataType::Float64
                | DataType::Decimal32(..)
                | DataType::Decimal64(..)
                | DataType::Decimal128(..)
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
        DataType::Decimal32(_, scale) => scaled(widened!(Decimal32Type, f64::from), *scale),
        DataType::Decimal64(_, scale) => scaled(widened!(Decimal64Type, |v| v as f64), *scale),
        DataType::Decimal128(_, scale) => scaled(widened!(Decimal128Type, |v| v as f64), *scale),
        _ => return None,
    })
}

/// Numbers that are written without their decimal point.
fn scaled(numbers: Vec<f64>, scale: i8) -> Vec<f64> {
    let unit = 10f64.powi(i32::from(scale));
    numbers.into_iter().map(|v| v / unit).collect()
}

/// The entries of a column of lists, and the place of each row's among them; none where a row has no list.
fn lists(array: &dyn Array) -> Option<(ArrayRef, Vec<Option<Range<usize>>>)> {
    let rows = 0..array.len();
    macro_rules! by_offsets {
        ($found:expr) => {{
            let offsets = $found.value_offsets();
            let place = |row: usize| {
                Some(usize::try_from(offsets[row]).ok()?..usize::try_from(offsets[row + 1]).ok()?)
            };
            let places = rows.map(|row| place(row).filter(|_| $found.is_valid(row))).collect();
            return Some(($found.values().clone(), places));
        }};
    }
    if let Some(found) = array.as_list_opt::<i32>() {
        by_offsets!(found);
    }
    if let Some(found) = array.as_list_opt::<i64>() {
        by_offsets!(found);
    }
    let found = array.as_fixed_size_list_opt()?;
    let length = usize::try_from(found.value_length()).ok()?;
    let place = |row: usize| {
        let start = found.value_offset_at(row);
        Some(start..start + length).filter(|_| found.is_valid(row))
    };
    Some((found.values().clone(), rows.map(place).collect()))
}
