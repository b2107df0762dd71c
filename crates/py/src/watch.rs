//! How far long work is, and whether someone wants it to stop.

use std::{
    ops::ControlFlow,
    sync::Mutex,
    time::{Duration, Instant},
};

use pyo3::prelude::*;
use taste_detector::{Error, Stage};

use crate::errors::raise;

/// How often Python is asked.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks Python now and then whether a signal came, and tells a function how far the work is.
pub(crate) struct Watch {
    progress: Option<Py<PyAny>>,
    last: Mutex<(Instant, String)>,
    stopped: Mutex<Option<PyErr>>,
}

impl Watch {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        let last = Mutex::new((Instant::now(), String::new()));
        Self { progress, last, stopped: Mutex::new(None) }
    }

    /// Hears how far the work is; stops it after Ctrl-C, or if the function raises.
    pub(crate) fn hear(&self, stage: Stage<'_>) -> ControlFlow<()> {
        {
            let Ok(mut last) = self.last.lock() else { return ControlFlow::Continue(()) };
            let is_last = stage.total == Some(stage.done);
            let is_new = last.1 != stage.purpose;
            if !is_new && !is_last && last.0.elapsed() < PAUSE {
                return ControlFlow::Continue(());
            }
            *last = (Instant::now(), stage.purpose.to_owned());
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &self.progress {
                progress.call1(py, (stage.purpose, stage.done, stage.total))?;
            }
            Ok(())
        });
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                if let Ok(mut stopped) = self.stopped.lock() {
                    stopped.get_or_insert(error);
                }
                ControlFlow::Break(())
            }
        }
    }

    /// Likewise for work without a name.
    pub(crate) fn go_on(&self, done: usize, total: usize) -> Result<(), Error> {
        match self.hear(Stage { purpose: "samples", done, total: Some(total) }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        }
    }

    /// An error as an exception: that which stopped the work, if one did.
    pub(crate) fn raise(&self, error: &Error) -> PyErr {
        let stopped = self.stopped.lock().ok().and_then(|mut stopped| stopped.take());
        stopped.unwrap_or_else(|| raise(error))
    }
}
