//! The tables as JSON.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{
    glyphs::Found,
    judge::{Answer, Harm, Tally},
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
    harm: Harm,
    /// Of the mean evidence, in standard deviations of calibration samples.
    effect: f64,
    flagged: f64,
    p_value: f64,
    adjusted_p_value: f64,
    answer: Answer,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        seed: u64,
        plane: &'a Plane,
        found: &Found,
        report: &Path,
        files: &'a [PathBuf],
    ) -> Self {
        let shifts = found.rows.iter().map(|row| OfShift {
            shift: row.change.name(),
            what: row.change.words(),
            samples: row.shift().samples,
            accuracy: row.accuracy,
            harm: Harm::of(row, found.usual()),
            effect: row.shift().effect,
            flagged: row.flagged(),
            p_value: row.shift().p_value,
            adjusted_p_value: row.shift().adjusted_p_value,
            answer: Answer::of(row),
        });
        Self {
            seed,
            plane: OfPlane { length: LENGTH, not_moved: &plane.rest, directions: &plane.turns },
            glyphs: OfGlyphs {
                alpha: found.alpha(),
                threshold: found.detector.manifest().decision.threshold,
                shifts: shifts.collect(),
                tally: Tally::of(found),
            },
            page: report.to_owned(),
            files,
        }
    }
}
