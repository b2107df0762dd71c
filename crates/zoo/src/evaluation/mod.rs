//! What a detector is worth on data with a known shift: how well it tells shifted samples from clean ones, what it flags,
//! and, where labels are known, whether it finds the samples that the model is wrong about.

mod gather;
mod groups;
mod report;
mod summary;

use taste_data::{Labels, Samples};
use taste_detector::{Detector, Engine, Error, ErrorModel, Measure, Progress, Stage, refused};

pub use gather::{Column, Gathered};
pub use groups::group_of;
pub use report::{Evaluated, GroupReport, ScoreReport, SetReport, Task, Threshold};

pub(crate) use gather::Reader;
pub(crate) use summary::summarise;

/// Samples to evaluate on.
pub struct Set<'a> {
    /// What it is called. `A_fgsm` and `A/fgsm` belong to the group `A`.
    pub name: String,
    /// The samples.
    pub data: &'a dyn Samples,
    /// What is known of the right answers.
    pub truth: Truth<'a>,
}

impl std::fmt::Debug for Set<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Set").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What is known of the right answers to samples.
#[derive(Clone, Copy, Debug)]
pub enum Truth<'a> {
    /// Nothing.
    Unknown,
    /// The data set's own labels.
    Own,
    /// Labels that came apart from the samples, by the place of the row: classes, or the true values of a regressor.
    Given(&'a Labels),
}

/// Scores clean samples and shifted sets, `chunk` samples at once, and says how the detector does. Memory grows with the
/// number of scores, not with the size of samples.
pub fn evaluate(
    detector: &Detector,
    engine: &Engine,
    chunk: usize,
    id: &Set<'_>,
    sets: &[Set<'_>],
    progress: &Progress<'_>,
) -> Result<Evaluated, Error> {
    if sets.is_empty() {
        return Err(refused("there are no shifted sets to evaluate on"));
    }
    let reader = Reader::new(detector, engine, chunk)?;
    let gather = |set: &Set<'_>| -> Result<Gathered, Error> {
        let purpose = format!("samples of {}", set.name);
        reader.gather(set, &|stage: Stage<'_>| progress(Stage { purpose: &purpose, ..stage }))
    };
    let clean = gather(id)?;
    let shifted = sets.iter().map(gather).collect::<Result<Vec<_>, _>>()?;
    Ok(summarise(detector, &clean, &shifted))
}

/// Learns how wrong the model of a detector is by score, from labelled samples that neither has seen. Nothing where there
/// are too few.
pub fn learn_errors(
    detector: &Detector,
    engine: &Engine,
    chunk: usize,
    set: &Set<'_>,
    progress: &Progress<'_>,
) -> Result<Option<ErrorModel>, Error> {
    let found = Reader::new(detector, engine, chunk)?.gather(set, progress)?;
    let measure = match Task::of(detector).classes() {
        Some(_) => Measure::Accuracy,
        None => Measure::AbsoluteError,
    };
    let errors = found.errors.unwrap_or_default();
    Ok(ErrorModel::fit(measure, &found.scores[0].values, &errors))
}
