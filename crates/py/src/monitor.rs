//! Streams that are watched.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use pyo3::prelude::*;
use taste_cli::shown::{self, Shown};
use taste_detector::Error;
use taste_monitor::{
    Baseline, Batch, Kept, Monitor as Stream, Opening, Origin, Settings, sequential::Tolerance,
};

use crate::{
    detector::Detector,
    errors::{choice, raise_monitor},
    given::{Data, Given},
    watch::Watch,
};

/// Memory for the last samples, which tell what those behind an alarm differ in.
const KEPT: usize = 64 << 20;

/// A stream of samples that a detector watches, with a state that lasts.
#[pyclass(frozen, module = "taste_ood._taste", skip_from_py_object)]
pub(crate) struct Monitor {
    detector: Py<Detector>,
    folder: PathBuf,
    /// None once it is closed. Taken only where Python's lock is not held.
    open: Mutex<Option<Session>>,
}

struct Session {
    stream: Stream,
    kept: Kept,
    counted: u64,
}

/// Why samples were not counted.
enum Trouble {
    Closed,
    Scoring(Error),
    Counting(taste_monitor::Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Scoring(error)
    }
}

impl From<taste_monitor::Error> for Trouble {
    fn from(error: taste_monitor::Error) -> Self {
        Self::Counting(error)
    }
}

/// How many samples were counted, whether all had been counted before, and the alarm that they raised.
type Counted = (usize, bool, Option<u64>);

impl Session {
    fn update(
        &mut self,
        detector: &Detector,
        data: &Data<'_>,
        id: Option<String>,
        watch: &Watch,
    ) -> Result<Counted, Trouble> {
        if id.as_ref().is_some_and(|id| self.stream.request(id).is_some()) {
            return Ok((0, true, None));
        }
        let first = self.stream.samples();
        let (mut batch, kept) = (Batch::default(), &mut self.kept);
        let with = (false, false, None);
        let options = detector.inner().reading();
        let scored = detector.each(data, &options, with, watch, |_, samples, scores| {
            kept.push(first + 1 + batch.len() as u64, samples.to_owned());
            batch.append(Batch::of(detector.inner(), &scores));
            Ok(())
        });
        if let Err(error) = scored {
            // Nothing was counted, so nothing of it may explain an alarm.
            self.kept = Kept::new(KEPT);
            return Err(error.into());
        }
        let unnamed = || Origin::Unnamed { name: "samples".to_owned(), first };
        let origin = id.map_or_else(unnamed, |id| Origin::Request { id });
        let outcome = self.stream.record(&batch, origin)?;
        self.stream.commit()?;
        self.counted += outcome.counted as u64;
        let raised = outcome.raised.and_then(|id| self.stream.alarm(id).cloned());
        if let Some(alarm) = raised {
            let scorer = detector.scorer(detector.inner().has_map(), false)?;
            let reasons = self.kept.reasons(detector.inner(), &scorer, &alarm)?;
            if !reasons.is_empty() {
                self.stream.explain(alarm.id, reasons)?;
            }
        }
        Ok((outcome.counted, outcome.duplicate, outcome.raised))
    }
}

impl Monitor {
    /// Does something with the stream while other threads of Python run.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        watch: &Watch,
        work: impl FnOnce(&mut Session) -> Result<T, Trouble> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.as_mut().ok_or(Trouble::Closed).and_then(work)
        });
        done.map_err(|trouble| match trouble {
            Trouble::Closed => {
                choice("this monitor is closed: open it again with detector.monitor")
            }
            Trouble::Scoring(error) => watch.raise(&error),
            Trouble::Counting(error) => raise_monitor(&error),
        })
    }

    fn shown(&self, py: Python<'_>) -> PyResult<Shown> {
        self.with(py, &Watch::new(None), |session| {
            let (view, counted) = (session.stream.view(), session.counted);
            Ok(shown::monitor(view, counted, Path::new("detector"), &self.folder))
        })
    }
}

#[pymethods]
impl Monitor {
    /// Opens the state in a folder, or begins one there.
    #[new]
    #[pyo3(signature = (detector, folder, run_length, delta, tolerance, every, recalibrate, accept_loss))]
    #[expect(clippy::too_many_arguments, reason = "called by Detector.monitor alone")]
    fn new(
        py: Python<'_>,
        detector: Py<Detector>,
        folder: PathBuf,
        run_length: f64,
        delta: f64,
        tolerance: (f64, f64, f64),
        every: u64,
        recalibrate: Option<usize>,
        accept_loss: bool,
    ) -> PyResult<Self> {
        let (junk, optimism, least_effect) = tolerance;
        let tolerance = Tolerance { junk, optimism, least_effect };
        let settings =
            Settings { run_length, delta, tolerance, every, recalibrate, ..Settings::default() };
        let own = detector.get();
        let opened = py.detach(|| -> Result<Stream, Trouble> {
            let baseline = Baseline::of(own.inner(), own.sha256()?);
            Ok(Stream::open(
                &folder,
                baseline,
                settings,
                Opening { accept_loss, ..Opening::default() },
            )?)
        });
        let stream = opened.map_err(|trouble| match trouble {
            Trouble::Counting(error) => raise_monitor(&error),
            Trouble::Scoring(error) => crate::errors::raise(&error),
            Trouble::Closed => choice("this monitor is closed"),
        })?;
        let session = Session { stream, kept: Kept::new(KEPT), counted: 0 };
        Ok(Self { detector, folder, open: Mutex::new(Some(session)) })
    }

    /// Scores and counts samples in the order in which they came: how many were counted, whether all of them had been
    /// counted before, and the number of an alarm that they raised. They are durable when it returns.
    #[pyo3(signature = (data, id=None, progress=None))]
    fn update(
        &self,
        py: Python<'_>,
        data: Given<'_>,
        id: Option<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Counted> {
        let (data, watch) = (data.lend(), Watch::new(progress));
        let detector = self.detector.get();
        self.with(py, &watch, |session| session.update(detector, &data, id, &watch))
    }

    /// All that is known, as JSON.
    fn view(&self, py: Python<'_>) -> PyResult<String> {
        let view = self.with(py, &Watch::new(None), |session| Ok(session.stream.view()))?;
        serde_json::to_string(&view).map_err(|e| choice(&e.to_string()))
    }

    /// What was found when the state was opened, in sentences.
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, &Watch::new(None), |session| Ok(session.stream.notes().to_vec()))
    }

    /// In words.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.shown(py)?.text)
    }

    /// As a page for a browser.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.shown(py)?.page)
    }

    /// Notes that somebody knows of the alarm that stands.
    fn acknowledge(&self, py: Python<'_>, note: &str, by: &str) -> PyResult<()> {
        let known = self.with(py, &Watch::new(None), |session| {
            let Some(id) = session.stream.standing().map(|alarm| alarm.id) else {
                return Ok(false);
            };
            Ok(session.stream.acknowledge(id, by, note).map(|()| true)?)
        })?;
        if known { Ok(()) } else { Err(choice("no alarm stands, so there is none to acknowledge")) }
    }

    /// Resolves the alarm that stands and begins evidence anew.
    fn restart(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, &Watch::new(None), |session| Ok(session.stream.restart()?))
    }

    /// Lets go of the state, so that others may open it.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
