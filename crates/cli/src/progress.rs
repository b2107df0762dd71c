//! Bars on standard error.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar, if someone watches and the work is long.
pub(crate) struct Progress {
    started: Instant,
    what: &'static str,
    total: Option<u64>,
    watched: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For `total` things called `what`, if their number is known.
    pub(crate) fn new(what: &'static str, total: Option<usize>, quiet: bool) -> Self {
        let watched = !quiet && io::stderr().is_terminal();
        let total = total.map(|t| t as u64);
        Self { started: Instant::now(), what, total, watched, bar: None }
    }

    pub(crate) fn reach(&mut self, done: usize) {
        let done = done as u64;
        let long = self.started.elapsed() > Duration::from_secs(1);
        let more = self.total.is_none_or(|total| done < total);
        if self.watched && self.bar.is_none() && long && more {
            let bar = if let Some(total) = self.total {
                let template =
                    format!("{{wide_bar}} {{human_pos}}/{{human_len}} {}, {{eta}} left", self.what);
                styled(ProgressBar::new(total), &template)
            } else {
                let template =
                    format!("{{spinner}} {{human_pos}} {}, {{per_sec}}, {{elapsed}}", self.what);
                styled(ProgressBar::new_spinner(), &template)
            };
            self.bar = Some(bar.with_elapsed(self.started.elapsed()));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
