//! What a format gives: rows as they are in the file, before any preparation.

use std::fmt;

use ndarray::{ArrayD, Axis};
use taste_files::message::shape;

use crate::{Error, Keep, Layout, Problem, samples::chosen};

/// What is known of a file once it is open.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The sizes of one sample in the file.
    pub(crate) sample: Vec<usize>,
    /// Whether values are those of uint8.
    pub(crate) bytes: bool,
    /// Where the channels are, if the format says so.
    pub(crate) layout: Layout,
    /// The names of the entries of a table's rows.
    pub(crate) columns: Option<Vec<String>>,
    /// The columns of a table that a sample is made of, by the names that the file itself gives them.
    pub(crate) taken: Option<Vec<String>>,
    /// The columns of a table that can come along as text, by those names.
    pub(crate) texts: Vec<String>,
    /// Whether images come in the size that the options ask for.
    pub(crate) sized: bool,
}

/// Samples of a file, in order.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The number of each sample in the file.
    pub(crate) index: Vec<usize>,
    pub(crate) values: ArrayD<f32>,
    pub(crate) labels: Option<Vec<i64>>,
    /// The text of every column that comes along.
    pub(crate) kept: Vec<Vec<String>>,
}

impl Rows {
    /// Without the samples that are not wanted.
    pub(crate) fn kept(self, keep: &Keep<'_>) -> Self {
        let positions: Vec<usize> =
            (0..self.index.len()).filter(|&i| keep(self.index[i])).collect();
        if positions.len() == self.index.len() {
            return self;
        }
        Self {
            index: positions.iter().map(|&i| self.index[i]).collect(),
            values: self.values.select(Axis(0), &positions),
            labels: self.labels.map(|all| positions.iter().map(|&i| all[i]).collect()),
            kept: chosen(&self.kept, &positions),
        }
    }
}

pub(crate) type Batches<'a> = Box<dyn Iterator<Item = Result<Rows, Error>> + Send + 'a>;

/// An open file or folder.
pub(crate) trait Source: fmt::Debug + Send + Sync {
    fn facts(&self) -> &Facts;

    /// How many samples, if that is known without reading them; always after a pass to the end.
    fn count(&self) -> Option<usize>;

    /// The samples that `keep` wants by their numbers, from the first on, at most `most` at a time and perhaps none.
    fn batches<'a>(&'a self, most: usize, keep: Keep<'a>) -> Result<Batches<'a>, Error>;

    /// What a sample is called, by its number among those that could be read.
    fn row_name(&self, _index: usize) -> Option<String> {
        None
    }

    /// The place of a sample in the file, among all that it holds, by its number among those that could be read.
    fn place(&self, index: usize) -> usize {
        index
    }

    /// Whether labels are the places of classes already, and no numbers that classes have.
    fn labels_are_places(&self) -> bool {
        false
    }

    /// The columns that hold lists of numbers, and the length of the longest in each. Goes through all rows.
    fn longest_lists(&self) -> Result<Vec<(String, usize)>, Error> {
        Ok(Vec::new())
    }

    /// How many samples so far had lists that were cut.
    fn cut_count(&self) -> usize {
        0
    }

    /// How many were left out so far.
    fn skipped_count(&self) -> usize {
        0
    }

    /// What was left out so far, and why.
    fn skipped(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// The most elements of one sample: a header may promise anything.
pub(crate) const MOST_ELEMENTS: usize = 1 << 28;

/// The number of elements of a sample, unless there are too many.
pub(crate) fn elements(sample: &[usize]) -> Result<usize, Problem> {
    let product = sample.iter().filter(|&&d| d != 0).try_fold(1usize, |p, &d| p.checked_mul(d));
    match product {
        Some(n) if n <= MOST_ELEMENTS => Ok(if sample.contains(&0) { 0 } else { n }),
        _ => {
            let sample = shape(sample);
            Err(format!("one sample of shape {sample} has more than {MOST_ELEMENTS} entries")
                .into())
        }
    }
}
