//! `taste monitor`.

mod outbound;
mod sources;
mod standard;
pub(crate) mod text;

use std::{fs, path::Path};

use anyhow::{Result, anyhow};
use ndarray::ArrayD;
use serde::Serialize;
use taste_detector::{Detector, Scorer};
use taste_monitor::{Alarm, Baseline, Batch, Kept, Monitor, Opening, Origin, View, message};

use crate::{
    Outcome, args::MonitorArgs, detect::Detection, files, pages, paths, print, print_json, tell,
};
use outbound::Outbound;

/// Memory for the last samples, which tell what those behind an alarm differ in.
const KEPT: usize = 64 << 20;

/// What is known, in the words of `--json`.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    event: &'static str,
    pub(crate) file: &'a Path,
    pub(crate) state: &'a Path,
    /// Samples that this run counted.
    pub(crate) counted: u64,
    #[serde(flatten)]
    pub(crate) view: View,
}

impl<'a> Report<'a> {
    pub(crate) fn new(view: View, counted: u64, file: &'a Path, state: &'a Path) -> Self {
        Self { event: "summary", file, state, counted, view }
    }
}

pub(crate) fn run(args: &MonitorArgs) -> Result<Outcome> {
    let with = &args.with;
    let paths = paths::expanded(&args.data)?;
    let mut read = vec![with.detector.as_path()];
    read.extend(paths::borrowed(&paths));
    files::check_targets(&read, args.page.target().as_slice())?;
    let bytes = fs::read(&with.detector)
        .map_err(|e| anyhow!("{}: it can't be read: {e}", with.detector.display()))?;
    let detector = Detector::open(&with.detector)?;
    let baseline = Baseline::of(&detector, taste_onnx::sha256(&bytes));
    drop(bytes);
    let outbound = Outbound::new(&with.detector, &args.webhook, &args.alertmanager)?;
    let opening = Opening {
        accept_loss: args.accept_loss,
        // A mistyped folder is not a quiet monitor.
        existing: args.data.is_empty() && args.watch.is_none(),
    };
    let monitor = Monitor::open(&args.state, baseline, args.settings(), opening)?;
    for note in monitor.notes() {
        tell(&format!("note: {note}"));
    }
    let detection = Detection::start(&detector, with, false)?;
    let mut session = Session {
        args,
        detection,
        monitor,
        kept: Kept::new(KEPT),
        explainer: None,
        outbound,
        counted: 0,
        said: 0,
    };
    session.act()?;
    for path in &paths {
        if path == Path::new("-") {
            standard::take(&mut session)?;
        } else {
            sources::take(&mut session, path)?;
        }
    }
    if let Some(folder) = &args.watch {
        sources::watch(&mut session, folder)?;
    }
    session.finish()
}

/// A monitor while samples come.
struct Session<'a> {
    args: &'a MonitorArgs,
    detection: Detection<'a>,
    monitor: Monitor,
    kept: Kept,
    /// Scores with maps, once an alarm has asked for them.
    explainer: Option<Scorer>,
    outbound: Outbound,
    counted: u64,
    /// Samples in all when the state was last told.
    said: u64,
}

