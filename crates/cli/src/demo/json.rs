//! The tables as JSON.

use std::path::{Path, PathBuf};

use serde::Serialize;
use taste_detector::{Estimate, shift::Verdict};

use super::{
    glyphs::Found,
    judge::{Answer, Harm, Novelty, Tally, reason},
    plane::{LENGTH, Moved, Plane},
};

/// All results, in the words of `--json`.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    seed: u64,
    plane: OfPlane<'a>,
    glyphs: OfGlyphs,
    /// The page.
    #[serde(rename = "report")]
    page: PathBuf,
    files: &'a [PathBuf],
}

#[derive(Serialize)]
struct OfPlane<'a> {
    /// How far data are moved.
    length: f64,
    not_moved: &'a Moved,
    directions: &'a [Moved],
}

#[derive(Serialize)]
struct OfGlyphs {
    alpha: f64,
    least_effect: f64,
    threshold: Option<f64>,
    shifts: Vec<OfShift>,
    tally: Tally,
}

#[derive(Serialize)]
struct OfShift {
    shift: &'static str,
    what: &'static str,
    samples: usize,
    accuracy: Option<f64>,
    /// What labels say.
    truth: Harm,
    /// The accuracy without labels.
    estimate: Option<Estimate>,
    flagged: f64,
    harm: OfHarm,
    novelty: Novelty,
    answer: Answer,
    reason: Option<String>,
}

/// The mean evidence of a batch.
#[derive(Serialize)]
struct OfHarm {
    /// In standard deviations of calibration samples.
    effect: f64,
    interval: Option<(f64, f64)>,
    p_value: f64,
    adjusted_p_value: f64,
    verdict: Verdict,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        seed: u64,
        plane: &'a Plane,
        found: &Found,
        report: &Path,
        files: &'a [PathBuf],
    ) -> Self {
        let shifts = found.rows.iter().map(|row| {
            let shift = row.shift();
            OfShift {
                shift: row.change.name(),
                what: row.change.words(),
                samples: shift.samples,
                accuracy: row.accuracy,
                truth: Harm::of(row, found.usual()),
                estimate: shift.estimate,
                flagged: row.flagged(),
                harm: OfHarm {
                    effect: shift.effect,
                    interval: shift.interval,
                    p_value: shift.p_value,
                    adjusted_p_value: shift.adjusted_p_value,
                    verdict: shift.verdict,
                },
                novelty: row.novelty,
                answer: Answer::of(row),
                reason: reason(row, &found.detector),
            }
        });
        Self {
            seed,
            plane: OfPlane { length: LENGTH, not_moved: &plane.rest, directions: &plane.turns },
            glyphs: OfGlyphs {
                alpha: found.alpha(),
                least_effect: found.settings.least_effect,
                threshold: found.detector.manifest().decision.threshold,
                shifts: shifts.collect(),
                tally: Tally::of(found),
            },
            page: report.to_owned(),
            files,
        }
    }
}
