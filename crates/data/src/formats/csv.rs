//! Tables as text: values between commas, semicolons or tabs, compressed or not.

use std::{
    io::{self, BufReader, Bytes, Read},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use csv::{ByteRecord, ReaderBuilder};
use ndarray::{ArrayD, IxDyn};
use taste_choice::Choice;
use taste_files::message::shortened;

use super::{Format, Found, ends, folder};
use crate::{
    Error, Keep, Layout, Options, Problem,
    columns::{Selection, select},
    error::MOST_NAME,
    origin::Origin,
    skips::{Skips, too_many},
    source::{Batches, Facts, Rows, Source},
};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "csv",
        usage: "x.csv, x.tsv, or a folder of them",
        about: "a table as text: commas, semicolons or tabs, with names in the first line or without",
    },
    endings: &[".csv", ".tsv", ".tab", ".txt"],
    files: ["CSV file", "CSV files"],
    starts: None,
    is_text: true,
    // Notes lie beside data as well.
    in_folder: |name| ends(name, &[".csv", ".tsv"]),
    together: Some(folder::by_name),
    open,
};

#[derive(Debug)]
struct Csv {
    origin: Origin,
    delimiter: u8,
    has_header: bool,
    /// The names of all columns of the file.
    names: Vec<String>,
    selection: Selection,
    facts: Facts,
    skip_bad: bool,
    skips: Skips,
    counted: OnceLock<usize>,
}

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = found.opening[..] {
        return Err(origin.error("it is text in UTF-16: save it as UTF-8"));
    }
    let delimiter = delimiter(&origin)?;
    let mut lines = Lines::open(&origin, delimiter)?;
    let mut first = ByteRecord::new();
    if !lines.read(&mut first)? {
        return Err(origin.error("it is empty"));
    }
    let has_header = is_header(&first);
    let names: Vec<String> = if has_header {
        let name = |cell: &[u8]| std::str::from_utf8(cell).map(|n| n.trim().to_owned());
        let names: Result<_, _> = first.iter().map(name).collect();
        names.map_err(|_| origin.error("its first line is not text in UTF-8"))?
    } else {
        (1..=first.len()).map(|i| i.to_string()).collect()
    };
    if has_header && !lines.read(&mut first)? {
        return Err(origin.error("it has a header and no rows"));
    }
    let unnamed = (has_header && names.len() > 1 && names[0].is_empty()).then_some(0);
    let selection =
        select(&names, has_header, unnamed, options).map_err(|problem| origin.error(problem))?;
    let columns: Vec<String> = selection.taken.iter().map(|&i| names[i].clone()).collect();
    let facts = Facts {
        sample: vec![selection.taken.len()],
        bytes: false,
        layout: Layout::Auto,
        taken: has_header.then(|| columns.clone()),
        columns: Some(columns),
    };
    Ok(Box::new(Csv {
        origin,
        delimiter,
        has_header,
        names,
        selection,
        facts,
        skip_bad: options.skip_bad,
        skips: Skips::default(),
        counted: OnceLock::new(),
    }))
}

/// The separator that the first line has most of; tabs in a `.tsv` file.
fn delimiter(origin: &Origin) -> Result<u8, Error> {
    if [".tsv", ".tab"].iter().any(|ending| origin.file_name().ends_with(ending)) {
        return Ok(b'\t');
    }
    let opening = origin.opening(1 << 16)?;
    let line = opening.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    for &byte in line {
        quoted ^= byte == b'"';
        for (_, count) in counts.iter_mut().filter(|(d, _)| !quoted && *d == byte) {
            *count += 1;
        }
    }
    // Of equal counts the first.
    Ok(counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(d, _)| d))
}

/// A first line with a cell that is no number, or with the numbers 0, 1, 2, … that pandas gives unnamed columns.
fn is_header(first: &ByteRecord) -> bool {
    let named = first.iter().any(|cell| number(cell).is_none());
    let cells: Vec<&[u8]> = first.iter().skip_while(|c| c.is_empty()).collect();
    let counted = cells.len() > 1
        && cells.len() + 1 >= first.len()
        && cells.iter().enumerate().all(|(i, cell)| *cell == i.to_string().as_bytes());
    named || counted
}

