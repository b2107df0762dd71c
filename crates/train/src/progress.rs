//! What a run tells while it goes on.

use std::{ops::ControlFlow, time::Duration};

use serde::{Deserialize, Serialize};

/// A place on the loss curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Steps made.
    pub step: usize,
    /// The mean loss of the steps since the last point.
    pub loss: f64,
    /// The mean loss of held-out samples, where it was computed.
    pub held_out: Option<f64>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Steps made, the mean loss of the last of them, and the newest held-out loss.
    pub point: Point,
    /// Steps that an earlier run had made, which this one goes on from.
    pub resumed: usize,
    /// Steps in all.
    pub steps: usize,
    /// The rate of the last step.
    pub rate: f64,
    /// Time since the run started or was resumed.
    pub elapsed: Duration,
    /// Time to the last step, at the speed so far.
    pub left: Duration,
    /// Why the checkpoint could not be written the last time that it could not, in a sentence.
    pub unsaved: Option<&'a str>,
}

/// Hears where a run stands, and may stop it.
pub type Watch<'a> = dyn Fn(&Progress<'_>) -> ControlFlow<()> + 'a;
