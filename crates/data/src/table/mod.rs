//! Tables to write: CSV, JSON lines, Parquet, npy.

mod csv;
mod jsonl;
mod npy;
mod output;
mod parquet;

use std::{io, path::Path};

use output::Output;
use taste_files::AtomicFile;

use crate::{Error, Problem};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Numbers.
    Float,
    /// True or false.
    Bool,
    /// Words.
    Text,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// What a row holds in one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A whole number.
    Int(i64),
    /// A number, written with the digits that single precision has.
    Single(f32),
    /// A number.
    Double(f64),
    /// True or false.
    Bool(bool),
    /// Words.
    Text(&'a str),
    /// Nothing: an empty cell, null, or NaN in an array.
    Missing,
}

impl Value<'_> {
    fn fits(self, kind: Kind) -> bool {
        match self {
            Self::Int(_) => kind == Kind::Int,
            Self::Single(_) | Self::Double(_) => kind == Kind::Float,
            Self::Bool(_) => kind == Kind::Bool,
            Self::Text(_) => kind == Kind::Text,
            Self::Missing => true,
        }
    }

    /// The shortest digits that give the same number again; `NaN`, `inf` and `-inf` for others.
    fn digits(self) -> Option<String> {
        match self {
            Self::Single(v) => Some(format!("{v:?}")),
            Self::Double(v) => Some(format!("{v:?}")),
            _ => None,
        }
    }
}

/// Text formats, which can go to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Values between commas, names in the first line; `NaN`, `inf` and `-inf` as words.
    Csv,
    /// An object of JSON on each line; null for numbers that are not finite.
    Jsonl,
}

/// A format while it is written.
trait Rows: Send {
    fn row(&mut self, row: &[Value<'_>]) -> io::Result<()>;

    /// Writes what is left.
    fn finish(self: Box<Self>) -> io::Result<Output>;
}

/// A table that is written row by row. A file appears when it is finished, whole, and not at all if the table
/// is dropped before.
///
/// ```
/// use taste_data::{Column, Kind, TableWriter, Value};
/// # let path = std::env::temp_dir().join("taste-scores-doc.csv");
/// let columns = [Column::new("index", Kind::Int), Column::new("score", Kind::Float)];
/// let mut table = TableWriter::create(&path, &columns)?;
/// table.write(&[Value::Int(0), Value::Single(0.25)])?;
/// table.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "index,score\n0,0.25\n");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TableWriter {
    name: String,
    columns: Vec<Column>,
    rows: Box<dyn Rows>,
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter")
            .field("name", &self.name)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl TableWriter {
    /// Starts a file whose name ends in `.csv`, `.jsonl`, `.parquet` or `.npy`. The last is a matrix of float32, one column
    /// for each of the table's, and takes no text.
    pub fn create(path: &Path, columns: &[Column]) -> Result<Self, Error> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let text = columns.iter().find(|c| c.kind == Kind::Text);
        match (ending.as_str(), text) {
            ("csv" | "jsonl" | "ndjson" | "parquet", _) | ("npy", None) => {}
            ("npy", Some(column)) => {
                let message =
                    format!("the column {:?} is text, which an array can't hold", column.name);
                return Err(Error::at(path, Problem::Table(message)));
            }
            _ => {
                let message = "a table's name must end in .csv, .jsonl, .parquet or .npy";
                return Err(Error::at(path, Problem::Table(message.to_owned())));
            }
        }
        let start = |file: AtomicFile| match ending.as_str() {
            "csv" => csv::start(Output::File(file), columns),
            "parquet" => parquet::start(file, columns),
            "npy" => npy::start(file, columns.len()),
            _ => Ok(jsonl::start(Output::File(file), columns)),
        };
        let name = path.display().to_string();
        let rows = AtomicFile::create(path)
            .and_then(start)
            .map_err(|e| Error::new(&name, Problem::Write(e)))?;
        Ok(Self { name, columns: columns.to_vec(), rows })
    }

    /// Starts a table on standard output.
    pub fn stdout(format: TextFormat, columns: &[Column]) -> Result<Self, Error> {
        let name = "standard output".to_owned();
        let output = Output::standard();
        let rows = match format {
            TextFormat::Csv => {
                csv::start(output, columns).map_err(|e| Error::new(&name, Problem::Write(e)))?
            }
            TextFormat::Jsonl => jsonl::start(output, columns),
        };
        Ok(Self { name, columns: columns.to_vec(), rows })
    }

    /// Adds a row: a value for every column, of its kind.
    pub fn write(&mut self, row: &[Value<'_>]) -> Result<(), Error> {
        if row.len() != self.columns.len() {
            let message =
                format!("a row of {} values for {} columns", row.len(), self.columns.len());
            return Err(Error::new(&self.name, Problem::Table(message)));
        }
        if let Some((value, column)) = row.iter().zip(&self.columns).find(|(v, c)| !v.fits(c.kind))
        {
            let message = format!("{value:?} in the column {:?} of {:?}", column.name, column.kind);
            return Err(Error::new(&self.name, Problem::Table(message)));
        }
        self.rows.row(row).map_err(|e| Error::new(&self.name, Problem::Write(e)))
    }

    /// Writes what is left, and gives a file its name.
    pub fn finish(self) -> Result<(), Error> {
        let finished = self.rows.finish().and_then(Output::finish);
        finished.map_err(|e| Error::new(&self.name, Problem::Write(e)))
    }
}