/// The number in a cell; NaN if it is empty or says so.
fn number(cell: &[u8]) -> Option<f32> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    match text.to_ascii_lowercase().as_str() {
        "" | "na" | "n/a" | "null" | "none" => Some(f32::NAN),
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => None,
    }
}

/// The whole number in a cell.
#[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
fn whole(cell: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    let float = || text.parse::<f64>().ok().filter(|v| v.fract() == 0.0 && v.abs() < 1e15);
    text.parse().ok().or_else(|| float().map(|v| v as i64)).or(match text {
        "true" | "True" => Some(1),
        "false" | "False" => Some(0),
        _ => None,
    })
}

/// What is wrong with a line.
enum Bad {
    Cells(String),
    Label(String),
}

impl Csv {
    /// Adds a line's numbers and the cells that come along, or says what is wrong with it and adds nothing.
    fn parse(
        &self,
        line: &ByteRecord,
        into: &mut Vec<f32>,
        labels: &mut Vec<i64>,
        kept: &mut [Vec<String>],
    ) -> Result<(), Bad> {
        if line.len() != self.names.len() {
            let (found, wanted) = (line.len(), self.names.len());
            return Err(Bad::Cells(format!("{found} cells where there are {wanted} columns")));
        }
        let before = into.len();
        for &column in &self.selection.taken {
            let Some(value) = number(&line[column]) else {
                into.truncate(before);
                return Err(Bad::Cells(self.not_a("number", column, &line[column])));
            };
            into.push(value);
        }
        if let Some(column) = self.selection.label {
            let Some(label) = whole(&line[column]) else {
                into.truncate(before);
                return Err(Bad::Label(self.not_a("whole number", column, &line[column])));
            };
            labels.push(label);
        }
        for (cells, &column) in kept.iter_mut().zip(&self.selection.kept) {
            cells.push(String::from_utf8_lossy(&line[column]).trim().to_owned());
        }
        Ok(())
    }

    fn not_a(&self, what: &str, column: usize, cell: &[u8]) -> String {
        let text = String::from_utf8_lossy(&cell[..cell.len().min(400)]);
        let (name, text) = (shortened(&self.names[column], MOST_NAME), shortened(&text, MOST_NAME));
        format!("column {name:?}: {text:?} is not a {what}")
    }

    fn batch(
        &self,
        lines: &mut Lines,
        most: usize,
        keep: &Keep<'_>,
    ) -> Result<Option<Rows>, Error> {
        let width = self.selection.taken.len();
        let (mut index, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let mut kept = vec![Vec::new(); self.selection.kept.len()];
        let mut line = ByteRecord::new();
        while index.len() < most && lines.read(&mut line)? {
            lines.seen += 1;
            match self.parse(&line, &mut values, &mut labels, &mut kept) {
                Ok(()) => {
                    if keep(lines.rows) {
                        index.push(lines.rows);
                    } else {
                        values.truncate(index.len() * width);
                        labels.truncate(index.len());
                        for cells in &mut kept {
                            cells.truncate(index.len());
                        }
                    }
                    lines.rows += 1;
                }
                Err(bad) => self.pass_over(lines, &line, bad)?,
            }
        }
        if index.is_empty() {
            let _ = self.counted.set(lines.rows);
            return Ok(None);
        }
        let shape = IxDyn(&[index.len(), width]);
        let values = ArrayD::from_shape_vec(shape, values).expect("whole rows");
        let labels = self.selection.label.is_some().then_some(labels);
        Ok(Some(Rows { index, values, labels, kept }))
    }

    /// Notes the line that was read last as left out, if that may be.
    fn pass_over(&self, lines: &mut Lines, line: &ByteRecord, bad: Bad) -> Result<(), Error> {
        let number = lines.number(line)?;
        let reason = match bad {
            Bad::Cells(reason) | Bad::Label(reason) if self.skip_bad => reason,
            Bad::Cells(reason) => {
                return Err(self.origin.error(Problem::Entry { line: Some(number), reason }));
            }
            Bad::Label(reason) => {
                return Err(self.origin.error(Problem::Labels(format!(
                    "line {number}: {reason}: labels are the numbers of classes, from 0 on"
                ))));
            }
        };
        let name = format!("{} line {number}", self.origin.path().display());
        if self.skips.note(lines.seen - 1, name, reason) {
            return Ok(());
        }
        Err(self.origin.error(too_many()))
    }
}

impl Source for Csv {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        self.counted.get().copied()
    }

    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error> {
        let mut lines = Lines::open(&self.origin, self.delimiter)?;
        if self.has_header {
            lines.read(&mut ByteRecord::new())?;
        }
        let batch = move || self.batch(&mut lines, most, &keep).transpose();
        Ok(Box::new(std::iter::from_fn(batch).fuse()))
    }

