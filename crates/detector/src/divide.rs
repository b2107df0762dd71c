//! Which samples serve what: no sample serves two purposes.

use serde::{Deserialize, Serialize};
use taste_stats::{conformal::samples_needed, random};

use crate::{Error, Needs, Settings, Shortage};

/// Of training data without calibration data, the share that is held out if the method learns from the rest.
const HELD_OUT: f64 = 0.4;

/// A purpose that samples serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Split {
    /// What densities, banks of features and the like are learnt from.
    Fit,
    /// Held-out samples that the spread of a method's values is learnt from.
    Tails,
    /// Held-out samples whose scores calibrate the detector.
    Calibration,
    /// All samples.
    All,
}

/// The samples whose place in 0..1, by a hash of seed and key, lies in `from..to`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Share {
    seed: u64,
    from: f64,
    to: f64,
}

impl Share {
    /// All samples.
    pub(crate) const ALL: Self = Self { seed: 0, from: 0.0, to: 1.0 };

    /// So many samples on average, of as many as there are; all if that is not known.
    pub(crate) fn some(seed: u64, wanted: usize, count: Option<usize>) -> Self {
        let to = count.map_or(1.0, |n| wanted as f64 / n.max(1) as f64);
        Self { seed, from: 0.0, to: to.min(1.0) }
    }

    /// Whether it has a sample.
    pub(crate) fn holds(&self, key: u64) -> bool {
        let place = random::position(self.seed, key);
        (self.from <= place && place < self.to) || (self.from == 0.0 && self.to >= 1.0)
    }

    /// Its bounds within 0..1.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// How large it is on average.
    pub(crate) fn size(&self) -> f64 {
        (self.to - self.from).clamp(0.0, 1.0)
    }

    /// How many of the samples 0..count it has.
    pub(crate) fn count(&self, count: usize) -> usize {
        (0..count as u64).filter(|&key| self.holds(key)).count()
    }
}

/// A division of the data: the first part of the held-out samples gives the tails, the second calibrates, and unless there
/// are calibration data of their own the rest is fitted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    tails: f64,
    held_out: f64,
    fit_from: f64,
    seed: u64,
}

impl Division {
    /// Of `available` samples to hold out from, which are calibration data of their own if they are `apart`.
    pub(crate) fn new(
        data: &str,
        available: usize,
        apart: bool,
        needs: Needs,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let share = if needs.learns && !apart { HELD_OUT } else { 1.0 };
        let tails = if needs.tails { settings.tails } else { 0.0 };
        let wanted = (available as f64 * share).min(settings.held_out as f64);
        let held_out = if available == 0 { 0.0 } else { wanted / available as f64 };
        let division = Self {
            tails: held_out * tails,
            held_out,
            fit_from: if apart { 0.0 } else { held_out },
            seed: settings.seed,
        };
        let got = division.share(Split::Calibration).count(available);
        let needed = usize::try_from(samples_needed(settings.alpha)).unwrap_or(usize::MAX).max(1);
        let has_tails = tails == 0.0 || division.share(Split::Tails).count(available) > 0;
        if got >= needed && has_tails {
            return Ok(division);
        }
        // Samples are divided by chance: some more than the mean are needed to be sure.
        let both = needed as f64 / (1.0 - tails);
        let mean = both / share;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let [hold_out, enough] = [both.ceil() as usize, (mean + 5.0 * mean.sqrt()).ceil() as usize];
        let has_enough = (settings.held_out < hold_out) && available as f64 * share >= both;
        Err(Error::TooFew(Shortage {
            data: data.to_owned(),
            alpha: settings.alpha,
            needed,
            got,
            available,
            hold_out: has_enough.then_some(hold_out),
            enough,
        }))
    }

    /// The samples of a split.
    pub(crate) fn share(&self, split: Split) -> Share {
        let (from, to) = match split {
            Split::Tails => (0.0, self.tails),
            Split::Calibration => (self.tails, self.held_out),
            Split::Fit => (self.fit_from, 1.0),
            Split::All => return Share::ALL,
        };
        Share { seed: self.seed, from, to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEARNS: Needs = Needs {
        learns: true,
        tails: true,
        labels: false,
        uses_labels: false,
        features: false,
        images: false,
        classes: false,
        keeps: None,
    };

    #[test]
    fn no_sample_serves_two_purposes_and_all_serve_one() {
        let settings = Settings { held_out: 400, ..Settings::default() };
        let division = Division::new("data", 2000, false, LEARNS, &settings).expect("enough");
        let splits = [Split::Fit, Split::Tails, Split::Calibration];
        for key in 0..2000 {
            let held = splits.iter().filter(|&&s| division.share(s).holds(key)).count();
            assert_eq!(held, 1, "{key}");
        }
        let counts = splits.map(|s| division.share(s).count(2000));
        assert!(counts[0].abs_diff(1600) < 90 && counts[1].abs_diff(133) < 50, "{counts:?}");
    }

    #[test]
    fn a_method_without_tails_leaves_them_to_the_calibration() {
        let needs = Needs { tails: false, ..LEARNS };
        let settings = Settings { held_out: 400, ..Settings::default() };
        let division = Division::new("data", 2000, false, needs, &settings).expect("enough");
        let [tails, calibration] =
            [Split::Tails, Split::Calibration].map(|s| division.share(s).count(2000));
        assert!(tails == 0 && calibration.abs_diff(400) < 80, "{tails} {calibration}");
    }

    #[test]
    fn too_few_samples_are_named_with_what_would_do() {
        let settings = Settings { alpha: 0.01, ..Settings::default() };
        let shortage = |available, settings: &Settings| match Division::new(
            "d.npy", available, false, LEARNS, settings,
        ) {
            Err(Error::TooFew(shortage)) => shortage,
            other => panic!("{other:?}"),
        };
        let found = shortage(100, &settings);
        assert_eq!((found.needed, found.available, found.hold_out), (99, 100, None));
        let message = found.to_string();
        assert!(message.contains("needs at least 99") && !message.contains("--"), "{message}");
        let few = Settings { held_out: 50, ..settings };
        assert_eq!(shortage(10_000, &few).hold_out, Some(149));
    }
}
