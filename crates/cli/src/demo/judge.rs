//! What the results amount to, in words.

use serde::Serialize;
use taste_detector::{
    Detector, Role, Scores,
    shift::{Kind, Shift, TestSettings},
};
use taste_stats::multiple::holm;

use super::glyphs::{Found, Row};
use crate::sheet;

/// A loss of accuracy from which a shift counts as harmful.
pub(super) const LOSS: f64 = 0.02;

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

/// How new a batch is, whether that matters to the classifier or not.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Novelty {
    /// In standard deviations of calibration samples.
    pub(super) effect: f64,
    /// Adjusted for the number of batches.
    pub(super) adjusted_p_value: f64,
    /// Beyond chance, and by as much as counts.
    pub(super) is_new: bool,
}

impl Novelty {
    /// Of batches that were tested together.
    pub(super) fn of(batches: &[&Shift], settings: &TestSettings) -> Vec<Self> {
        let found: Vec<(f64, f64)> = batches
            .iter()
            .map(|shift| {
                let mut tests = shift.information.tests.iter();
                let novelty = tests.find(|test| test.kind == Kind::Novelty);
                novelty.map_or((0.0, 1.0), |test| (test.effect, test.p_value))
            })
            .collect();
        let adjusted = holm(&found.iter().map(|f| f.1).collect::<Vec<_>>());
        let each = found.into_iter().zip(adjusted);
        each.map(|((effect, _), p)| Self {
            effect,
            adjusted_p_value: p,
            is_new: p <= settings.alpha && effect >= settings.least_effect,
        })
        .collect()
    }
}

/// What the detector says of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    Neither,
    NewButHarmless,
    NewAndHarmful,
    FamiliarLookingButHarmful,
}

impl Answer {
    pub(super) fn of(row: &Row) -> Self {
        match (row.novelty.is_new, row.shift().is_shift()) {
            (false, false) => Self::Neither,
            (true, false) => Self::NewButHarmless,
            (true, true) => Self::NewAndHarmful,
            (false, true) => Self::FamiliarLookingButHarmful,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Neither => "neither",
            Self::NewButHarmless => "new but harmless",
            Self::NewAndHarmful => "new and harmful",
            Self::FamiliarLookingButHarmful => "familiar-looking but harmful",
        }
    }
}

/// Why the detector says so: the term that adds most, to the harm if there is any, else to the novelty.
pub(super) fn reason(row: &Row, detector: &Detector) -> Option<String> {
    let name = match Answer::of(row) {
        Answer::Neither => return None,
        Answer::NewButHarmless => newest(detector, &row.scores)?,
        _ => row.shift().reasons.first()?.name.clone(),
    };
    Some(sheet::meaning(detector.manifest(), &name).unwrap_or(name))
}

/// The term of the novelty whose mean is the furthest above that of calibration samples.
fn newest(detector: &Detector, scores: &Scores) -> Option<String> {
    let mut at = 0;
    for part in &detector.manifest().parts {
        if part.role != Role::Novelty {
            at += part.columns.len();
            continue;
        }
        let (own, rows) = (scores.part(&part.name)?, &detector.reference().rows);
        let more = |i: usize| Some(own.column(i).mean()? - rows.column(at + i).mean()?);
        let largest = (0..part.columns.len())
            .filter_map(|i| Some((more(i)?, i)))
            .max_by(|a, b| a.0.total_cmp(&b.0))?;
        return part.columns.get(largest.1).cloned();
    }
    None
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
            let quiet = !row.shift().is_shift();
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