    fn place(&self, index: usize) -> usize {
        self.skips.place(index)
    }

    fn skipped_count(&self) -> usize {
        self.skips.count()
    }

    fn skipped(&self) -> Vec<(String, String)> {
        self.skips.list()
    }
}

/// The lines of a file, one after the other.
struct Lines {
    reader: csv::Reader<Limited>,
    origin: Origin,
    taken: Arc<AtomicU64>,
    /// How many rows were seen, and how many of them were good.
    seen: usize,
    rows: usize,
    /// A second pass, which counts lines for messages.
    counter: Option<Counter>,
}

/// The longest line. A quote that is not closed makes one line of the rest of the file.
const MOST_LINE: u64 = 1 << 26;

impl Lines {
    fn open(origin: &Origin, delimiter: u8) -> Result<Self, Error> {
        let taken = Arc::new(AtomicU64::new(0));
        let input = Limited { input: origin.open()?, taken: Arc::clone(&taken) };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .buffer_capacity(1 << 16)
            .from_reader(input);
        Ok(Self { reader, origin: origin.clone(), taken, seen: 0, rows: 0, counter: None })
    }

    /// Reads a line; false at the end.
    fn read(&mut self, line: &mut ByteRecord) -> Result<bool, Error> {
        self.taken.store(0, Ordering::Relaxed);
        self.reader.read_byte_record(line).map_err(|e| match e.into_kind() {
            csv::ErrorKind::Io(e) => self.origin.error(e),
            other => self.origin.error(format!("{other:?}")),
        })
    }

    /// The number of a record's first line, counted from 1.
    fn number(&mut self, line: &ByteRecord) -> Result<u64, Error> {
        let start = line.position().map_or(0, csv::Position::byte);
        let counter = match &mut self.counter {
            Some(counter) => counter,
            none => none.insert(Counter::new(self.origin.open()?)),
        };
        counter.line_at(start).map_err(|e| self.origin.error(e))
    }
}

/// Counts lines, however they end.
struct Counter {
    bytes: Bytes<BufReader<Box<dyn Read + Send>>>,
    at: u64,
    line: u64,
    after_return: bool,
}

impl Counter {
    fn new(input: Box<dyn Read + Send>) -> Self {
        Self { bytes: BufReader::new(input).bytes(), at: 0, line: 1, after_return: false }
    }

    /// The line of the first byte from `start` on that is no line end. Starts must not decrease.
    fn line_at(&mut self, start: u64) -> io::Result<u64> {
        let mut line = self.line;
        while let Some(byte) = self.bytes.next().transpose()? {
            line = self.line;
            self.at += 1;
            // A line feed after a carriage return ends no second line.
            self.line += u64::from(byte == b'\r' || (byte == b'\n' && !self.after_return));
            self.after_return = byte == b'\r';
            if self.at > start && !matches!(byte, b'\r' | b'\n') {
                break;
            }
        }
        Ok(line)
    }
}

/// A reader that refuses to go on within one line forever.
struct Limited {
    input: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
}

impl Read for Limited {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        if self.taken.fetch_add(read as u64, Ordering::Relaxed) > MOST_LINE {
            return Err(io::Error::other(format!(
                "a line of more than {MOST_LINE} bytes: is a quote not closed?"
            )));
        }
        Ok(read)
    }
}
