//! What the results amount to, in words.

use serde::Serialize;
use taste_detector::shift::Verdict;

use super::glyphs::{Found, Row};

/// A loss of accuracy from which a shift counts as harmful.
pub(super) const LOSS: f64 = 0.02;
/// The standard deviations from which a shift counts, as for `taste test --least-effect`.
pub(super) const LEAST_EFFECT: f64 = 0.5;

/// What a shift does to the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Harm {
    /// Its answers stay as good as they were.
    Harmless,
    /// Its answers get worse.
    Harmful,
    /// No answer of its could be right.
    NoAnswer,
}

impl Harm {
    pub(super) fn of(row: &Row, usual: f64) -> Self {
        match row.accuracy {
            None => Self::NoAnswer,
            Some(accuracy) if accuracy < usual - LOSS => Self::Harmful,
            Some(_) => Self::Harmless,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Harmless => "harmless",
            Self::Harmful => "harmful",
            Self::NoAnswer => "no right answer",
        }
    }
}

/// What the detector says of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// Nothing that chance would not explain.
    Quiet,
    /// The batch differs, and not surely by much.
    Small,
    /// The batch differs.
    Shift,
}

impl Answer {
    pub(super) fn of(row: &Row) -> Self {
        match row.shift().verdict {
            Verdict::Shift => Self::Shift,
            Verdict::Negligible => Self::Small,
            Verdict::None => Self::Quiet,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Quiet => "no shift seen",
            Self::Small => "small shift, let pass",
            Self::Shift => "shift",
        }
    }
}

/// How often the detector was right about batches of glyphs.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) harmful: usize,
    pub(super) harmful_noticed: usize,
    pub(super) harmless: usize,
    pub(super) harmless_quiet: usize,
}

impl Tally {
    pub(super) fn of(found: &Found) -> Self {
        let mut tally = Self::default();
        for row in &found.rows {
            let quiet = Answer::of(row) != Answer::Shift;
            if Harm::of(row, found.usual()) == Harm::Harmless {
                tally.harmless += 1;
                tally.harmless_quiet += usize::from(quiet);
            } else {
                tally.harmful += 1;
                tally.harmful_noticed += usize::from(!quiet);
            }
        }
        tally
    }

    pub(super) fn is_perfect(self) -> bool {
        self.harmful == self.harmful_noticed && self.harmless == self.harmless_quiet
    }

    pub(super) fn headline(self) -> String {
        format!(
            "{} of {} batches that harm the classifier are noticed; {} of {} that do not are left alone",
            self.harmful_noticed, self.harmful, self.harmless_quiet, self.harmless
        )
    }
}
