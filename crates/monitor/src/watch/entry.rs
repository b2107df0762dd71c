//! What a record of the journal holds: everything that the state follows from.

use serde::{Deserialize, Serialize};

use super::alarms::{Acknowledgement, Event, Reason};
use crate::{Batch, origin::Origin, sequential::Rank};

/// One thing that happened. The state is a function of these alone, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Entry {
    /// Samples as ranks.
    Ranks(Arrived, Ranked),
    /// Samples as they are, while the stream's head becomes the calibration.
    Scores(Arrived, Vec<Vec<f64>>),
    /// Somebody knows of an alarm.
    Acknowledged { alarm: u64, by: Acknowledgement },
    /// Somebody began anew.
    Restarted { time: i64 },
    /// Somebody told what samples behind an alarm differ in.
    Explained { alarm: u64, reasons: Vec<Reason> },
    /// A message reached whom it was for.
    Delivered { alarm: u64, event: Event },
}

/// Samples that came together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Arrived {
    /// When, in milliseconds since 1970.
    pub(crate) time: i64,
    pub(crate) origin: Origin,
    pub(crate) flags: Vec<bool>,
    pub(crate) names: Vec<String>,
}

/// What evidence needs of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ranked {
    /// By stream.
    pub(crate) ranks: Vec<Vec<Rank>>,
    /// Positions without a finite score.
    pub(crate) not_finite: Vec<usize>,
    /// Positions and scores of samples that are among the worst.
    pub(crate) worst: Vec<(usize, f64)>,
}

impl Arrived {
    pub(crate) fn of(time: i64, origin: Origin, batch: &Batch) -> Self {
        Self { time, origin, flags: batch.flags.clone(), names: batch.names.clone() }
    }

    /// What a sample is called.
    pub(crate) fn name(&self, position: usize) -> String {
        self.names.get(position).cloned().unwrap_or_else(|| self.origin.label(position))
    }
}
