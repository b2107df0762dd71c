//! Bars on standard error.

use std::{
    io::{self, IsTerminal},
    ops::ControlFlow,
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use taste_detector::Stage;

/// A bar for every stage of some work, one after the other.
pub(crate) struct Bars {
    quiet: bool,
    bar: Mutex<Option<(String, Progress)>>,
}

impl Bars {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, bar: Mutex::new(None) }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Ok(mut bar) = self.bar.lock() {
            *bar = None;
        }
    }

    /// What hears how far the work is.
    pub(crate) fn progress(&self) -> impl Fn(Stage<'_>) -> ControlFlow<()> + Send + Sync + '_ {
        move |stage| {
            if let Ok(mut bar) = self.bar.lock() {
                if bar.as_ref().is_none_or(|(purpose, _)| purpose != stage.purpose) {
                    let new = Progress::new(stage.purpose, stage.total, self.quiet);
                    *bar = Some((stage.purpose.to_owned(), new));
                }
                if let Some((_, progress)) = bar.as_mut() {
                    progress.reach(stage.done);
                }
            }
            ControlFlow::Continue(())
        }
    }
}

/// A bar, if someone watches and the work is long.
pub(crate) struct Progress {
    started: Instant,
    what: String,
    total: Option<u64>,
    watched: bool,
    /// Whether words take the place of an estimate.
    has_words: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For `total` things called `what`, if their number is known.
    pub(crate) fn new(what: &str, total: Option<usize>, quiet: bool) -> Self {
        let watched = !quiet && io::stderr().is_terminal();
        let total = total.map(|t| t as u64);
        Self {
            started: Instant::now(),
            what: what.to_owned(),
            total,
            watched,
            has_words: false,
            bar: None,
        }
    }

    pub(crate) fn reach(&mut self, done: usize) {
        self.show(done as u64);
    }

    /// Shows words beside the bar.
    pub(crate) fn reach_with(&mut self, done: usize, words: String) {
        self.has_words = true;
        self.show(done as u64);
        if let Some(bar) = &self.bar {
            bar.set_message(words);
        }
    }

    /// Takes the bar away while something else is told.
    pub(crate) fn aside(&self, tell: impl Fn()) {
        match &self.bar {
            Some(bar) => bar.suspend(tell),
            None => tell(),
        }
    }

    fn show(&mut self, done: u64) {
        let long = self.started.elapsed() > Duration::from_secs(1);
        let more = self.total.is_none_or(|total| done < total);
        if self.watched && self.bar.is_none() && long && more {
            let bar = if let Some(total) = self.total {
                let rest = if self.has_words { "{msg}" } else { "{eta} left" };
                let template =
                    format!("{{wide_bar}} {{human_pos}}/{{human_len}} {}, {rest}", self.what);
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
