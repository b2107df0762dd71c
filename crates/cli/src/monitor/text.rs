//! What a monitor knows, in lines.

use taste_monitor::{Alarm, Independence, Status, View, message};

use super::Report;
use crate::table::{Table, count, grouped, percent};

/// Samples and reasons that are named for an alarm.
const NAMED: usize = 3;

pub(crate) fn render(report: &Report<'_>) -> String {
    let view = &report.view;
    let mut facts = Table::default();
    facts.row([
        "samples".to_owned(),
        format!("{} counted now, {} in all", grouped(report.counted), grouped(view.samples)),
    ]);
    facts.row(["state".to_owned(), state(view)]);
    if view.gathering.is_none() {
        facts.row(["evidence".to_owned(), evidence(view)]);
        facts.row(["lifetime".to_owned(), lifetime(view)]);
    }
    facts.row(["flagged".to_owned(), flagged(view)]);
    if let Some(alarm) = view.alarms.last() {
        alarm_rows(&mut facts, alarm);
    }
    let mut text = facts.render(0);
    text.push('\n');
    for sentence in &view.guarantee {
        text += sentence;
        text.push('\n');
    }
    text
}

/// One line on standard error now and then.
pub(super) fn state_line(view: &View) -> String {
    format!("{} samples: {}; {}", grouped(view.samples), state(view), evidence(view))
}

fn state(view: &View) -> String {
    match (view.status, view.standing(), view.gathering) {
        (_, _, Some((have, wanted))) => format!(
            "gathering the calibration: {have} of {} from the head of the stream",
            count(wanted, "sample")
        ),
        (Status::Stopped, ..) => "stopped: nothing is counted any more".to_owned(),
        (_, Some(alarm), _) => {
            let known =
                alarm.acknowledged.as_ref().map_or_else(String::new, |known| format!(", {known}"));
            format!("alarm {} stands{known}", alarm.id)
        }
        _ => "no alarm stands".to_owned(),
    }
}

/// As a power of ten.
fn power(log: f64) -> String {
    if log.is_finite() {
        format!("10^{:.1}", log / std::f64::consts::LN_10)
    } else {
        "0".to_owned()
    }
}

fn evidence(view: &View) -> String {
    let streams = view.streams.iter().map(|s| {
        let shown = if s.counts { "" } else { ", for information" };
        format!("{} {}{shown}", s.kind, power(s.log_evidence))
    });
    let streams: Vec<String> = streams.collect();
    format!(
        "{} (alarm at {}; {})",
        power(view.log_evidence),
        power(view.log_threshold),
        streams.join("; ")
    )
}

fn lifetime(view: &View) -> String {
    let alarm = view.lifetime_alarm.map_or_else(String::new, |at| {
        format!(", below {} since sample {}", view.settings.lifetime, grouped(at.sample))
    });
    format!("p-value {} of \"nothing has ever changed\"{alarm}", p_value(view.lifetime_p_value))
}

pub(crate) fn p_value(p: f64) -> String {
    match p {
        _ if p < f64::MIN_POSITIVE => "below 1e-300".to_owned(),
        _ if p < 0.001 => format!("{p:.1e}"),
        _ => format!("{p:.3}"),
    }
}

fn flagged(view: &View) -> String {
    let flagged = &view.flagged;
    let expected = flagged
        .alpha
        .map_or_else(String::new, |a| format!("; {} % expected without a shift", percent(a)));
    let interval = flagged.interval.map_or_else(String::new, |(low, high)| {
        format!(" (95 % interval {:.1} to {:.1} %{expected})", 100.0 * low, 100.0 * high)
    });
    format!("{} of {}{interval}", grouped(flagged.count), grouped(flagged.samples))
}

fn alarm_rows(facts: &mut Table, alarm: &Alarm) {
    let mut row = |name: &str, text: String| facts.row([name.to_owned(), text]);
    let standing = if alarm.stands() { "" } else { " (resolved)" };
    row("alarm", format!("{}{standing}", message::summary(alarm)));
    row("at", message::rfc3339(alarm.raised.time));
    if let Some(began) = &alarm.began {
        row(
            "since",
            format!(
                "most likely sample {} ({})",
                grouped(began.likely.sample),
                message::rfc3339(began.likely.time)
            ),
        );
    }
    for carrier in alarm.carriers.iter().take(NAMED) {
        row("sample", format!("{} (evidence × {:.1})", carrier.name, carrier.log.exp()));
    }
    for reason in &alarm.reasons {
        row("carried by", format!("{} ({:+.2})", reason.name, reason.effect));
    }
}

/// What speaks against the guarantee.
pub(super) fn warnings(view: &View) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(found) = view.correlation.filter(|c| c.verdict != Independence::Fine) {
        said.push(format!(
            "warning: neighbouring samples are alike (correlation {:.2}): alarms come sooner than promised; --every K lets \
             every K-th sample count",
            found.value
        ));
    }
    let few = view.streams.iter().map(|s| s.calibrated).min().unwrap_or(0);
    if view.gathering.is_none() && few < 100 {
        said.push(format!(
            "warning: with {few} calibration samples only shifts of half a standard deviation or more can be seen"
        ));
    }
    if view.not_finite > 0 {
        said.push(format!(
            "warning: {} had no finite score; they count as furthest out",
            count(usize::try_from(view.not_finite).unwrap_or(usize::MAX), "sample")
        ));
    }
    said
}
