//! A bar while a network is trained.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use taste_train::Progress as Step;

use crate::{duration, progress::Progress, table::number, tell};

/// Shows steps, loss, rate and the time that is left, and says when a run goes on from an earlier one or its checkpoint
/// can't be written.
pub(crate) struct TrainingBar {
    what: &'static str,
    quiet: bool,
    bar: Mutex<Option<Progress>>,
    has_warned: AtomicBool,
}

impl TrainingBar {
    pub(crate) fn new(what: &'static str, quiet: bool) -> Self {
        Self { what, quiet, bar: Mutex::new(None), has_warned: AtomicBool::new(false) }
    }

    pub(crate) fn tell(&self, step: &Step<'_>) {
        let Ok(mut bar) = self.bar.lock() else { return };
        let is_first = bar.is_none();
        if is_first && step.resumed > 0 && !self.quiet {
            tell(&format!("going on from step {} of {}", step.resumed, step.steps));
        }
        if let Some(why) =
            step.unsaved.filter(|_| !self.quiet && !self.has_warned.swap(true, Relaxed))
        {
            let warn = || tell(&format!("warning: {why}; the run goes on without it"));
            bar.as_ref().map_or_else(warn, |bar| bar.aside(warn));
        }
        let shown =
            bar.get_or_insert_with(|| Progress::new(self.what, Some(step.steps), self.quiet));
        let held_out = step
            .point
            .held_out
            .map_or_else(String::new, |loss| format!(", held out {}", number(loss)));
        shown.reach_with(
            step.point.step,
            format!(
                "loss {}{held_out}, rate {}, {} left",
                number(step.point.loss),
                number(step.rate),
                duration::time(step.left)
            ),
        );
        if step.point.step == step.steps {
            *bar = None;
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Ok(mut bar) = self.bar.lock() {
            *bar = None;
        }
    }
}
