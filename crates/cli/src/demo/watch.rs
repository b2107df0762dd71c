//! Telling how far the demonstration is.

use std::{ops::ControlFlow, sync::Mutex};

use taste_train::{Error, Progress as Step, Trained};

use crate::{progress::Progress, tell};

/// Lines and bars on standard error, unless nobody wants them.
pub(super) struct Watch {
    pub(super) quiet: bool,
}

impl Watch {
    /// Says what happens now.
    pub(super) fn say(&self, line: &str) {
        if !self.quiet {
            tell(line);
        }
    }

    /// A bar while a network is trained.
    pub(super) fn training(
        &self,
        what: &'static str,
        train: impl FnOnce(&dyn Fn(&Step<'_>) -> ControlFlow<()>) -> Result<Trained, Error>,
    ) -> Result<Trained, Error> {
        let bar = Mutex::new(None::<Progress>);
        train(&|step: &Step<'_>| {
            if let Ok(mut bar) = bar.lock() {
                let new = || Progress::new(what, Some(step.steps), self.quiet);
                bar.get_or_insert_with(new).reach(step.point.step);
            }
            ControlFlow::Continue(())
        })
    }
}
