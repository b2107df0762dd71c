//! One batch, effect first.

use taste_detector::{
    Detector, Estimate, Measure, channel_axis,
    shift::{
        EntriesOf, Entry, Kind, MovedColumn, Quantity, Reason, Shift, StuckColumn, Tested, Verdict,
    },
};

use super::{
    Report,
    words::{deviations, interval, notes, p_value},
};
use crate::{
    look, sheet,
    table::{Table, count, number, percent},
};

pub(super) fn render(
    batch: &Tested,
    report: &Report<'_>,
    detector: &Detector,
    top: usize,
) -> String {
    let shift = &batch.shift;
    let mut facts = Table::default();
    facts.row(["batch".to_owned(), format!("{}: {}", batch.data, count(shift.samples, "sample"))]);
    facts.row(["verdict".to_owned(), verdict(shift, report)]);
    facts.row(["effect".to_owned(), effect(shift)]);
    facts.row([
        "p-value".to_owned(),
        format!("{} ({} permutations)", p_value(shift.p_value), shift.permutations),
    ]);
    facts.row(["flagged".to_owned(), flagged(shift, detector)]);
    if let Some(found) = &shift.estimate {
        facts.row(["answers".to_owned(), answers(found)]);
    }
    for line in look::lines(&shift.remarks) {
        facts.row(["data".to_owned(), line]);
    }
    for note in notes(shift) {
        facts.row(["note".to_owned(), note]);
    }
    let mut text = facts.render(0);
    if !shift.reasons.is_empty() && top > 0 {
        text += "\nreasons: what each term of the score adds to the effect (SD)\n";
        text += &terms(&shift.reasons, detector, top).render(2);
    }
    let more = information(shift, detector, top);
    if !more.rows().is_empty() {
        text += "\nfor information; none of this decides\n";
        text += &more.render(2);
    }
    text
}

pub(crate) fn verdict(shift: &Shift, report: &Report<'_>) -> String {
    let least = report.least_effect;
    match (shift.verdict, shift.interval) {
        (Verdict::Shift, _) => {
            "shift: samples are further out than the calibration data".to_owned()
        }
        (Verdict::Negligible, Some((_, high))) if high >= least => format!(
            "detectable but perhaps negligible: an effect counts if it is surely {least} SD or more; a larger batch tells"
        ),
        (Verdict::Negligible, _) => {
            format!("detectable but negligible: less than {least} SD")
        }
        (Verdict::None, _) => format!("no shift seen at alpha = {}", report.alpha),
    }
}

pub(crate) fn effect(shift: &Shift) -> String {
    let interval = interval(shift).map_or_else(
        || "; too few samples for an interval".to_owned(),
        |ends| format!(" (95 % interval {ends})"),
    );
    let side = if shift.effect < 0.0 { ", on the side of more ordinary samples" } else { "" };
    format!(
        "{} SD of the evidence: {}{side}{interval}",
        deviations(shift.effect),
        shift.size.word()
    )
}

pub(crate) fn flagged(shift: &Shift, detector: &Detector) -> String {
    let share = 100.0 * shift.flagged as f64 / shift.samples as f64;
    let expected = detector.manifest().decision.alpha;
    let expected = expected
        .map_or_else(String::new, |a| format!("; {} % expected without a shift", percent(a)));
    format!("{} of {} one by one ({share:.1} %{expected})", shift.flagged, shift.samples)
}

/// How good the model's answers likely are.
pub(crate) fn answers(found: &Estimate) -> String {
    if found.is_guess() {
        return format!(
            "not known: {:.0} % of the scores lie beyond those of all labelled calibration samples",
            100.0 * found.beyond
        );
    }
    match found.measure {
        Measure::Accuracy => {
            let [value, low, high, usual] =
                [found.value, found.low, found.high, found.calibration].map(|v| 100.0 * v);
            format!(
                "about {value:.1} % right, if wrong answers still have such scores as on the calibration samples (95 % \
                 interval {low:.1} to {high:.1} %; {usual:.1} % right on those)"
            )
        }
        Measure::AbsoluteError => format!(
            "mean absolute error about {}, if errors still go with scores as on the calibration samples (95 % interval {} \
             to {}; {} on those)",
            number(found.value),
            number(found.low),
            number(found.high),
            number(found.calibration)
        ),
    }
}

/// The same in a few words.
pub(crate) fn short_answers(found: &Estimate) -> String {
    match found.measure {
        _ if found.is_guess() => "not known".to_owned(),
        Measure::Accuracy => format!("{:.1} % right", 100.0 * found.value),
        Measure::AbsoluteError => format!("off by {}", number(found.value)),
    }
}

fn terms(reasons: &[Reason], detector: &Detector, top: usize) -> Table {
    let mut table = Table::default().right(&[1]);
    for reason in reasons.iter().take(top) {
        let about = sheet::meaning(detector.manifest(), &reason.name).unwrap_or_default();
        table.row([reason.name.clone(), deviations(reason.effect), about]);
    }
    table
}

