//! What can go wrong with data, in words for the person who brought them.

use std::{
    io::{self, ErrorKind as Io},
    path::{Path, PathBuf},
};

use taste_choice::nearest_first;
use taste_files::message::{in_line, shape, shortened};

use crate::{npy, origin::described};

/// Why data can't be read or written: where, and what is wrong there.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", in_line(.place))]
pub struct Error {
    place: String,
    problem: Problem,
}

/// What is wrong; reads as the rest of a sentence that starts with the place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system or a decoder refuses.
    #[error("{}", described(.0))]
    Read(io::Error),
    /// An array of `NumPy`.
    #[error(transparent)]
    Npy(npy::Problem),
    /// A file or folder that is not what it should be.
    #[error("{0}")]
    Format(String),
    /// One image or line among others that can't be read; [`Options::skip_bad`](crate::Options::skip_bad) leaves such
    /// out.
    #[error("{}{reason}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
    Entry {
        /// The line of a table, counted from 1.
        line: Option<u64>,
        /// What is wrong with it.
        reason: String,
    },
    /// A column that the table does not have.
    #[error("no column {column:?}; there are {}{}", listed(&nearest_first(known, column)),
            if *has_names { "" } else { ", as its first line holds numbers and no names" })]
    NoColumn {
        /// The one that is asked for.
        column: String,
        /// Those that are there.
        known: Vec<String>,
        /// Whether the file gives its columns names.
        has_names: bool,
    },
    /// A name that several columns have.
    #[error("there are several columns {0:?}")]
    RepeatedColumn(String),
    /// Nothing is left of these columns.
    #[error("no columns are left of {}", listed(.0))]
    NoColumnsLeft(Vec<String>),
    /// A column of something else than numbers.
    #[error("column {column:?} holds {holds}, not numbers")]
    NotNumbers {
        /// Its name.
        column: String,
        /// The type that the file gives it.
        holds: String,
    },
    /// A column of words of which nearly every row has another.
    #[error(
        "column {column:?} holds words, {words} different ones in {rows} rows: it names the rows, and is no input"
    )]
    NamesRows {
        /// Its name.
        column: String,
        /// How many different words.
        words: usize,
        /// In how many rows.
        rows: usize,
    },
    /// A column that comes along as text and has none.
    #[error("column {column:?} holds {holds}, not text, numbers or dates")]
    NotText {
        /// Its name.
        column: String,
        /// The type that the file gives it.
        holds: String,
    },
    /// Columns are asked for by name, and the file is no table.
    #[error(
        "no column {0:?}, as it is not a table: CSV, Parquet, Arrow and JSON lines files have columns"
    )]
    NoTable(String),
    /// Labels that are no classes, or do not go with the samples.
    #[error("{0}")]
    Labels(String),
    /// A label that is no whole number, where those of classes are wanted.
    #[error("the label of row {row} (counted from 0) is {value}, not a whole number")]
    NotWhole {
        /// The row.
        row: usize,
        /// The label.
        value: f64,
    },
    /// A number that an input can't take, which takes whole numbers.
    #[error("{0}")]
    Whole(String),
    /// An image of another size than the first.
    #[error("it is {} × {}, and {} is {} × {}", size.0, size.1, first.display(), first_size.0, first_size.1)]
    ImageSize {
        /// Its height and width.
        size: (usize, usize),
        /// The first image.
        first: PathBuf,
        /// The height and width of that.
        first_size: (usize, usize),
    },
    /// Samples that can't be given the shape that the model takes.
    #[error("{} can't be made {}{}, which the model takes", samples(found, columns.as_deref()),
            if columns.is_some() { "samples of shape " } else { "" }, shape(wanted))]
    Shape {
        /// The sizes of a sample in the file.
        found: Vec<usize>,
        /// The sizes that the model takes.
        wanted: Vec<usize>,
        /// The columns that a sample is made of, if the file is a table.
        columns: Option<Vec<String>>,
        /// Whether samples are images whose height or width alone does not fit.
        only_size: bool,
    },
    /// A number or size in [`Options`](crate::Options) that does not fit the samples.
    #[error("{0}")]
    Setting(String),
    /// A table that can't be written as it is asked for.
    #[error("{0}")]
    Table(String),
    /// Output that the operating system does not take.
    #[error("it can't be written: {0}")]
    Write(io::Error),
}

/// What an [`Error`] is about, for those who want to add what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such file or folder.
    NotFound,
    /// The operating system refuses to read it.
    Read,
    /// The file is not what it should be, or damaged.
    Format,
    /// One image or line among others can't be read.
    Entry,
    /// Columns of a table.
    Column,
    /// Labels.
    Label,
    /// The shape of samples, or the size of images.
    Shape,
    /// A number in the options.
    Setting,
    /// The output.
    Write,
}

