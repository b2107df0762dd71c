//! Tables of which a line is a row: what their formats share.

use std::{borrow::Cow, fmt, sync::OnceLock};

use ndarray::{ArrayD, IxDyn};
use taste_files::message::shortened;

use crate::{
    Error, Keep, Problem,
    columns::{Codes, Selection, number},
    error::{MOST_NAME, listed},
    origin::Origin,
    skips::{Skips, too_many},
    source::{Batches, Facts, Rows, Source},
};

/// What a cell holds.
pub(super) enum Cell<'a> {
    Missing,
    Text(Cow<'a, str>),
    /// Numbers one after the other, NaN where one is missing; none if something else is among them.
    List(Option<Vec<f32>>),
    /// Something that is no cell of a table, in words.
    Odd(&'static str),
}

impl Cell<'_> {
    /// As a number, NaN where it is missing.
    fn number(&self) -> Option<f32> {
        match self {
            Self::Missing => Some(f32::NAN),
            Self::Text(text) => number(text),
            Self::List(_) | Self::Odd(_) => None,
        }
    }

    /// As text, empty where it is missing.
    fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Missing => Some(Cow::Borrowed("")),
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::List(_) | Self::Odd(_) => None,
        }
    }

    /// As a whole number.
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
    fn whole(&self) -> Option<i64> {
        let whole = |v: f64| (v.fract() == 0.0 && v.abs() < 1e15).then_some(v as i64);
        match self {
            Self::Text(text) => match text.trim() {
                "true" | "True" => Some(1),
                "false" | "False" => Some(0),
                text => text.parse().ok().or_else(|| text.parse().ok().and_then(whole)),
            },
            _ => None,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Odd(what) => (*what).to_owned(),
            Self::List(_) => "a list".to_owned(),
            other => format!("{:?}", shortened(&other.text().unwrap_or_default(), MOST_NAME)),
        }
    }
}

/// A file that is gone through line by line.
pub(super) trait Lines: fmt::Debug + Send + Sync {
    type Records: Records;

    /// Whether cells may hold lists.
    const HAS_LISTS: bool;

    /// The rows from the first on.
    fn open(&self, origin: &Origin) -> Result<Self::Records, Error>;
}

/// Rows one after the other.
pub(super) trait Records: Send {
    /// Reads a row; false at the end.
    fn read(&mut self) -> Result<bool, Error>;

    /// What is wrong with the row that was read last, if it is none.
    fn trouble(&self) -> Option<String>;

    /// A cell of that row, by the place of its column.
    fn cell(&self, column: usize) -> Cell<'_>;

    /// The number of its line, counted from 1.
    fn line(&mut self) -> Result<u64, Error>;
}

/// A table of lines.
#[derive(Debug)]
pub(super) struct LineTable<L> {
    pub(super) lines: L,
    pub(super) origin: Origin,
    /// The names of all columns of the file.
    pub(super) names: Vec<String>,
    pub(super) selection: Selection,
    /// How many entries of a sample each taken column gives, where it holds lists.
    pub(super) lists: Vec<Option<usize>>,
    /// Whether lists of other lengths are padded with NaN or cut.
    pub(super) pads: bool,
    /// Rows with lists that were cut.
    pub(super) cut: Skips,
    pub(super) facts: Facts,
    pub(super) skip_bad: bool,
    pub(super) skips: Skips,
    pub(super) counted: OnceLock<usize>,
}

/// What is wrong with a line.
enum Bad {
    Cells(String),
    Label(String),
}

/// Rows that are read so far.
#[derive(Default)]
struct Gathered {
    index: Vec<usize>,
    values: Vec<f32>,
    labels: Vec<i64>,
    kept: Vec<Vec<String>>,
    /// Whether a list of the last row was cut.
    cut: bool,
}

impl Gathered {
    /// Forgets what came after so many rows.
    fn truncate(&mut self, rows: usize, width: usize) {
        self.values.truncate(rows * width);
        self.labels.truncate(rows);
        self.kept.iter_mut().for_each(|cells| cells.truncate(rows));
    }
}

/// How far a pass is.
struct Pass<R> {
    records: R,
    /// How many rows were seen, and how many of them were good.
    seen: usize,
    rows: usize,
}

impl<L: Lines> LineTable<L> {
    fn width(&self) -> usize {
        self.lists.iter().map(|list| list.unwrap_or(1)).sum()
    }

    /// Adds a row's numbers and the cells that come along, or says what is wrong with it.
    fn parse(&self, row: &L::Records, into: &mut Gathered) -> Result<(), Bad> {
        if let Some(trouble) = row.trouble() {
            return Err(Bad::Cells(trouble));
        }
        let Selection { taken, codes, label, classes, kept } = &self.selection;
        for ((&column, codes), list) in taken.iter().zip(codes).zip(&self.lists) {
            let cell = row.cell(column);
            match list {
                Some(entries) => self.fill(&cell, column, *entries, into)?,
                None => into.values.push(self.entry(&cell, column, codes.as_ref())?),
            }
        }
        if let Some(column) = *label {
            let cell = row.cell(column);
            let named = || classes.find(&cell.text()?);
            let found = named().or_else(|| cell.whole());
            let class = found.ok_or_else(|| Bad::Label(self.no_class(column, &cell)));
            into.labels.push(class?);
        }
        for (cells, &column) in into.kept.iter_mut().zip(kept) {
            let cell = row.cell(column);
            let text = cell.text().map(Cow::into_owned);
            cells.push(text.ok_or_else(|| Bad::Cells(self.not_a("text", column, &cell)))?);
        }
        Ok(())
    }

