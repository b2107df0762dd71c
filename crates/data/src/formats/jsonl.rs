//! JSON lines: an object a line, its entries the columns of a table; or a list of such objects.

use std::{
    fmt,
    io::{BufRead, BufReader, Read},
    sync::OnceLock,
};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use taste_choice::Choice;
use taste_files::message::shortened;

use super::{
    Format, Found, ends, folder,
    lines::{Cell, LineTable, Lines, Records},
};
use crate::{
    Error, Layout, Options, Problem,
    columns::select,
    error::MOST_NAME,
    origin::Origin,
    skips::Skips,
    source::{Facts, MOST_ELEMENTS, Source},
};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "jsonl",
        usage: "x.jsonl, x.ndjson, or a folder of them; x.json",
        about: "JSON: an object a row, of numbers, words and lists of numbers, on lines or in a list",
    },
    endings: &[".jsonl", ".ndjson", ".json"],
    files: ["JSON lines file", "JSON lines files"],
    starts: Some(|bytes| matches!(bytes.trim_ascii_start(), [b'{' | b'[', ..])),
    is_text: false,
    in_folder: |name| ends(name, &[".jsonl", ".ndjson"]),
    together: Some(folder::by_name),
    open,
};

/// Lines that are looked at for the names of columns: any of them may lack some.
const LOOKED_AT: usize = 1000;

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let origin = found.origin.clone();
    let first = Opening::read(&origin)?;
    let names = first.names;
    let selection = select(&names, true, None, options).map_err(|problem| origin.error(problem))?;
    let label = options.label.as_deref();
    let length = options.sequences.as_ref().map(|s| s.length);
    let list = |&c: &usize| first.lists[c].map(|found| length.unwrap_or(found));
    let lists: Vec<Option<usize>> = selection.taken.iter().map(list).collect();
    let total = lists.iter().try_fold(0usize, |sum, list| sum.checked_add(list.unwrap_or(1)));
    let Some(width) = total.filter(|&total| total <= MOST_ELEMENTS) else {
        return Err(origin.error("its lists are too long"));
    };
    if let Some(column) =
        label.filter(|&l| names.iter().zip(&first.lists).any(|(n, list)| n == l && list.is_some()))
    {
        let (column, holds) = (shortened(column, MOST_NAME), "lists".to_owned());
        return Err(origin.error(Problem::NotNumbers { column, holds }));
    }
    let columns = selection.taken.iter().zip(&lists).flat_map(|(&c, list)| match list {
        None => vec![names[c].clone()],
        Some(entries) => (0..*entries).map(|i| format!("{}[{i}]", names[c])).collect(),
    });
    let texts = names.iter().zip(&first.lists).filter(|(_, list)| list.is_none());
    let facts = Facts {
        sample: vec![width],
        bytes: false,
        layout: Layout::Auto,
        columns: (width <= MOST_NAMES).then(|| columns.collect()),
        taken: Some(selection.taken.iter().map(|&c| names[c].clone()).collect()),
        sized: false,
        texts: texts.map(|(name, _)| name.clone()).collect(),
    };
    Ok(Box::new(LineTable {
        lines: Json { names: names.clone() },
        origin,
        names,
        selection,
        lists,
        pads: options.sequences.is_some(),
        cut: Skips::default(),
        facts,
        skip_bad: options.skip_bad,
        skips: Skips::default(),
        counted: OnceLock::new(),
    }))
}

/// Names are not made up for the entries of lists longer than this.
const MOST_NAMES: usize = 4096;

/// What the first lines tell: the names of columns, in the order in which they come, and the lengths of lists.
struct Opening {
    names: Vec<String>,
    lists: Vec<Option<usize>>,
}

impl Opening {
    fn read(origin: &Origin) -> Result<Self, Error> {
        let mut lines = JsonRecords::new(origin, Vec::new())?;
        let mut opening = Self { names: Vec::new(), lists: Vec::new() };
        let (mut seen, mut trouble) = (0, None);
        while seen < LOOKED_AT && lines.next_line()? {
            seen += 1;
            match serde_json::from_slice::<Entries>(&lines.text) {
                Ok(Entries(entries)) => entries.iter().for_each(|(name, v)| opening.add(name, v)),
                Err(e) => trouble = trouble.or_else(|| Some(odd(&e))),
            }
        }
        if seen == 0 {
            return Err(origin.error("it is empty"));
        }
        match trouble {
            Some(trouble) if opening.names.is_empty() => {
                Err(origin.error(format!("its lines are no JSON objects: {trouble}")))
            }
            _ if opening.names.is_empty() => Err(origin.error("its objects are empty")),
            _ => Ok(opening),
        }
    }

    fn add(&mut self, name: &str, value: &Value) {
        let list = value.as_array().map(|_| numbers(value).map_or(0, |list| list.len()));
        if let Some(at) = self.names.iter().position(|n| n == name) {
            self.lists[at] = self.lists[at].or(list);
        } else {
            self.names.push(name.to_owned());
            self.lists.push(list);
        }
    }
}

/// Why a line is no object.
fn odd(error: &serde_json::Error) -> String {
    let text = error.to_string();
    shortened(text.split(" at line").next().unwrap_or_default(), 160)
}

