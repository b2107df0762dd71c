//! Fits on data that are elsewhere: plans and states as bytes, for any engine that maps over parts of a table.

use std::collections::BTreeMap;

use numpy::PyReadonlyArray1;
use pyo3::{prelude::*, types::PyBytes};
use taste_data::{Chunk, Options};
use taste_detector::{
    Described, Error, Fit, Next,
    passes::{self, Source},
    refused,
};

use crate::{
    detector::Detector,
    engine::Engine,
    errors::{data, json, raise},
    fit::Order,
    given::{Data, Given},
    model::Model,
    watch::Watch,
};

/// What a pass over data does.
#[pyclass(frozen, module = "taste_ood._taste", skip_from_py_object)]
#[derive(Clone)]
pub(crate) struct Plan {
    inner: passes::Plan,
}

#[pymethods]
impl Plan {
    /// From `to_bytes`.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { inner: passes::Plan::from_bytes(bytes).map_err(|e| raise(&e))? })
    }

    /// As bytes, to be sent to where the data are.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.inner.to_bytes().map_err(|e| raise(&e))?))
    }

    /// What the samples are for.
    #[getter]
    fn purpose(&self) -> &str {
        self.inner.purpose()
    }

    /// Which data it goes through: `train` or `calibration`.
    #[getter]
    fn source(&self) -> &'static str {
        match self.inner.source() {
            Source::Train => "train",
            Source::Calibration => "calibration",
        }
    }

    /// Data that are cut at keys that are multiples of this number give the same bits as on one machine.
    #[getter]
    fn block(&self) -> u64 {
        self.inner.block()
    }
}

/// What a pass gathered of a part of the data.
#[pyclass(frozen, module = "taste_ood._taste", skip_from_py_object)]
#[derive(Clone)]
pub(crate) struct State {
    inner: passes::State,
}

#[pymethods]
impl State {
    /// From `to_bytes`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let state = py.detach(|| passes::State::from_bytes(bytes));
        Ok(Self { inner: state.map_err(|e| raise(&e))? })
    }

    /// As bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.inner.to_bytes()).map_err(|e| raise(&e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// This one and others as one.
    fn merged(&self, py: Python<'_>, others: Vec<Bound<'_, Self>>) -> PyResult<Self> {
        let others: Vec<&Self> = others.iter().map(Bound::get).collect();
        let merge = || {
            let mut sum = self.inner.clone();
            others.iter().try_for_each(|other| sum.merge(other.inner.clone()))?;
            Ok::<_, Error>(sum)
        };
        Ok(Self { inner: py.detach(merge).map_err(|e| raise(&e))? })
    }

    /// How many samples were offered.
    #[getter]
    fn rows(&self) -> u64 {
        self.inner.rows()
    }

    /// The wrapping sum of the hashes of their keys.
    #[getter]
    fn checksum(&self) -> u64 {
        self.inner.checksum()
    }
}

/// Goes through a part of the data, which comes as pairs of keys and samples, and returns what was gathered. With the number
/// of a part, samples may come in any order; without, keys are the numbers of rows and count on, but for gaps.
#[pyfunction]
#[pyo3(signature = (plan, batches, reading, engine, part=None))]
pub(crate) fn gather(
    py: Python<'_>,
    plan: &Plan,
    batches: &Bound<'_, PyAny>,
    reading: &str,
    engine: &Engine,
    part: Option<u64>,
) -> PyResult<State> {
    let options: Options = json("reading", reading)?;
    let mut gathering = Gathering { plan: &plan.inner, engine, part, at: None, done: None };
    for batch in batches.try_iter()? {
        let (keys, given): (PyReadonlyArray1<'_, u64>, Given<'_>) = batch?.extract()?;
        let (keys, samples) = (keys.as_array().to_vec(), given.lend());
        py.detach(|| gathering.add(&keys, &samples, &options)).map_err(|e| raise(&e))?;
        py.check_signals()?;
    }
    let state = py.detach(|| gathering.finish()).map_err(|e| raise(&e))?;
    Ok(State { inner: state })
}

struct Gathering<'p> {
    plan: &'p passes::Plan,
    engine: &'p Engine,
    part: Option<u64>,
    /// The worker at hand and the key that it expects next.
    at: Option<(passes::Worker<'p>, u64)>,
    /// What earlier workers gathered.
    done: Option<passes::State>,
}

