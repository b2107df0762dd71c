//! Which samples serve what: no sample serves two purposes.

use taste_data::{Part, Samples};

use crate::{Error, error::request};

/// Of training data without calibration data, the share that is held out if the score model learns from the rest.
const HELD_OUT: f64 = 0.4;

/// A division of the data into three parts.
pub(crate) struct Division<'a> {
    held_out: &'a dyn Samples,
    /// The baseline comes from `0..adjust`, the calibration from `adjust..calibrate` and, unless there are calibration
    /// data, the score model from `calibrate..1`.
    adjust: f64,
    calibrate: f64,
    fit_from: f64,
    seed: u64,
    /// Samples for the score model.
    pub(crate) fitted: usize,
}

impl<'a> Division<'a> {
    pub(crate) fn new(
        train: &'a dyn Samples,
        calibration: Option<&'a dyn Samples>,
        learns: bool,
        most: usize,
        alpha: f64,
        seed: u64,
    ) -> Result<Self, Error> {
        let held_out = calibration.unwrap_or(train);
        let available = count(held_out)?;
        let share = if calibration.is_none() && learns { HELD_OUT } else { 1.0 };
        let wanted = (available as f64 * share).min(most as f64);
        let both = if available == 0 { 0.0 } else { wanted / available as f64 };
        let mut division = Self {
            held_out,
            adjust: both / 2.0,
            calibrate: both,
            fit_from: if calibration.is_none() { both } else { 0.0 },
            seed,
            fitted: 0,
        };
        let scored = division.calibrate_part().count().unwrap_or(available);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "alpha is checked"
        )]
        let needed = (1.0 / alpha - 1e-9).ceil() as usize - 1;
        if scored < needed.max(1) || division.adjust_part().count() == Some(0) {
            let both = 2 * needed.max(1);
            let remedy = if most < both && available as f64 * share >= both as f64 {
                format!("hold out {both} samples or more (--held-out)")
            } else {
                // Parts are drawn: some more than the mean are needed to be sure.
                let mean = both as f64 / share;
                format!("give about {} samples or more", (mean + 5.0 * mean.sqrt()).ceil())
            };
            return Err(request(format!(
                "{}: alpha = {alpha} needs at least {needed} calibration samples, and {scored} of its {available} \
                 samples serve for that; {remedy}, or a larger --alpha",
                held_out.name(),
            )));
        }
        division.fitted = match calibration {
            Some(_) => count(train)?,
            None => division.fit(train).count().unwrap_or(0),
        };
        Ok(division)
    }

    /// What the score model is fitted to.
    pub(crate) fn fit(&self, train: &'a dyn Samples) -> Part<'a> {
        Part::new(train, self.seed, self.fit_from, 1.0)
    }

    /// What gives the baseline.
    pub(crate) fn adjust_part(&self) -> Part<'a> {
        Part::new(self.held_out, self.seed, 0.0, self.adjust)
    }

    /// What gives the calibration scores.
    pub(crate) fn calibrate_part(&self) -> Part<'a> {
        Part::new(self.held_out, self.seed, self.adjust, self.calibrate)
    }
}

/// How many samples there are, by going through them if need be.
fn count(samples: &dyn Samples) -> Result<usize, Error> {
    if let Some(count) = samples.count() {
        return Ok(count);
    }
    let mut count = 0;
    for chunk in samples.chunks(4096)? {
        count += chunk?.len();
    }
    Ok(count)
}
