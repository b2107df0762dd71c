//! What detectors are worth on data with a known shift.

use pyo3::prelude::*;
use taste_data::{Labels, Options};
use taste_detector::Error;
use taste_zoo::evaluation::{self, Set, Truth};

use crate::{
    detector::Detector,
    errors::choice,
    given::{Data, Given, Opened},
    watch::Watch,
};

/// How well a detector tells clean samples from shifted ones, as JSON.
#[pyfunction]
#[pyo3(signature = (detector, clean, shifted, progress=None))]
pub(crate) fn evaluate(
    py: Python<'_>,
    detector: &Detector,
    clean: Given<'_>,
    shifted: Vec<(String, Given<'_>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let clean = clean.lend();
    let shifted: Vec<(&str, Data<'_>)> =
        shifted.iter().map(|(name, given)| (name.as_str(), given.lend())).collect();
    let watch = Watch::new(progress);
    let work = || -> Result<_, Error> {
        let own = detector.inner();
        let options = own.reading();
        let id = open(&clean, &options)?;
        let sets = shifted.iter().map(|(_, data)| open(data, &options));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let sets: Vec<Set<'_>> =
            shifted.iter().zip(&sets).map(|((name, _), open)| set(name, open)).collect();
        let chunk = own.manifest().model.chunk;
        let hear = |stage: taste_detector::Stage<'_>| watch.hear(stage);
        evaluation::evaluate(own, detector.engine(), chunk, &set("id", &id), &sets, &hear)
    };
    let found = py.detach(work).map_err(|e| watch.raise(&e))?;
    serde_json::to_string(&found).map_err(|e| choice(&e.to_string()))
}

fn open<'a>(data: &Data<'a>, options: &Options) -> Result<(Opened<'a>, Option<Labels>), Error> {
    Ok((data.open(options)?, data.truth(options)?))
}

fn set<'a>(name: &str, (opened, labels): &'a (Opened<'_>, Option<Labels>)) -> Set<'a> {
    let truth = labels.as_ref().map_or(Truth::Unknown, Truth::Given);
    Set { name: name.to_owned(), data: opened.samples(), truth }
}
