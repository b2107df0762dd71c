//! Several batches, a line each.

use taste_detector::shift::Verdict;

use super::{
    Report,
    words::{deviations, interval, named, new_data, ordinary, p_value, value},
};
use crate::table::{Table, count};

/// Segments that were not tested and are named.
const NAMED: usize = 10;

pub(super) fn render(report: &Report<'_>) -> String {
    let batches = &report.tests.batches;
    let found = batches.iter().filter(|b| b.shift.is_shift()).count();
    let noun = if report.by.is_some() { "segment" } else { "batch" };
    let mut rows = Table::default().right(&[1, 2, 3, 4, 5, 6]);
    let first = report.by.as_deref().unwrap_or("batch");
    rows.row([
        first,
        "samples",
        "flagged",
        "effect (SD)",
        "95 % interval",
        "p",
        "adjusted p",
        "verdict",
    ]);
    for batch in batches {
        let shift = &batch.shift;
        let verdict = match shift.verdict {
            Verdict::Shift => "shift",
            Verdict::Negligible => "negligible",
            Verdict::None if ordinary(shift).is_some() => "- (more ordinary)",
            Verdict::None if new_data(shift).is_some() => "- (new data)",
            Verdict::None => "-",
        };
        rows.row([
            named(batch, batches),
            shift.samples.to_string(),
            format!("{:.1} %", 100.0 * shift.flagged as f64 / shift.samples as f64),
            deviations(shift.effect),
            interval(shift).unwrap_or_else(|| "-".to_owned()),
            p_value(shift.p_value),
            p_value(shift.adjusted_p_value),
            verdict.to_owned(),
        ]);
    }
    let mut text = format!(
        "{found} of {} differ: further out than the calibration data (adjusted p at most {}, {})\n\n{}",
        count(batches.len(), noun),
        report.alpha,
        if report.least_effect > 0.0 {
            format!("effect surely {} SD", report.least_effect)
        } else {
            "any effect".to_owned()
        },
        rows.render(0)
    );
    let too_small = &report.tests.too_small;
    if !too_small.is_empty() {
        let names: Vec<String> = too_small.iter().take(NAMED).map(|t| value(&t.segment)).collect();
        let more = too_small.len() - names.len();
        let more = if more > 0 { format!(" and {}", count(more, "other")) } else { String::new() };
        text.push_str("\nnot tested, as they have fewer than 2 samples: ");
        text.push_str(&names.join(", "));
        text.push_str(&more);
        text.push('\n');
    }
    text
}
