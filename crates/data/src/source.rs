//! What a format gives: rows as they are in the file, before any preparation.

use std::fmt;

use ndarray::ArrayD;

use crate::{Error, Layout};

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
}

/// Consecutive samples of a file.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) values: ArrayD<f32>,
    pub(crate) labels: Option<Vec<i64>>,
}

pub(crate) type Batches<'a> = Box<dyn Iterator<Item = Result<Rows, Error>> + Send + 'a>;

/// An open file or folder.
pub(crate) trait Source: fmt::Debug + Send + Sync {
    fn facts(&self) -> &Facts;

    /// How many samples, if that is known without reading them.
    fn count(&self) -> Option<usize>;

    /// The samples from the first on, at most `most` at a time and at least one.
    fn batches(&self, most: usize) -> Result<Batches<'_>, Error>;

    /// What a sample is called, by its number among those that could be read.
    fn row_name(&self, _index: usize) -> Option<String> {
        None
    }

    /// The place of a sample in the file, among all that it holds, by its number among those that could be read.
    fn place(&self, index: usize) -> usize {
        index
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
pub(crate) fn elements(sample: &[usize]) -> Result<usize, String> {
    let product = sample.iter().filter(|&&d| d != 0).try_fold(1usize, |p, &d| p.checked_mul(d));
    match product {
        Some(n) if n <= MOST_ELEMENTS => Ok(if sample.contains(&0) { 0 } else { n }),
        _ => Err(format!(
            "one sample of shape {} has more than {MOST_ELEMENTS} entries",
            crate::npy::shown(sample)
        )),
    }
}
