//! What a fit finds out about itself, in words. Methods add findings of their own.

use serde::{Deserialize, Serialize};

use crate::calibrate::Calibrated;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Something to act on.
    Warning,
}

/// One health check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at.
    pub check: String,
    /// How it came out.
    pub level: Level,
    /// The number behind it.
    pub value: f64,
    /// In words.
    pub message: String,
}

/// One health check.
pub fn finding(check: &str, level: Level, value: f64, message: impl Into<String>) -> Finding {
    Finding { check: check.to_owned(), level, value, message: message.into() }
}

/// What the findings of every method are drawn from.
pub(crate) struct Evidence<'a> {
    /// Samples that the method learnt from, and those left out as they have entries that are not finite.
    pub(crate) fitted: usize,
    pub(crate) left_out: usize,
    /// Held-out samples that gave the spread of the method's values; those with bad entries, and with bad values.
    pub(crate) tails: usize,
    pub(crate) bad_inputs: usize,
    pub(crate) bad_values: usize,
    pub(crate) calibrated: &'a Calibrated,
    pub(crate) calibration_given: bool,
    /// The share of calibration samples that are training samples as well.
    pub(crate) in_training: f64,
}

const CALIBRATION_DATA: &str = "calibration data";

/// What the findings that every method has are about: all of them look at the calibration samples.
pub const CALIBRATION_CHECKS: [&str; 3] = ["finite scores", "distinct scores", CALIBRATION_DATA];

/// The findings that every method has.
pub(crate) fn findings(of: &Evidence<'_>) -> Vec<Finding> {
    [left_out(of), Some(not_finite(of)), ties(of), independence(of)].into_iter().flatten().collect()
}

fn left_out(of: &Evidence<'_>) -> Option<Finding> {
    if of.left_out == 0 {
        return None;
    }
    let all = of.fitted + of.left_out;
    let share = of.left_out as f64 / all as f64;
    let level = if share > 0.01 { Level::Warning } else { Level::Note };
    let message = format!(
        "{} of {all} samples to learn from have NaN or infinite entries; they were left out.",
        of.left_out
    );
    Some(finding("finite samples", level, share, message))
}

fn not_finite(of: &Evidence<'_>) -> Finding {
    let bad = of.bad_inputs + of.bad_values + of.calibrated.not_finite;
    let all = of.tails + of.calibrated.scores.len();
    let share = bad as f64 / all.max(1) as f64;
    if bad == 0 {
        let message = format!("All {all} held-out samples have finite scores.");
        return finding("finite scores", Level::Good, 0.0, message);
    }
    let level = if share > 0.01 { Level::Warning } else { Level::Note };
    let message = format!(
        "{bad} of {all} held-out samples have no finite score (NaN or infinite entries, ids that the model does not know, or a model that overflows); \
         such samples are always flagged."
    );
    finding("finite scores", level, share, message)
}

/// Equal scores make p-values coarse.
fn ties(of: &Evidence<'_>) -> Option<Finding> {
    let mut sorted: Vec<f32> = of.calibrated.scores.clone();
    sorted.sort_by(f32::total_cmp);
    sorted.dedup();
    let (distinct, all) = (sorted.len(), of.calibrated.scores.len());
    if distinct * 2 > all {
        return None;
    }
    let message = format!(
        "The {all} calibration scores take only {distinct} values, so many samples look the same to this detector."
    );
    Some(finding("distinct scores", Level::Warning, distinct as f64 / all as f64, message))
}

fn independence(of: &Evidence<'_>) -> Option<Finding> {
    if of.calibration_given {
        let message = format!(
            "{:.1} % of the calibration samples are training samples as well; such samples look more ordinary than new \
             ones, and the false-positive rate can be higher than alpha.",
            100.0 * of.in_training
        );
        return (of.in_training > 0.0)
            .then(|| finding(CALIBRATION_DATA, Level::Warning, of.in_training, message));
    }
    let message = "Calibration samples were held out from the training data. A model that was trained on these knows them \
        better than new data: then more samples than alpha says are flagged, up to twice as many where it learnt no more \
        than it had to, five times as many and more where it knows its training data by heart, as forests and boosting \
        do. Give calibration data that it has not seen, or recalibrate the detector on such data.";
    Some(finding(CALIBRATION_DATA, Level::Warning, 0.0, message))
}
