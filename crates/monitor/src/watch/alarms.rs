//! Alarms: one for each episode, with what is known of it, and the messages about them that wait to be sent.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Moment;
use crate::Kind;

/// Alarms that are kept; the oldest go first.
const MOST: usize = 1000;

/// Where an alarm stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Nobody has looked at it.
    Firing,
    /// Somebody knows of it.
    Acknowledged,
    /// It is over.
    Resolved,
}

/// An episode: from evidence reaching A until it has not done so again for long, or a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alarm {
    /// Alarms are numbered from 1 on.
    pub id: u64,
    /// Where it stands.
    pub standing: Standing,
    /// The sample at which evidence reached A.
    pub raised: Moment,
    /// The last time that it did so, and how often.
    pub last: Moment,
    /// How often evidence reached A in this episode.
    pub crossings: u64,
    /// ln R when it was raised.
    pub log_evidence: f64,
    /// The stream with the most evidence.
    pub stream: Kind,
    /// How far that stream has moved since the likely beginning, in standard deviations.
    pub effect: f64,
    /// When it began; nothing if that can't be told.
    pub began: Option<Began>,
    /// The samples since then with the most evidence.
    pub carriers: Vec<Carrier>,
    /// What they differ in, if a front end has told: columns, pixels or terms of the score.
    pub reasons: Vec<Reason>,
    /// Who acknowledged it, and when.
    pub acknowledged: Option<Acknowledgement>,
    /// When it was resolved, and why.
    pub resolved: Option<Resolution>,
}

impl Alarm {
    /// Whether it is not over.
    pub fn stands(&self) -> bool {
        self.standing != Standing::Resolved
    }
}

/// When a change began: each end errs with a chance of at most 5 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// No sooner than this, if the shift was at least the assumed one from its start on; nothing where only a few samples
    /// are extreme, as then nothing is known.
    pub earliest: Option<Moment>,
    /// It had begun by this sample, whatever the shift.
    pub latest: Moment,
    /// The most likely sample.
    pub likely: Moment,
}

/// A sample that speaks for a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carrier {
    /// Which one.
    pub at: Moment,
    /// What it is called.
    pub name: String,
    /// By how much it multiplied the evidence of the leading bet, as a logarithm.
    pub log: f64,
}

/// What samples since the change differ in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// A column, a place in an image, or a term of the score.
    pub name: String,
    /// How much of the effect it makes, or by how much it moved, in standard deviations.
    pub effect: f64,
}

/// Who knows of an alarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// Who.
    pub by: String,
    /// What they said.
    pub note: String,
}

impl fmt::Display for Acknowledgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("acknowledged")?;
        if !self.by.is_empty() {
            write!(f, " by {}", self.by)?;
        }
        if !self.note.is_empty() {
            write!(f, ": {}", self.note)?;
        }
        Ok(())
    }
}

/// How an alarm ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// When.
    pub at: Moment,
    /// Why.
    pub why: Why,
}

/// Why an alarm ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// Evidence did not reach A again for long.
    Quiet,
    /// Somebody began anew.
    Restart,
}

/// What happened to an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// It was raised.
    Raised,
    /// Somebody knows of it.
    Acknowledged,
    /// It is over.
    Resolved,
}

/// News of an alarm that wait to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The alarm.
    pub alarm: u64,
    /// What happened to it.
    pub event: Event,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// The record that it follows from; it may be sent when that is durable.
    pub sequence: u64,
}

/// All alarms and messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Alarms {
    list: Vec<Alarm>,
    outbox: Vec<Message>,
    raised: u64,
}

impl Alarms {
    pub(crate) fn open(&mut self) -> Option<&mut Alarm> {
        self.list.last_mut().filter(|a| a.stands())
    }

    pub(crate) fn standing(&self) -> Option<&Alarm> {
        self.list.last().filter(|a| a.stands())
    }

    pub(crate) fn get(&mut self, id: u64) -> Option<&mut Alarm> {
        self.list.iter_mut().find(|a| a.id == id)
    }

    pub(crate) fn list(&self) -> &[Alarm] {
        &self.list
    }

    pub(crate) fn raised(&self) -> u64 {
        self.raised
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.raised + 1
    }

    pub(crate) fn raise(&mut self, alarm: Alarm, sequence: u64) {
        self.raised = alarm.id;
        self.tell(alarm.id, Event::Raised, alarm.raised.time, sequence);
        self.list.push(alarm);
        if self.list.len() > MOST {
            self.list.remove(0);
        }
    }

    pub(crate) fn acknowledge(&mut self, id: u64, ack: Acknowledgement, sequence: u64) {
        let time = ack.time;
        if let Some(alarm) = self.get(id).filter(|a| a.stands()) {
            alarm.standing = Standing::Acknowledged;
            alarm.acknowledged = Some(ack);
            self.tell(id, Event::Acknowledged, time, sequence);
        }
    }

    pub(crate) fn resolve(&mut self, at: Moment, why: Why, sequence: u64) {
        if let Some(alarm) = self.open() {
            alarm.standing = Standing::Resolved;
            alarm.resolved = Some(Resolution { at, why });
            let id = alarm.id;
            self.tell(id, Event::Resolved, at.time, sequence);
        }
    }

    fn tell(&mut self, alarm: u64, event: Event, time: i64, sequence: u64) {
        self.outbox.push(Message { alarm, event, time, sequence });
        if self.outbox.len() > MOST {
            self.outbox.remove(0);
        }
    }

    pub(crate) fn outbox(&self) -> &[Message] {
        &self.outbox
    }

    pub(crate) fn delivered(&mut self, alarm: u64, event: Event) {
        self.outbox.retain(|m| (m.alarm, m.event) != (alarm, event));
    }
}