    /// One number of a cell.
    fn entry(&self, cell: &Cell<'_>, column: usize, codes: Option<&Codes>) -> Result<f32, Bad> {
        match codes {
            Some(codes) => cell.text().map(|word| codes.number(&word)),
            None => cell.number(),
        }
        .ok_or_else(|| Bad::Cells(self.not_a("number", column, cell)))
    }

    /// The numbers of a list.
    fn fill(
        &self,
        cell: &Cell<'_>,
        column: usize,
        entries: usize,
        into: &mut Gathered,
    ) -> Result<(), Bad> {
        let values = &mut into.values;
        let found = match cell {
            Cell::Missing => {
                values.extend(std::iter::repeat_n(f32::NAN, entries));
                return Ok(());
            }
            Cell::List(Some(found)) => found,
            _ => return Err(Bad::Cells(self.not_a("list of numbers", column, cell))),
        };
        if found.len() != entries && !self.pads {
            let name = shortened(&self.names[column], MOST_NAME);
            return Err(Bad::Cells(format!(
                "column {name:?} has a list of {} entries and one of {entries} before: all must have one length",
                found.len()
            )));
        }
        let missing = std::iter::repeat_n(f32::NAN, entries.saturating_sub(found.len()));
        values.extend(found.iter().copied().take(entries).chain(missing));
        into.cut |= found.len() > entries;
        Ok(())
    }

    fn not_a(&self, what: &str, column: usize, cell: &Cell<'_>) -> String {
        let name = shortened(&self.names[column], MOST_NAME);
        format!("column {name:?}: {} is not a {what}", cell.shown())
    }

    fn no_class(&self, column: usize, cell: &Cell<'_>) -> String {
        match self.selection.classes.names() {
            [] => self.not_a("whole number", column, cell) + ": labels are the numbers of classes",
            names => {
                let name = shortened(&self.names[column], MOST_NAME);
                format!(
                    "column {name:?}: {} is none of the classes {}",
                    cell.shown(),
                    listed(names)
                )
            }
        }
    }

    fn batch(
        &self,
        pass: &mut Pass<L::Records>,
        most: usize,
        keep: &Keep<'_>,
    ) -> Result<Option<Rows>, Error> {
        let width = self.width();
        let kept = vec![Vec::new(); self.selection.kept.len()];
        let mut found = Gathered { kept, ..Gathered::default() };
        while found.index.len() < most && pass.records.read()? {
            pass.seen += 1;
            let rows = found.index.len();
            match self.parse(&pass.records, &mut found) {
                Ok(()) => {
                    if std::mem::take(&mut found.cut) {
                        self.cut.note(pass.rows, String::new(), String::new());
                    }
                    if keep(pass.rows) {
                        found.index.push(pass.rows);
                    } else {
                        found.truncate(rows, width);
                    }
                    pass.rows += 1;
                }
                Err(bad) => {
                    found.cut = false;
                    found.truncate(rows, width);
                    self.pass_over(pass, bad)?;
                }
            }
        }
        let Gathered { index, values, labels, kept, .. } = found;
        if index.is_empty() {
            let _ = self.counted.set(pass.rows);
            return Ok(None);
        }
        let shape = IxDyn(&[index.len(), width]);
        let values = ArrayD::from_shape_vec(shape, values).expect("whole rows");
        let labels = self.selection.label.is_some().then_some(labels);
        Ok(Some(Rows { index, values, labels, kept }))
    }

    /// Notes the line that was read last as left out, if that may be.
    fn pass_over(&self, pass: &mut Pass<L::Records>, bad: Bad) -> Result<(), Error> {
        let number = pass.records.line()?;
        let reason = match bad {
            Bad::Cells(reason) | Bad::Label(reason) if self.skip_bad => reason,
            Bad::Cells(reason) => {
                return Err(self.origin.error(Problem::Entry { line: Some(number), reason }));
            }
            Bad::Label(reason) => {
                return Err(self.origin.error(Problem::Labels(format!("line {number}: {reason}"))));
            }
        };
        let name = format!("{} line {number}", self.origin.name());
        if self.skips.note(pass.seen - 1, name, reason) {
            return Ok(());
        }
        Err(self.origin.error(too_many()))
    }
}

impl<L: Lines> Source for LineTable<L> {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn count(&self) -> Option<usize> {
        self.counted.get().copied()
    }

    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error> {
        let mut pass = Pass { records: self.lines.open(&self.origin)?, seen: 0, rows: 0 };
        let batch = move || self.batch(&mut pass, most, &keep).transpose();
        Ok(Box::new(std::iter::from_fn(batch).fuse()))
    }

    fn place(&self, index: usize) -> usize {
        self.skips.place(index)
    }

    fn longest_lists(&self) -> Result<Vec<(String, usize)>, Error> {
        let mut longest: Vec<Option<usize>> = vec![None; self.names.len()];
        if L::HAS_LISTS {
            let mut records = self.lines.open(&self.origin)?;
            while records.read()? {
                for (column, longest) in longest.iter_mut().enumerate() {
                    if let Cell::List(Some(list)) = records.cell(column) {
                        *longest = Some(list.len().max(longest.unwrap_or(0)));
                    }
                }
            }
        }
        let named = self.names.iter().zip(longest);
        Ok(named.filter_map(|(name, length)| Some((name.clone(), length?))).collect())
    }

    fn cut_count(&self) -> usize {
        self.cut.count()
    }

    fn skipped_count(&self) -> usize {
        self.skips.count()
    }

    fn skipped(&self) -> Vec<(String, String)> {
        self.skips.list()
    }
}