/// The entries of an object, in their order.
struct Entries(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the cells of a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

/// The numbers of a list, or of lists of lists one after the other.
#[expect(clippy::cast_possible_truncation, reason = "rounding to single precision")]
fn numbers(value: &Value) -> Option<Vec<f32>> {
    let mut found = Vec::new();
    for entry in value.as_array()? {
        match entry {
            Value::Number(n) => found.push(n.as_f64()? as f32),
            Value::Bool(b) => found.push(f32::from(*b)),
            Value::Null => found.push(f32::NAN),
            Value::Array(_) => found.extend(numbers(entry)?),
            Value::String(_) | Value::Object(_) => return None,
        }
    }
    Some(found)
}

#[derive(Debug)]
struct Json {
    names: Vec<String>,
}

impl Lines for Json {
    type Records = JsonRecords;
    const HAS_LISTS: bool = true;

    fn open(&self, origin: &Origin) -> Result<JsonRecords, Error> {
        JsonRecords::new(origin, self.names.clone())
    }
}

/// The lines of a file, one after the other.
struct JsonRecords {
    input: BufReader<Box<dyn Read + Send>>,
    origin: Origin,
    names: Vec<String>,
    text: Vec<u8>,
    line: u64,
    /// The line ends within the last row of a list.
    within: u64,
    /// Where in the file it is.
    place: Place,
    /// The cells of the line, by column.
    cells: Vec<Value>,
    trouble: Option<String>,
}

/// Where reading has come to.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Start,
    /// Among objects on lines.
    Lines,
    /// Within a list of objects.
    List,
}

/// The longest line.
const MOST_LINE: u64 = 1 << 26;

impl JsonRecords {
    fn new(origin: &Origin, names: Vec<String>) -> Result<Self, Error> {
        Ok(Self {
            input: BufReader::with_capacity(1 << 16, origin.open()?),
            origin: origin.clone(),
            names,
            text: Vec::new(),
            line: 0,
            within: 0,
            place: Place::Start,
            cells: Vec::new(),
            trouble: None,
        })
    }

    /// Reads the text of a row; false at the end.
    fn next_line(&mut self) -> Result<bool, Error> {
        if self.place == Place::Start {
            let is_list = self.peek(u8::is_ascii_whitespace)? == Some(b'[');
            self.place = if is_list { Place::List } else { Place::Lines };
            if is_list {
                self.line = 1;
                self.input.consume(1);
            }
        }
        if self.place == Place::List { self.next_in_list() } else { self.next_on_line() }
    }

    /// The next byte that is not to be passed over, which is left where it is.
    fn peek(&mut self, passed_over: impl Fn(&u8) -> bool) -> Result<Option<u8>, Error> {
        loop {
            let bytes = self.input.fill_buf().map_err(|e| self.origin.error(e))?;
            let Some(&byte) = bytes.first() else { return Ok(None) };
            if !passed_over(&byte) {
                return Ok(Some(byte));
            }
            self.line += u64::from(byte == b'\n' && self.place == Place::List);
            self.input.consume(1);
        }
    }

    /// Reads an entry of a list, up to where its brackets close; false at the end.
    fn next_in_list(&mut self) -> Result<bool, Error> {
        self.text.clear();
        self.line += std::mem::take(&mut self.within);
        let cut = || "it ends within its list of objects";
        match self.peek(|b| b.is_ascii_whitespace() || *b == b',')? {
            None => return Err(self.origin.error(cut())),
            Some(b']') => return Ok(false),
            Some(_) => {}
        }
        let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
        while let Some(byte) = self.peek(|_| false)? {
            // A number or word ends where the next entry begins.
            if depth == 0 && !quoted && matches!(byte, b',' | b']') {
                return Ok(true);
            }
            self.input.consume(1);
            self.text.push(byte);
            self.within += u64::from(byte == b'\n');
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = quoted,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && matches!(byte, b'}' | b']') && !quoted {
                return Ok(true);
            }
            if self.text.len() as u64 >= MOST_LINE {
                return Err(self.origin.error(format!("a row of more than {MOST_LINE} bytes")));
            }
        }
        Err(self.origin.error(cut()))
    }

    /// Reads a line that is not empty; false at the end.
    fn next_on_line(&mut self) -> Result<bool, Error> {
        loop {
            self.text.clear();
            let mut limited = (&mut self.input).take(MOST_LINE);
            let read =
                limited.read_until(b'\n', &mut self.text).map_err(|e| self.origin.error(e))?;
            if read as u64 >= MOST_LINE {
                return Err(self.origin.error(format!("a line of more than {MOST_LINE} bytes")));
            }
            if read == 0 {
                return Ok(false);
            }
            self.line += 1;
            if !self.text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }
}

impl Records for JsonRecords {
    fn read(&mut self) -> Result<bool, Error> {
        if !self.next_line()? {
            return Ok(false);
        }
        self.cells = vec![Value::Null; self.names.len()];
        self.trouble = match serde_json::from_slice::<Entries>(&self.text) {
            Err(e) => Some(format!("no JSON object: {}", odd(&e))),
            Ok(Entries(entries)) => {
                for (at, (name, value)) in entries.into_iter().enumerate() {
                    // Most lines have the same entries in the same order.
                    let same = self.names.get(at).is_some_and(|n| *n == name).then_some(at);
                    let place = same.or_else(|| self.names.iter().position(|n| *n == name));
                    if let Some(place) = place {
                        self.cells[place] = value;
                    }
                }
                None
            }
        };
        Ok(true)
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        match self.cells.get(column) {
            None | Some(Value::Null) => Cell::Missing,
            Some(Value::Bool(b)) => Cell::Text(if *b { "true" } else { "false" }.into()),
            Some(Value::Number(n)) => Cell::Text(n.to_string().into()),
            Some(Value::String(text)) => Cell::Text(text.into()),
            Some(list @ Value::Array(_)) => Cell::List(numbers(list)),
            Some(Value::Object(_)) => Cell::Odd("an object"),
        }
    }

    fn line(&mut self) -> Result<u64, Error> {
        Ok(self.line)
    }
}
