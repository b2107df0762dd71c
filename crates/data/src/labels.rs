//! Labels that come apart from the samples: from a file of their own, or from a column of the samples' table.

use std::path::{Path, PathBuf};

use taste_files::message::shortened;

use crate::{
    Dataset, Error, Holds, Options, Problem, Samples,
    columns::{Places, is_missing},
    error::{MOST_NAME, listed},
    survey::Texts,
};

/// A number for every row of a data set: its class, or the true value of what a model predicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    name: String,
    /// By the place of the row; NaN where it has none.
    values: Vec<f64>,
    /// What the classes are called, where labels are words.
    names: Vec<String>,
}

impl Labels {
    /// Labels in memory, one for every row; the name is for messages.
    pub fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values, names: Vec::new() }
    }

    /// Likewise, the numbers being places among these names of classes, if there are any.
    pub fn of_classes(name: impl Into<String>, values: Vec<f64>, names: Vec<String>) -> Self {
        Self { name: name.into(), values, names }
    }

    /// Reads a file that holds one number or word a row, in any of the [`FORMATS`](crate::FORMATS). Words are classes: those
    /// of the options, or those of the file in the order of the alphabet. Numbers are those that the options give classes.
    pub fn open(path: &Path, known: &Options) -> Result<Self, Error> {
        let paths = [path.to_owned()];
        // Arrays are numbers.
        let Ok(texts) = Texts::open(&paths, &[]) else { return Self::read_file(path, known) };
        let [column] = texts.names() else { return Self::read_file(path, known) };
        let column = column.clone();
        let mut labels =
            Self::column(&paths, &column, &Options { skip_bad: false, ..known.clone() })?;
        // A file of words without a header: its first line is a class like others.
        if let Some(class) = labels.names.iter().position(|name| *name == column) {
            labels.values.insert(0, class as f64);
        }
        Ok(labels)
    }

    fn read_file(path: &Path, known: &Options) -> Result<Self, Error> {
        Self::read(path, &Options { raw: true, ..Options::default() })?.read_as(known)
    }

    /// As the classes that the options name and number.
    pub fn read_as(mut self, known: &Options) -> Result<Self, Error> {
        if !self.names.is_empty() {
            return self.renamed(&known.classes);
        }
        if known.numbers.is_empty() {
            return Ok(self);
        }
        for row in 0..self.values.len() {
            let Some(number) = self.whole(row)? else { continue };
            let place = known.place_of(number).map_err(|said| {
                let said = format!("the label of row {row} (counted from 0) is {said}");
                Error::new(&self.name, Problem::Labels(said))
            })?;
            self.values[row] = place as f64;
        }
        Ok(self)
    }

    /// Words in another order of classes.
    fn renamed(self, classes: &[String]) -> Result<Self, Error> {
        if classes.is_empty() || self.names == classes {
            return Ok(self);
        }
        let places = Places::new(classes);
        let values = (0..self.values.len()).map(|row| {
            let place = self.whole(row)?.and_then(|place| usize::try_from(place).ok());
            let Some(word) = place.and_then(|place| self.names.get(place)) else { return Ok(f64::NAN) };
            places.find(word).map(|place| place as f64).ok_or_else(|| {
                let (word, classes) = (shortened(word, MOST_NAME), listed(classes));
                let said = format!(
                    "the label of row {row} (counted from 0) is {word:?}, which is none of the classes {classes}"
                );
                Error::new(&self.name, Problem::Labels(said))
            })
        });
        let values = values.collect::<Result<_, Error>>()?;
        Ok(Self { values, names: classes.to_vec(), ..self })
    }

    /// A label as a whole number; none where there is none.
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
    fn whole(&self, row: usize) -> Result<Option<i64>, Error> {
        let value = self.values[row];
        match value {
            _ if value.is_nan() => Ok(None),
            _ if value.fract() == 0.0 && value.abs() < 1e15 => Ok(Some(value as i64)),
            _ => Err(Error::new(&self.name, Problem::NotWhole { row, value })),
        }
    }

    /// Reads a column of tables, likewise. With [`Options::skip_bad`], rows whose cell can't be read have no label.
    pub fn column(paths: &[PathBuf], column: &str, known: &Options) -> Result<Self, Error> {
        let skip_bad = known.skip_bad;
        let columns = vec![column.to_owned()];
        if let Ok(texts) = Texts::open(paths, &columns)
            && matches!(texts.holds()?[..], [Holds::Words | Holds::Names])
        {
            return Self::of_words(&texts, column, skip_bad, &known.classes);
        }
        let options = Options { raw: true, columns, skip_bad, ..Options::default() };
        let mut all: Option<Self> = None;
        for path in paths {
            let own = Self::read(path, &options)?;
            match &mut all {
                Some(all) => all.values.extend(own.values),
                none => *none = Some(own),
            }
        }
        all.ok_or_else(|| Error::new(column, "no files are named"))?.read_as(known)
    }

    /// The classes of a column of words.
    fn of_words(
        texts: &Texts,
        column: &str,
        skip_bad: bool,
        classes: &[String],
    ) -> Result<Self, Error> {
        let names = match classes {
            [] => texts.words(&[column.to_owned()])?.pop().unwrap_or_default(),
            known => known.to_vec(),
        };
        let places = Places::new(&names);
        let mut values = Vec::new();
        for set in texts.sets() {
            let first = values.len();
            for chunk in set.chunks(ROWS)? {
                let chunk = chunk?;
                for (index, word) in chunk.index.iter().zip(&chunk.kept[0]) {
                    let class = match places.find(word) {
                        Some(class) => class as f64,
                        None if is_missing(word) || skip_bad => f64::NAN,
                        None => {
                            let said = format!(
                                "column {:?}: {:?} is none of the classes {}",
                                shortened(column, MOST_NAME),
                                shortened(word, MOST_NAME),
                                listed(&names)
                            );
                            return Err(Error::new(set.name(), Problem::Labels(said)));
                        }
                    };
                    let place = first + set.place(*index);
                    values.resize(place.max(values.len()), f64::NAN);
                    values.push(class);
                }
            }
            values.resize(first + set.rows()?, f64::NAN);
        }
        let name = texts.sets().first().map_or("", |set| set.name()).to_owned();
        match values.iter().position(|v| v.is_nan()) {
            Some(row) if !skip_bad => Err(no_label(&name, row)),
            _ => Ok(Self { name, values, names }),
        }
    }

    fn read(path: &Path, options: &Options) -> Result<Self, Error> {
        let set = Dataset::open(path, options)?;
        let entries: usize = set.sample_shape().iter().product();
        if entries != 1 {
            return Err(Error::at(
                path,
                Problem::Labels(format!(
                    "its rows have {entries} entries, and a label is one number"
                )),
            ));
        }
        let mut values = Vec::new();
        for chunk in set.chunks(ROWS)? {
            let chunk = chunk.map_err(|e| words_are_none(path, e))?;
            for (index, &value) in chunk.index.iter().zip(&chunk.values) {
                let place = set.place(*index);
                values.resize(place.max(values.len()), f64::NAN);
                values.push(f64::from(value));
            }
        }
        let rows = values.len().max(set.rows()?);
        values.resize(rows, f64::NAN);
        match values.iter().position(|v| v.is_nan()) {
            Some(row) if !options.skip_bad => Err(no_label(set.name(), row)),
            _ => Ok(Self::new(set.name(), values)),
        }
    }

    /// A name for messages: the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the classes are called, in the order of their numbers, where labels are words.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All of them, by the place of their rows; NaN where a row has none.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Fails unless there is one for each of `rows` rows of a data set.
    pub fn check_count(&self, rows: usize, of: &str) -> Result<(), Error> {
        if self.values.len() == rows {
            return Ok(());
        }
        let labels = self.values.len();
        Err(Error::new(
            &self.name,
            Problem::Labels(format!("{labels} labels for {rows} samples of {of}")),
        ))
    }

    /// All of them as the numbers of classes: whole, from 0 on and, if `classes` is known, below that.
    pub fn classes(&self, classes: Option<usize>) -> Result<Vec<i64>, Error> {
        let class = |(row, &value): (usize, &f64)| {
            if value.fract() != 0.0 || value.abs() >= 1e15 {
                return Err(Error::new(&self.name, Problem::NotWhole { row, value }));
            }
            class_of(value, classes).map_err(|wanted| {
                let said = format!("the label of row {row} (counted from 0) is {value}, {wanted}");
                Error::new(&self.name, Problem::Labels(said))
            })
        };
        self.values.iter().enumerate().map(class).collect()
    }
}

/// Rows gone through at once.
const ROWS: usize = 1 << 16;

fn no_label(name: &str, row: usize) -> Error {
    Error::new(name, Problem::Labels(format!("row {row} (counted from 0) has no label")))
}

/// A whole number as a class, or what is wrong with it.
#[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
fn class_of(value: f64, classes: Option<usize>) -> Result<i64, String> {
    match classes {
        Some(count) if value < 0.0 || value >= count as f64 => {
            Err(format!("and classes are numbered 0 to {}", count.saturating_sub(1)))
        }
        None if value < 0.0 => Err("and classes are numbered from 0 on".to_owned()),
        _ => Ok(value as i64),
    }
}

/// Words in a file of labels are no matter of leaving out lines.
fn words_are_none(path: &Path, error: Error) -> Error {
    match error.problem() {
        Problem::Entry { .. } => Error::at(
            path,
            Problem::Labels(format!(
                "{}: labels are the numbers of classes, from 0 on",
                error.problem()
            )),
        ),
        _ => error,
    }
}