impl Gathering<'_> {
    fn add(&mut self, keys: &[u64], data: &Data<'_>, options: &Options) -> Result<(), Error> {
        let opened = data.open(options)?;
        let labels = data.truth(options)?.map(|labels| labels.classes(None)).transpose()?;
        let Some(chunk) = opened.samples().chunks(keys.len().max(1))?.next() else { return Ok(()) };
        let chunk = chunk?;
        if chunk.len() != keys.len() {
            let (samples, keys) = (chunk.len(), keys.len());
            return Err(refused(format!("there are {keys} keys for {samples} samples")));
        }
        let index = keys.iter().map(|&k| usize::try_from(k)).collect::<Result<Vec<_>, _>>();
        let index = index.map_err(|_| refused("a key is too large"))?;
        let chunk = Chunk { index, labels, ..chunk };
        if let Some(part) = self.part {
            let (worker, _) =
                self.worker(part, |plan, engine| passes::Worker::of_part(plan, engine, part))?;
            return worker.update(&chunk);
        }
        let mut start = 0;
        while start < keys.len() {
            let more = (start + 1..keys.len()).find(|&i| keys[i] != keys[i - 1].wrapping_add(1));
            let end = more.unwrap_or(keys.len());
            let first = keys[start];
            if self.at.as_ref().is_some_and(|(_, next)| *next != first) {
                self.close()?;
            }
            let run = chunk.select(&(start..end).collect::<Vec<_>>());
            let (worker, next) =
                self.worker(first, |plan, engine| passes::Worker::new(plan, engine, first))?;
            worker.update(&run)?;
            *next = keys[end - 1] + 1;
            start = end;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        if let Some((worker, next)) = self.at.take() {
            let state = worker.finish(next)?;
            match &mut self.done {
                Some(done) => done.merge(state)?,
                none => *none = Some(state),
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<passes::State, Error> {
        if self.at.is_none() && self.done.is_none() {
            self.at = Some((self.empty()?, 0));
        }
        self.close()?;
        self.done.take().ok_or_else(|| refused("nothing was gathered"))
    }
}

impl<'p> Gathering<'p> {
    fn worker(
        &mut self,
        first: u64,
        new: impl FnOnce(&'p passes::Plan, &taste_detector::Engine) -> Result<passes::Worker<'p>, Error>,
    ) -> Result<&mut (passes::Worker<'p>, u64), Error> {
        if self.at.is_none() {
            self.at = Some((new(self.plan, &self.engine.inner)?, first));
        }
        self.at.as_mut().ok_or_else(|| refused("nothing was gathered"))
    }

    fn empty(&self) -> Result<passes::Worker<'p>, Error> {
        let (plan, engine) = (self.plan, &self.engine.inner);
        match self.part {
            Some(part) => passes::Worker::of_part(plan, engine, part),
            None => passes::Worker::new(plan, engine, 0),
        }
    }
}

/// What is known of data before they are read: name, sizes of a sample, names of columns, number of samples, whether they
/// hold bytes.
type Known = (String, Vec<usize>, Option<Vec<String>>, Option<usize>, bool);

/// Makes a detector of data that are elsewhere: `run` takes a plan and returns what all parts gathered.
#[pyfunction]
#[pyo3(signature = (model, train, calibration, method, options, settings, reading, engine, run, progress=None))]
#[expect(clippy::too_many_arguments, reason = "called by taste_ood._passes alone")]
pub(crate) fn fit_passes(
    py: Python<'_>,
    model: &Model,
    train: Known,
    calibration: Option<Known>,
    method: &str,
    options: BTreeMap<String, String>,
    settings: &str,
    reading: &str,
    engine: &Engine,
    run: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Detector> {
    let order = Order::read(method, options, settings, reading)?;
    let watch = Watch::new(progress);
    let mut failed: Option<PyErr> = None;
    let made = py.detach(|| {
        make(model, train, calibration, order, engine, &watch, |plan| {
            let plan = Plan { inner: plan.clone() };
            let state = Python::attach(|py| {
                let state = run.call1(py, (plan,))?;
                let state =
                    state.cast_bound::<State>(py).map_err(|_| data("a pass returned no state"))?;
                Ok(state.get().inner.clone())
            });
            state.map_err(|e| {
                failed = Some(e);
                Error::Cancelled
            })
        })
    });
    match (made, failed) {
        (Ok(detector), _) => Ok(Detector::new(detector, engine.clone())),
        (Err(_), Some(failed)) => Err(failed),
        (Err(e), None) => Err(watch.raise(&e)),
    }
}

fn make(
    model: &Model,
    train: Known,
    calibration: Option<Known>,
    order: Order,
    engine: &Engine,
    watch: &Watch,
    mut run: impl FnMut(&passes::Plan) -> Result<passes::State, Error>,
) -> Result<taste_detector::Detector, Error> {
    let (model, reading) = (&model.inner, order.reading);
    let options = Options { sample_shape: model.sample_shape()?, ..reading };
    let described = |(name, sample_shape, columns, count, bytes): Known| Described {
        name,
        sample_shape,
        columns,
        count,
        reading: options.clone(),
        bytes,
    };
    let (train, calibration) = (described(train), calibration.map(described));
    let hear = |stage: taste_detector::Stage<'_>| watch.hear(stage);
    let name = order.method.written();
    let fit = Fit::new(model, order.method)
        .settings(order.settings)
        .engine(engine.inner.clone())
        .progress(&hear);
    let mut fitting = fit.start(&train, calibration.as_ref())?;
    loop {
        match fitting.next()? {
            Next::Pass(plan) => fitting.take(&plan, run(&plan)?)?,
            Next::Samples { .. } => {
                return Err(refused(format!(
                    "the method {name} learns from the samples themselves and not in passes: fit it on one machine, or \
                     choose another"
                )));
            }
            Next::Done(detector) => return Ok(*detector),
        }
    }
}
