use taste_data::Samples;
use taste_engine::{Draft, Model, Request};

use crate::{Engine, Progress, Settings};

/// What is known of data before they are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Described {
    /// A name for messages.
    pub name: String,
    /// The sizes of one sample.
    pub sample_shape: Vec<usize>,
    /// Names of the entries of a sample, for tables.
    pub columns: Option<Vec<String>>,
    /// How many samples there are, if that is known.
    pub count: Option<usize>,
    /// How files became samples.
    pub reading: taste_data::Options,
    /// Whether files hold bytes.
    pub bytes: bool,
}

impl Described {
    /// Of samples that were made in memory.
    pub fn of(samples: &dyn Samples) -> Self {
        Self {
            name: samples.name().to_owned(),
            sample_shape: samples.sample_shape().to_vec(),
            columns: samples.columns().map(<[String]>::to_vec),
            count: samples.count(),
            reading: taste_data::Options::default(),
            bytes: false,
        }
    }

    /// Entries of one sample.
    pub fn dimension(&self) -> usize {
        self.sample_shape.iter().product()
    }
}

/// What a method works with.
pub struct Job<'a> {
    /// The model.
    pub model: &'a Model,
    /// Its graph, which grows.
    pub draft: Draft,
    /// How the graph was made of the model.
    pub asked: Request,
    /// The training data.
    pub data: &'a Described,
    /// The choices that every method has in common.
    pub settings: &'a Settings,
    /// What runs graphs.
    pub engine: &'a Engine,
    /// Who hears how far the work is.
    pub progress: &'a Progress<'a>,
}

/// Samples with at most this many entries get maps unasked: they are tables, and a map ranks their columns.
const SMALL: usize = 256;

impl Job<'_> {
    /// Whether maps are wanted.
    pub fn wants_map(&self) -> bool {
        let entries: usize = self.draft.sample_shape().iter().product();
        self.settings.map.unwrap_or(entries <= SMALL)
    }
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("data", self.data).finish_non_exhaustive()
    }
}
