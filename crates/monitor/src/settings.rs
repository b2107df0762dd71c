//! What a monitor promises and what it overlooks.

use serde::{Deserialize, Serialize};

use crate::{Error, sequential::Tolerance};

/// What a monitor promises and what it overlooks. They belong to the state: a folder that was begun with others is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// A: without a change an alarm comes no sooner than every so many samples on average.
    pub run_length: f64,
    /// The chance, over calibration sets, that the promise does not hold for the one at hand.
    pub delta: f64,
    /// What does not count as a change.
    pub tolerance: Tolerance,
    /// The chance of a lifetime alarm, ever, if nothing ever changes.
    pub lifetime: f64,
    /// Evidence takes every so many-th sample, where neighbours depend on each other.
    pub every: u64,
    /// The first samples of the stream, this many, become the calibration.
    pub recalibrate: Option<usize>,
    /// The least shift, in standard deviations, that the earlier end of "it began between" assumes.
    pub assumed_shift: f64,
    /// An alarm resolves by itself after so many samples without evidence reaching A again, or ten times as many as it took
    /// to find the change, if that is more.
    pub quiet: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            run_length: 10_000.0,
            delta: 0.05,
            tolerance: Tolerance::default(),
            lifetime: 0.01,
            every: 1,
            recalibrate: None,
            assumed_shift: 0.5,
            quiet: 2000,
        }
    }
}

impl Settings {
    /// Fails where a value is out of its range.
    pub fn check(&self) -> Result<(), Error> {
        let refused = |name, wanted, found| Err(Error::Setting { name, wanted, found });
        if !(self.run_length > 1.0 && self.run_length <= 1e15) {
            return refused("run length", "above 1 and at most 1e15", self.run_length);
        }
        for (name, share) in [
            ("chance that a guarantee fails", self.delta),
            ("chance of a lifetime alarm", self.lifetime),
        ] {
            if !(share > 0.0 && share < 1.0) {
                return refused(name, "between 0 and 1", share);
            }
        }
        if !(self.assumed_shift > 0.0 && self.assumed_shift <= 10.0) {
            return refused("assumed shift", "above 0 and at most 10", self.assumed_shift);
        }
        if self.every == 0 {
            return refused("distance of samples that count", "at least 1", 0.0);
        }
        if let Some(few) = self.recalibrate.filter(|n| *n < crate::sequential::LEAST_SAMPLES) {
            return Err(Error::TooFew { found: few, least: crate::sequential::LEAST_SAMPLES });
        }
        self.tolerance.check()
    }
}
