//! From scores to the monitor: what was scored is counted in order, and answered when it is durable.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
};

use ndarray::ArrayD;
use serde_json::{Map, Value};
use taste_detector::Scores;
use taste_monitor::{Batch, Monitor, Origin, Outcome};
use tokio::sync::watch;

use crate::{
    held::Held,
    kept::Kept,
    metrics::Counter,
    model::Model,
    queue::{Reply, RequestKey, Scored},
    recent::Recent,
    refusal::Refusal,
    time::now,
};

/// The monitor of a detector.
#[derive(Debug)]
pub(crate) struct Watched {
    monitor: Mutex<Monitor>,
    /// What the last samples were like.
    recent: Mutex<Recent>,
    /// The worst samples themselves, if they are kept.
    kept: Mutex<Kept>,
    /// The number of the last durable record: those who watch it are woken.
    pub(crate) changed: watch::Sender<u64>,
    /// When that was, in milliseconds since 1970.
    pub(crate) persisted: Counter,
}

impl Watched {
    pub(crate) fn new(monitor: Monitor, model: &Model, keep: usize) -> Self {
        Self {
            changed: watch::Sender::new(monitor.durable()),
            monitor: Mutex::new(monitor),
            recent: Mutex::new(Recent::new(&model.detector)),
            kept: Mutex::new(Kept::new(keep)),
            persisted: Counter::default(),
        }
    }

    pub(crate) fn monitor(&self) -> MutexGuard<'_, Monitor> {
        self.monitor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everyone who watches that something is durable.
    pub(crate) fn tell(&self, sequence: u64) {
        self.persisted.set(u64::try_from(now()).unwrap_or(0));
        self.changed.send_replace(sequence);
    }
}

/// What the monitor made of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// The number of the record that counted it.
    number: u64,
    /// Whether it had been counted before.
    duplicate: bool,
    /// The alarm that it raised.
    raised: Option<u64>,
}

impl Sequence {
    fn of(outcome: &Outcome) -> Self {
        let Outcome { sequence, duplicate, raised, .. } = *outcome;
        Self { number: sequence, duplicate, raised }
    }

    /// Adds it to an answer.
    pub(crate) fn describe(&self, answer: &mut Map<String, Value>) {
        answer.insert("sequence".to_owned(), self.number.into());
        if self.duplicate {
            answer.insert("duplicate".to_owned(), true.into());
        }
        if let Some(alarm) = self.raised {
            answer.insert("alarm".to_owned(), alarm.into());
        }
    }
}

/// Scores on their way to the monitor.
struct Entry {
    key: RequestKey,
    scores: Scores,
    samples: ArrayD<f32>,
    reply: Reply,
    _held: Held,
}

/// Hands scores to the thread that counts them.
#[derive(Debug)]
pub(crate) struct Recorder {
    entries: Sender<Entry>,
}

/// The most requests that one write to the disk serves.
const MOST_AT_ONCE: usize = 256;

impl Recorder {
    pub(crate) fn start(
        model: Arc<Model>,
        watched: Arc<Watched>,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (entries, received) = mpsc::channel();
        let name = format!("watch {}", model.name);
        let run = move || run(&model, &watched, &received);
        let thread = thread::Builder::new().name(name).spawn(run)?;
        Ok((Self { entries }, thread))
    }

    /// Counts samples and answers when that is durable.
    pub(crate) fn take(
        &self,
        key: RequestKey,
        scores: Scores,
        samples: ArrayD<f32>,
        reply: Reply,
        held: Held,
    ) {
        let entry = Entry { key, scores, samples, reply, _held: held };
        // The thread ends after this one; if it is gone, the reply goes with the entry, and the client is told.
        drop(self.entries.send(entry));
    }
}

fn run(model: &Model, watched: &Watched, received: &Receiver<Entry>) {
    while let Ok(first) = received.recv() {
        let entries: Vec<Entry> =
            std::iter::once(first).chain(received.try_iter().take(MOST_AT_ONCE - 1)).collect();
        let mut monitor = watched.monitor();
        let outcomes: Vec<_> = entries.iter().map(|e| count(&mut monitor, model, e)).collect();
        let committed = monitor.commit();
        let raised: Vec<u64> =
            outcomes.iter().flatten().filter_map(|outcome| outcome.raised).collect();
        for (entry, outcome) in entries.iter().zip(&outcomes) {
            if let Ok(outcome) = outcome
                && !outcome.duplicate
            {
                watched.recent().add(outcome.first, &entry.scores, &entry.samples);
                watched.kept().offer(outcome, &entry.samples);
            }
        }
        for alarm in raised {
            announce(&mut monitor, model, watched, alarm);
        }
        watched.recent().shorten();
        drop(monitor);
        if let Ok(sequence) = committed {
            watched.tell(sequence);
        }
        for (entry, outcome) in entries.into_iter().zip(outcomes) {
            let answer = match (&committed, outcome) {
                (Ok(_), Ok(outcome)) => {
                    let sequence = Some(Sequence::of(&outcome));
                    Ok(Scored { scores: entry.scores, sequence })
                }
                (Err(e), _) => Err(not_counted(&e.to_string())),
                (_, Err(message)) => Err(not_counted(&message)),
            };
            drop(entry.reply.send(answer));
        }
    }
}

fn not_counted(why: &str) -> Refusal {
    tracing::error!(why, "samples were not counted");
    Refusal::unavailable(format!("the samples were scored and could not be counted: {why}"))
}

fn count(monitor: &mut Monitor, model: &Model, entry: &Entry) -> Result<Outcome, String> {
    let batch = Batch::of(&model.detector, &entry.scores);
    let origin = match &entry.key {
        Some(id) => Origin::Request { id: id.clone() },
        None => Origin::Unnamed { name: "a request".to_owned(), first: monitor.samples() },
    };
    monitor.record(&batch, origin).map_err(|e| e.to_string())
}

/// Says that an alarm was raised, and notes what the samples from its likely beginning on differ in.
fn announce(monitor: &mut Monitor, model: &Model, watched: &Watched, alarm: u64) {
    let Some(found) = monitor.alarm(alarm) else { return };
    let from = found.began.map_or(found.raised.sample, |began| began.likely.sample);
    let reasons = watched.recent().reasons(from..=found.raised.sample);
    if let Err(e) = monitor.explain(alarm, reasons) {
        tracing::error!(error = %e, "the reasons of an alarm could not be noted");
    }
    if let Some(found) = monitor.alarm(alarm) {
        let summary = taste_monitor::message::summary(found);
        tracing::warn!(detector = model.name, alarm, summary, "alarm");
    }
}
