//! Labels that come apart from the samples: from a file of their own, or from a column of the samples' table.

use std::path::Path;

use crate::{Dataset, Error, Options, Problem, Samples};

/// A number for every row of a data set: its class, or the true value of what a model predicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    name: String,
    /// By the place of the row; NaN where it has none.
    values: Vec<f64>,
}

impl Labels {
    /// Labels in memory, one for every row; the name is for messages.
    pub fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values }
    }

    /// Reads a file that holds one number a row, in any of the [`FORMATS`](crate::FORMATS).
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::read(path, &Options { raw: true, ..Options::default() })
    }

    /// Reads a column of a table. With `skip_bad`, rows whose cell can't be read have no label.
    pub fn column(path: &Path, column: &str, skip_bad: bool) -> Result<Self, Error> {
        let columns = vec![column.to_owned()];
        Self::read(path, &Options { raw: true, columns, skip_bad, ..Options::default() })
    }

    fn read(path: &Path, options: &Options) -> Result<Self, Error> {
        const ROWS: usize = 1 << 16;
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
        let rows = values.len().max(set.len()? + set.skipped().len());
        values.resize(rows, f64::NAN);
        match values.iter().position(|v| v.is_nan()) {
            Some(row) if !options.skip_bad => Err(Error::at(
                path,
                Problem::Labels(format!("row {row} (counted from 0) has no label")),
            )),
            _ => Ok(Self::new(set.name(), values)),
        }
    }

    /// A name for messages: the file.
    pub fn name(&self) -> &str {
        &self.name
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
            class_of(value, classes).map_err(|wanted| {
                let said = format!("the label of row {row} (counted from 0) is {value}, {wanted}");
                Error::new(&self.name, Problem::Labels(said))
            })
        };
        self.values.iter().enumerate().map(class).collect()
    }
}

/// A number as a class, or what is wrong with it.
#[expect(clippy::cast_possible_truncation, reason = "whole and within the range of integers")]
fn class_of(value: f64, classes: Option<usize>) -> Result<i64, String> {
    if value.fract() != 0.0 || value.abs() >= 1e15 {
        return Err("not a whole number".to_owned());
    }
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