/// What a distance is of, and what is missing where that is most of it.
fn moved(column: &MovedColumn) -> String {
    let words = "KS distance from its calibration values";
    let (own, usual) = (column.missing, column.usual_missing);
    if 2.0 * (own - usual).abs() > column.distance {
        format!("{words}; {} missing, {} of those", percent_of(own), percent_of(usual))
    } else {
        words.to_owned()
    }
}

pub(crate) fn information(shift: &Shift, detector: &Detector, top: usize) -> Table {
    let more = &shift.information;
    let mut table = Table::default().right(&[1, 2]);
    for test in &more.tests {
        let (name, effect, words) = tested(test);
        table.row([
            name,
            effect,
            format!("p {}", p_value(test.adjusted_p_value)),
            words.to_owned(),
        ]);
    }
    for column in more.columns.iter().filter(|c| c.adjusted_p_value <= 0.05).take(top) {
        table.row([
            format!("column {}", column.name),
            format!("{:.2}", column.distance),
            format!("p {}", p_value(column.adjusted_p_value)),
            moved(column),
        ]);
    }
    for stuck in more.stuck.iter().take(top) {
        table.row([
            format!("column {}", stuck.name),
            percent_of(stuck.share),
            String::new(),
            format!(
                "of samples {}; {} of calibration samples",
                if stuck.value.is_nan() {
                    "lack it".to_owned()
                } else {
                    format!("have the value {}", value(detector, stuck))
                },
                percent_of(stuck.usual_share)
            ),
        ]);
    }
    for term in more.terms.iter().take(top) {
        let words = "what this term adds to the effect".to_owned();
        table.row([term.name.clone(), sd(term.effect), String::new(), words]);
    }
    if let Some(entries) = &more.entries {
        let words = match entries.of {
            EntriesOf::Evidence => "what it adds to the effect",
            EntriesOf::Residual => "part of the residual",
            EntriesOf::Other => "part of the map",
        };
        let shape = &detector.manifest().model.sample_shape;
        for entry in entries.list.iter().take(top) {
            let words = format!("{words}, {:+.1} standard errors", entry.statistic);
            table.row([place(entry, shape), small_sd(entry.effect), String::new(), words]);
        }
        if let Some(rest) = entries.rest {
            let shown: f64 = entries.list.iter().skip(top).map(|e| e.effect).sum();
            let words = "what the other entries add, and what the map does not tell".to_owned();
            table.row(["the rest".to_owned(), small_sd(rest + shown), String::new(), words]);
        }
    }
    table
}

/// The name of a quantity, how far it moved, and what that means.
fn tested(test: &Quantity) -> (String, String, &'static str) {
    match test.kind {
        Kind::Residual => (
            format!("mean {}", test.name),
            sd(test.effect),
            "quiet when only the mix of labels changes",
        ),
        Kind::Drift => (
            format!("{} (T²/n)", test.name),
            number(test.effect),
            "moves with the mix of labels too",
        ),
        Kind::Novelty => {
            (test.name.clone(), sd(test.effect), "whether data differ, harmful or not")
        }
    }
}

fn sd(effect: f64) -> String {
    format!("{} SD", deviations(effect))
}

/// With two digits that count: a pixel adds little.
fn small_sd(effect: f64) -> String {
    let size = effect.abs();
    if !(1e-9..0.1).contains(&size) {
        return sd(effect);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 9")]
    let digits = (-size.log10()).ceil() as usize + 1;
    format!("{effect:+.digits$} SD")
}

fn percent_of(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The value of a column as it was read: a word where it holds words.
fn value(detector: &Detector, stuck: &StuckColumn) -> String {
    let words = detector.manifest().data.reading.words.iter().find(|d| d.column == stuck.name);
    let word = words.and_then(|d| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let place = stuck.value as usize;
        d.words.get(place)
    });
    word.map_or_else(|| stuck.value.to_string(), |word| format!("{word:?}"))
}

/// The name of a column, `row 3, column 5` of images, `entry 3` of vectors.
fn place(entry: &Entry, shape: &[usize]) -> String {
    if let Some(name) = &entry.name {
        return name.clone();
    }
    let position = &entry.position;
    let Some(axis) = channel_axis(shape) else {
        return match position[..] {
            [i] => format!("entry {i}"),
            [y, x] => format!("row {y}, column {x}"),
            _ => format!("entry {position:?}"),
        };
    };
    let pixel: Vec<usize> = (0..3).filter(|&a| a != axis).map(|a| position[a]).collect();
    let pixel = format!("row {}, column {}", pixel[0], pixel[1]);
    if shape[axis] > 1 { format!("channel {}, {pixel}", position[axis]) } else { pixel }
}
