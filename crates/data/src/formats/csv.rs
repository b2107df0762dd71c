//! Tables as text: values between commas, semicolons or tabs, compressed or not.

use std::{
    io::{self, BufReader, Bytes, Read},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use csv::{ByteRecord, ReaderBuilder};
use taste_choice::Choice;

use super::{
    Format, Found, ends, folder,
    lines::{Cell, LineTable, Lines, Records},
};
use crate::{
    Error, Layout, Options,
    columns::{number, select},
    origin::Origin,
    skips::Skips,
    source::{Facts, Source},
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

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = found.opening[..] {
        return Err(origin.error("it is text in UTF-16: save it as UTF-8"));
    }
    let delimiter = delimiter(&origin)?;
    let decimal_comma = delimiter != b',' && has_decimal_commas(&origin, delimiter)?;
    let mut rows = CsvRecords::open(&origin, delimiter, 0)?;
    if !rows.read()? {
        return Err(origin.error("it is empty"));
    }
    let first = &rows.record;
    let has_header = is_header(first, decimal_comma);
    let names: Vec<String> = if has_header {
        let name = |cell: &[u8]| std::str::from_utf8(cell).map(|n| n.trim().to_owned());
        let names: Result<_, _> = first.iter().map(name).collect();
        names.map_err(|_| origin.error("its first line is not text in UTF-8"))?
    } else {
        (1..=first.len()).map(|i| i.to_string()).collect()
    };
    if has_header && !rows.read()? {
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
        sized: false,
        texts: if has_header { names.clone() } else { Vec::new() },
    };
    Ok(Box::new(LineTable {
        lines: Csv { delimiter, decimal_comma, has_header, columns: names.len() },
        origin,
        names,
        lists: vec![None; selection.taken.len()],
        pads: false,
        cut: Skips::default(),
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
    // Numbers with a decimal comma, and no names above them.
    let text = std::str::from_utf8(line).unwrap_or_default();
    let is_number = |cell: &str| number(cell).is_some() || with_point(cell.trim()).is_some();
    if text.contains(';') && text.split(';').all(is_number) {
        return Ok(b';');
    }
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

/// Rows that are looked at for decimal commas.
const LOOKED_AT: usize = 200;

/// Whether numbers are written as 1.234,5: some have a comma, and none has a point that is no mark of thousands.
fn has_decimal_commas(origin: &Origin, delimiter: u8) -> Result<bool, Error> {
    let mut rows = CsvRecords::open(origin, delimiter, 0)?;
    let (mut seen, mut found) = (0, false);
    while seen < LOOKED_AT && rows.read()? {
        seen += 1;
        for cell in rows.record.iter().filter_map(|cell| std::str::from_utf8(cell).ok()) {
            let cell = cell.trim();
            match with_point(cell) {
                Some(_) => found |= cell.contains(','),
                None if cell.contains('.') && cell.parse::<f32>().is_ok() => return Ok(false),
                None => {}
            }
        }
    }
    Ok(found)
}

/// A number such as 1.234,5 or 1.234 as 1234.5 and 1234.
fn with_point(text: &str) -> Option<String> {
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = match unsigned.split_once(',') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let exponent = |t: &str| match t.split_once(['e', 'E']) {
        Some((t, power)) => digits(t) && power.parse::<i16>().is_ok(),
        None => digits(t),
    };
    let mut groups = whole.split('.');
    let first = groups.next().unwrap_or_default();
    let rest: Vec<&str> = groups.collect();
    let grouped = rest.iter().all(|g| digits(g) && g.len() == 3)
        && digits(first)
        && (rest.is_empty() || first.len() <= 3);
    let is_one =
        grouped && (fraction.is_some() || !rest.is_empty()) && fraction.is_none_or(exponent);
    is_one.then(|| text.replace('.', "").replace(',', "."))
}

/// A first line with a cell that is no number, or with the numbers 0, 1, 2, … that pandas gives unnamed columns.
fn is_header(first: &ByteRecord, decimal_comma: bool) -> bool {
    let read = |t: &str| number(t).is_some() || (decimal_comma && with_point(t.trim()).is_some());
    let is_number = |cell: &[u8]| std::str::from_utf8(cell).is_ok_and(&read);
    let named = first.iter().any(|cell| !is_number(cell));
    let cells: Vec<&[u8]> = first.iter().skip_while(|c| c.is_empty()).collect();
    let counted = cells.len() > 1
        && cells.len() + 1 >= first.len()
        && cells.iter().enumerate().all(|(i, cell)| *cell == i.to_string().as_bytes());
    named || counted
}

/// How lines are cut into cells.
#[derive(Debug)]
struct Csv {
    delimiter: u8,
    decimal_comma: bool,
    has_header: bool,
    columns: usize,
}

impl Lines for Csv {
    type Records = CsvRecords;
    const HAS_LISTS: bool = false;

    fn open(&self, origin: &Origin) -> Result<CsvRecords, Error> {
        let mut rows = CsvRecords::open(origin, self.delimiter, self.columns)?;
        rows.decimal_comma = self.decimal_comma;
        if self.has_header {
            rows.read()?;
        }
        Ok(rows)
    }
}

/// The lines of a file, one after the other.
struct CsvRecords {
    reader: csv::Reader<Limited>,
    origin: Origin,
    taken: Arc<AtomicU64>,
    /// How many cells a line should have.
    columns: usize,
    /// Whether numbers have a comma where others have a point.
    decimal_comma: bool,
    record: ByteRecord,
    /// A second pass, which counts lines for messages.
    counter: Option<Counter>,
}

/// The longest line. A quote that is not closed makes one line of the rest of the file.
const MOST_LINE: u64 = 1 << 26;

impl CsvRecords {
    fn open(origin: &Origin, delimiter: u8, columns: usize) -> Result<Self, Error> {
        let taken = Arc::new(AtomicU64::new(0));
        let input = Limited { input: origin.open()?, taken: Arc::clone(&taken) };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .buffer_capacity(1 << 16)
            .from_reader(input);
        let (origin, record) = (origin.clone(), ByteRecord::new());
        let decimal_comma = false;
        Ok(Self { reader, origin, taken, columns, decimal_comma, record, counter: None })
    }
}

impl Records for CsvRecords {
    fn read(&mut self) -> Result<bool, Error> {
        self.taken.store(0, Ordering::Relaxed);
        self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
            csv::ErrorKind::Io(e) => self.origin.error(e),
            other => self.origin.error(format!("{other:?}")),
        })
    }

    fn trouble(&self) -> Option<String> {
        let (found, wanted) = (self.record.len(), self.columns);
        (found != wanted).then(|| format!("{found} cells where there are {wanted} columns"))
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        let bytes = self.record.get(column).unwrap_or_default();
        Cell::Text(match std::str::from_utf8(bytes) {
            Ok(text) => match with_point(text.trim()) {
                Some(number) if self.decimal_comma => number.into(),
                _ => text.into(),
            },
            Err(_) => String::from_utf8_lossy(bytes).into_owned().into(),
        })
    }

    fn line(&mut self) -> Result<u64, Error> {
        let start = self.record.position().map_or(0, csv::Position::byte);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_a_decimal_comma_are_told_from_words() {
        for (text, want) in [
            ("1,5", "1.5"),
            ("-1.234,50", "-1234.50"),
            ("12.345.678", "12345678"),
            ("0,1e-3", "0.1e-3"),
        ] {
            assert_eq!(with_point(text).as_deref(), Some(want));
        }
        for text in ["", "15", "1.5", "1.2345,6", "a,b", "1,2,3", "1234.567", ",5", "17.05.2024"] {
            assert_eq!(with_point(text), None, "{text}");
        }
    }
}
