//! What can be gathered of the samples of a pass.

use serde::{Deserialize, Serialize};
use taste_graph::Id;

/// What is gathered of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gather {
    /// Count, mean and variance of every column.
    Moments,
    /// Count, mean and covariance of the columns.
    Covariance,
    /// The smallest and the largest value of every column.
    Range,
    /// How often values occur, in all columns together.
    Values,
    /// Count and mean of the columns by class.
    Classes {
        /// How many classes there are.
        classes: usize,
        /// What the class of a row is.
        by: By,
    },
    /// Some rows, each as likely as any other, with their labels where the data have them.
    Rows {
        /// How many at most.
        most: usize,
        /// The seed of the draw: draws with different seeds are independent.
        seed: u64,
        /// Whether rows with entries that are no numbers stay as well.
        whole: bool,
    },
}

/// What the class of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// The label of its sample.
    Label,
    /// The number in its last column, which counts for nothing else.
    Answer,
    /// The number in its last column, where it is the label; other rows do not count.
    RightAnswer,
}

impl Gather {
    /// Finite rows of `width` entries with at most `entries` entries together, but at least some.
    pub fn rows(entries: usize, width: usize, seed: u64) -> Self {
        Self::Rows { most: (entries / width.max(1)).max(2), seed, whole: false }
    }
}

/// A value of which something is gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The samples as they are read, with what is missing.
    Sample,
    /// What everything is a function of: the samples, with what the model fills in, or a value within the model.
    Input,
    /// A value of the graph, with a row for every sample.
    Value(Id),
}

/// Something to gather, under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The name.
    pub name: String,
    /// Of what.
    pub of: Of,
    /// What.
    pub gather: Gather,
}

impl Watch {
    /// Of the samples as they are read.
    pub fn sample(name: &str, gather: Gather) -> Self {
        Self { name: name.to_owned(), of: Of::Sample, gather }
    }

    /// Of what everything is a function of.
    pub fn input(name: &str, gather: Gather) -> Self {
        Self { name: name.to_owned(), of: Of::Input, gather }
    }

    /// Of a value of the graph.
    pub fn value(name: &str, id: Id, gather: Gather) -> Self {
        Self { name: name.to_owned(), of: Of::Value(id), gather }
    }
}
