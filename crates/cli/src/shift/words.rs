//! Numbers and names as they are printed.

use taste_detector::shift::{Kind, Note, Shift, Tested};

/// An effect with its sign; a few digits are enough.
pub(crate) fn deviations(effect: f64) -> String {
    if effect.abs() < 1000.0 { format!("{effect:+.2}") } else { format!("{effect:+.1e}") }
}

pub(crate) fn interval(shift: &Shift) -> Option<String> {
    shift.interval.map(|(low, high)| format!("{} to {}", deviations(low), deviations(high)))
}

pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".to_owned(),
        p if p < 0.001 => format!("{p:.4}"),
        p => format!("{p:.3}"),
    }
}

/// The data, and which part of them.
pub(crate) fn named(batch: &Tested, all: &[Tested]) -> String {
    let cut = batch.first > 0 || all.iter().any(|b| b.data == batch.data && b.first > 0);
    match &batch.segment {
        Some(segment) if all.iter().all(|b| b.data == batch.data) => value(segment),
        Some(segment) => format!("{} {}", batch.data, value(segment)),
        None if cut => format!("{} from {}", batch.data, batch.first),
        None => batch.data.clone(),
    }
}

/// A value of a column.
pub(crate) fn value(segment: &str) -> String {
    if segment.is_empty() { "(empty)".to_owned() } else { segment.to_owned() }
}

/// What is worth knowing beside the verdict.
pub(crate) fn notes(shift: &Shift) -> impl Iterator<Item = String> {
    [ordinary(shift), new_data(shift), seen_calibration(shift)].into_iter().flatten()
}

/// What makes samples look too ordinary, if they do.
pub(crate) fn ordinary(shift: &Shift) -> Option<String> {
    let what = match (has(shift, Note::MoreOrdinary), has(shift, Note::FewFlagged)) {
        (true, true) => {
            "samples look more ordinary than calibration samples, and far fewer are flagged"
        }
        (true, false) => "samples look more ordinary than calibration samples",
        (false, true) => "far fewer samples are flagged than of calibration samples",
        (false, false) => return None,
    };
    Some(format!("{what}: no shift, but stuck sensors and saturated outputs look like this"))
}

/// That data are new where the scores tell no harm, if they are.
pub(crate) fn new_data(shift: &Shift) -> Option<String> {
    if !has(shift, Note::NewData) {
        return None;
    }
    let novelty = shift.information.tests.iter().find(|t| t.kind == Kind::Novelty);
    let far = match novelty {
        Some(test) if test.effect > 0.0 => format!(" (novelty {} SD)", deviations(test.effect)),
        _ => String::new(),
    };
    Some(format!(
        "the data differ from the calibration data{far}, and the scores tell no harm: either the model does not use what is \
         new, or its answers hide it, as those for missing, stuck or far values do; labels of some samples would tell"
    ))
}

/// That the calibration may be what differs, if so.
fn seen_calibration(shift: &Shift) -> Option<String> {
    has(shift, Note::SeenCalibration).then(|| {
        "the detector is calibrated on samples that the model may have been trained on, so that new data look further out \
         than they are: recalibrate it on fresh samples (taste edit --recalibrate) before you believe a shift"
            .to_owned()
    })
}

fn has(shift: &Shift, note: Note) -> bool {
    shift.notes.contains(&note)
}