impl Session<'_> {
    /// Does what was asked for beside counting.
    fn act(&mut self) -> Result<()> {
        if let Some(note) = &self.args.acknowledge {
            let id = self.monitor.standing().map(|alarm| alarm.id);
            let id = id.ok_or_else(|| anyhow!("--acknowledge: no alarm stands"))?;
            let by = std::env::var("USER").unwrap_or_default();
            self.monitor.acknowledge(id, &by, note)?;
        }
        if self.args.restart {
            self.monitor.restart()?;
        }
        Ok(())
    }

    /// Whether samples come without an end in sight: then what happens is told as it happens.
    fn is_endless(&self) -> bool {
        self.args.watch.is_some() || self.args.data.iter().any(|p| p == Path::new("-"))
    }

    /// Scores and counts samples.
    fn take(&mut self, samples: ArrayD<f32>, names: Vec<String>, origin: Origin) -> Result<()> {
        let scores = self.detection.scorer.score(samples.view())?;
        let batch = Batch::of(self.detection.detector, &scores).named(names);
        let before = self.monitor.standing().map(|alarm| alarm.id);
        let outcome = self.monitor.record(&batch, origin)?;
        self.monitor.commit()?;
        self.counted += outcome.counted as u64;
        if outcome.counted == scores.len() {
            self.kept.push(outcome.first, samples);
        }
        if let Some(id) = outcome.raised {
            self.explain(id)?;
            self.tell_alarm("raised", id)?;
        }
        if let Some(id) = before.filter(|id| self.monitor.standing().is_none_or(|a| a.id != *id)) {
            self.tell_alarm("resolved", id)?;
        }
        self.outbound.deliver(&mut self.monitor)?;
        self.tell_state();
        Ok(())
    }

    /// Adds what the samples behind an alarm differ in.
    fn explain(&mut self, id: u64) -> Result<()> {
        let Some(alarm) = self.monitor.alarm(id).cloned() else { return Ok(()) };
        let detector = self.detection.detector;
        if self.explainer.is_none() {
            let engine = self.args.with.run.engine()?;
            self.explainer = Some(detector.start(&engine, detector.has_map())?);
        }
        if let Some(scorer) = &self.explainer {
            let reasons = self.kept.reasons(detector, scorer, &alarm)?;
            if !reasons.is_empty() {
                self.monitor.explain(id, reasons)?;
            }
        }
        Ok(())
    }

    fn tell_alarm(&self, event: &str, id: u64) -> Result<()> {
        let Some(alarm) = self.monitor.alarm(id) else { return Ok(()) };
        if self.args.with.json && self.is_endless() {
            return line(&serde_json::json!({ "event": event, "alarm": alarm }));
        }
        if !self.args.with.run.quiet() {
            tell(&match event {
                "resolved" => format!("alarm {id} is resolved"),
                _ => alarm_line(alarm),
            });
        }
        Ok(())
    }

    /// A line on standard error now and then.
    fn tell_state(&mut self) {
        const EVERY: u64 = 10_000;
        let samples = self.monitor.samples();
        if self.args.with.run.quiet() || samples < self.said + EVERY {
            return;
        }
        self.said = samples;
        tell(&text::state_line(&self.monitor.view()));
    }

    /// Nothing came for a while.
    fn idle(&mut self) -> Result<()> {
        self.outbound.deliver(&mut self.monitor)
    }

    fn finish(mut self) -> Result<Outcome> {
        self.outbound.deliver_all(&mut self.monitor)?;
        let view = self.monitor.view();
        let stands = view.standing().is_some();
        let report = Report::new(view, self.counted, &self.args.with.detector, &self.args.state);
        match (self.args.with.json, self.is_endless()) {
            (true, true) => line(&report)?,
            (true, false) => print_json(&report)?,
            (false, _) => print(&text::render(&report))?,
        }
        if !self.args.with.run.quiet() {
            for warning in text::warnings(&report.view) {
                tell(&warning);
            }
        }
        self.args.page.write(self.args.with.run.quiet(), || pages::monitor(&report))?;
        Ok(if stands { Outcome::Found } else { Outcome::Fine })
    }
}

fn alarm_line(alarm: &Alarm) -> String {
    let reasons: Vec<&str> = alarm.reasons.iter().map(|r| r.name.as_str()).collect();
    let carried = match &reasons[..] {
        [] => String::new(),
        some => format!("; carried by {}", some.join(", ")),
    };
    format!("{}{carried}", message::summary(alarm))
}

/// A value as one line of JSON.
fn line(value: &impl Serialize) -> Result<()> {
    print(&(serde_json::to_string(value)? + "\n"))
}