impl Error {
    /// What is wrong with a file or folder.
    pub(crate) fn at(path: &Path, problem: impl Into<Problem>) -> Self {
        Self::new(crate::standard::shown(path), problem)
    }

    /// What is wrong somewhere.
    pub fn new(place: impl Into<String>, problem: impl Into<Problem>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }

    /// The file or folder, or `standard output`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong there.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What the error is about.
    pub fn kind(&self) -> ErrorKind {
        self.problem.kind()
    }

    /// Whether nobody reads the output any more, as when it is piped into `head`.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(&self.problem, Problem::Write(e) if e.kind() == Io::BrokenPipe)
    }
}

impl Problem {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Read(e) | Self::Npy(npy::Problem::Io(e)) => match e.kind() {
                Io::NotFound => ErrorKind::NotFound,
                Io::UnexpectedEof | Io::InvalidData | Io::InvalidInput => ErrorKind::Format,
                _ => ErrorKind::Read,
            },
            Self::Npy(npy::Problem::NotWritable(_)) | Self::Table(_) | Self::Write(_) => {
                ErrorKind::Write
            }
            Self::Npy(_) | Self::Format(_) => ErrorKind::Format,
            Self::Entry { .. } | Self::Whole(_) => ErrorKind::Entry,
            Self::NoColumn { .. }
            | Self::RepeatedColumn(_)
            | Self::NoColumnsLeft(_)
            | Self::NotNumbers { .. }
            | Self::NamesRows { .. }
            | Self::NotText { .. }
            | Self::NoTable(_) => ErrorKind::Column,
            Self::Labels(_) | Self::NotWhole { .. } => ErrorKind::Label,
            Self::ImageSize { .. } | Self::Shape { .. } => ErrorKind::Shape,
            Self::Setting(_) => ErrorKind::Setting,
        }
    }
}

impl From<npy::Error> for Error {
    fn from(error: npy::Error) -> Self {
        let (path, problem) = error.into_parts();
        Self::at(&path, Problem::Npy(problem))
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self::Format(message)
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Self {
        Self::Format(message.to_owned())
    }
}

impl From<io::Error> for Problem {
    fn from(problem: io::Error) -> Self {
        Self::Read(problem)
    }
}

/// The most characters of a name that a message shows.
pub(crate) const MOST_NAME: usize = 40;

pub(crate) fn listed<N: AsRef<str>>(names: &[N]) -> String {
    const MOST: usize = 20;
    let mut kept: Vec<String> =
        names.iter().take(MOST).map(|name| shortened(name.as_ref(), MOST_NAME)).collect();
    if names.len() > MOST {
        kept.push(format!("{} more", names.len() - MOST));
    }
    kept.join(", ")
}

/// What samples are made of, in words.
fn samples(found: &[usize], columns: Option<&[String]>) -> String {
    let Some(columns) = columns else { return format!("samples of shape {}", shape(found)) };
    let mut named: Vec<&str> = columns.iter().map(String::as_str).collect();
    // What does not belong is often last: the label.
    if named.len() > 12 {
        named.splice(10..named.len() - 2, ["…"]);
    }
    format!("{} columns ({})", columns.len(), named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pipe_is_told_from_other_trouble() {
        let error = |kind: Io| Error::new("x.csv", Problem::Write(kind.into()));
        assert!(error(Io::BrokenPipe).is_broken_pipe());
        assert!(!error(Io::StorageFull).is_broken_pipe());
        assert!(!Error::new("x.csv", Problem::Read(Io::BrokenPipe.into())).is_broken_pipe());
        assert_eq!(error(Io::StorageFull).kind(), ErrorKind::Write);
        let text = error(Io::StorageFull).to_string();
        assert!(text.starts_with("x.csv: it can't be written"), "{text}");
    }

    #[test]
    fn kinds_follow_from_what_the_system_says() {
        for (io, kind) in [
            (Io::NotFound, ErrorKind::NotFound),
            (Io::PermissionDenied, ErrorKind::Read),
            (Io::UnexpectedEof, ErrorKind::Format),
        ] {
            assert_eq!(Error::at("x.npy".as_ref(), io::Error::from(io)).kind(), kind);
            let npy = npy::Error::new("x.npy".as_ref(), npy::Problem::Io(io.into()));
            assert_eq!(Error::from(npy).kind(), kind);
        }
        let missing = Problem::NoColumn {
            column: "a".to_owned(),
            known: (1..=25).map(|i| i.to_string()).collect(),
            has_names: false,
        };
        let text = Error::new("x.csv", missing).to_string();
        assert!(text.starts_with("x.csv: no column \"a\"; there are 1, 2, "), "{text}");
        assert!(
            text.ends_with("20, 5 more, as its first line holds numbers and no names"),
            "{text}"
        );
    }
}
