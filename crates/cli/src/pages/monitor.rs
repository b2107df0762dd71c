//! `taste monitor`: whether an alarm stands, what the evidence is, since when and what carries it.

use taste_monitor::{Alarm, Status, StreamView, View, message};
use taste_report::{Bars, Lines, Page, Section, Series, Table, Tone};

use super::{facts, file_name, percent, signed};
use crate::{
    monitor::{Report, text},
    table::grouped,
};

/// The page of a monitor.
pub(crate) fn monitor(report: &Report<'_>) -> Page {
    let view = &report.view;
    let lead = format!(
        "By the detector {}: {} samples so far.",
        report.file.display(),
        grouped(view.samples)
    );
    let (tone, headline, detail) = verdict(view);
    let mut page = Page::new(format!("Stream under {}", file_name(report.file)))
        .lead(lead)
        .verdict(tone, headline, detail);
    if view.gathering.is_none() {
        page = page.section(evidence(view));
    }
    if !view.alarms.is_empty() {
        page = page.section(alarms(view));
    }
    page = page.section(flagged(view));
    if view.gathering.is_none() {
        page = page.section(p_values(view));
    }
    if !view.worst.is_empty() {
        page = page.section(worst(view));
    }
    let guarantee = view
        .guarantee
        .iter()
        .fold(Section::new("What is guaranteed"), |s, words| s.paragraph(words.clone()));
    page.section(guarantee)
}

fn verdict(view: &View) -> (Tone, String, String) {
    if let Some((have, wanted)) = view.gathering {
        let headline = "The calibration is being gathered".to_owned();
        return (Tone::Warning, headline, format!("{have} of {wanted} samples are there."));
    }
    match (view.status, view.standing()) {
        (Status::Stopped, _) => {
            let why = view.stopped.clone().unwrap_or_default();
            (Tone::Alarm, "Nothing is counted any more".to_owned(), why)
        }
        (_, Some(alarm)) => {
            (Tone::Alarm, format!("Alarm {} stands", alarm.id), message::summary(alarm))
        }
        _ => {
            let words = match view.alarms.last() {
                Some(alarm) => format!("The last one, number {}, is resolved.", alarm.id),
                None => "None was ever raised.".to_owned(),
            };
            (Tone::Ok, "No alarm stands".to_owned(), words)
        }
    }
}

fn ten(log: f64) -> f64 {
    log / std::f64::consts::LN_10
}

fn evidence(view: &View) -> Section {
    let points = view.series.iter().map(|p| (p.at.sample as f64, ten(p.log.1)));
    let band = view.series.iter().map(|p| (ten(p.log.0), ten(p.log.1)));
    let mut figure = Lines::new("Evidence by sample")
        .axes("sample", "evidence (power of ten)")
        .right_axis("for information (power of ten)")
        .series(Series::new("all that count", points).band(band))
        .level(ten(view.log_threshold), "alarm");
    for (i, stream) in view.streams.iter().enumerate().filter(|_| view.streams.len() > 1) {
        let own =
            view.series.iter().filter_map(|p| Some((p.at.sample as f64, ten(*p.streams.get(i)?))));
        let series = Series::new(named(stream), own).dashed();
        // What raises no alarm may lie far above one.
        figure = figure.series(if stream.counts { series } else { series.on_right() });
    }
    for alarm in &view.alarms {
        figure = figure.moment(alarm.raised.sample as f64, format!("alarm {}", alarm.id));
    }
    let caption = format!(
        "Without a change evidence reaches 10^{:.1} no sooner than every {} samples on average. It may be looked at as \
         often as one likes.",
        ten(view.log_threshold),
        view.settings.run_length
    );
    let rows = vec![
        (
            "p-value of \"nothing has ever changed\"".to_owned(),
            text::p_value(view.lifetime_p_value),
        ),
        (
            "correlation of neighbours".to_owned(),
            view.correlation.map_or_else(
                || "not known before 256 samples".to_owned(),
                |c| format!("{} ± {:.2}", signed(c.value), c.error),
            ),
        ),
    ];
    Section::new("Evidence").figure(&figure, caption).table(&facts(rows))
}

fn named(stream: &StreamView) -> String {
    let information = if stream.counts { "" } else { " (for information)" };
    format!("{}{information}", stream.kind)
}

fn alarms(view: &View) -> Section {
    let mut table =
        Table::new(["alarm", "state", "raised at", "effect (SD)", "began", "carried by"])
            .right(&[3]);
    for alarm in view.alarms.iter().rev().take(50) {
        table.row([
            alarm.id.to_string(),
            state(alarm),
            format!("{} ({})", grouped(alarm.raised.sample), message::rfc3339(alarm.raised.time)),
            format!("{} {}", signed(alarm.effect), alarm.stream),
            began(alarm),
            carried(alarm),
        ]);
    }
    Section::new("Alarms").table(&table).paragraph(
        "The later end of the interval in which a change began needs no assumption; the earlier one assumes a shift of at \
         least half a standard deviation from its start on. Each errs with a chance of at most 5 %.",
    )
}

fn state(alarm: &Alarm) -> String {
    match (&alarm.resolved, &alarm.acknowledged) {
        (Some(resolved), _) => format!("resolved at {}", grouped(resolved.at.sample)),
        (None, Some(known)) => known.to_string(),
        (None, None) => "firing".to_owned(),
    }
}

fn began(alarm: &Alarm) -> String {
    let Some(began) = &alarm.began else { return "–".to_owned() };
    let from = began.earliest.map_or_else(|| "?".to_owned(), |e| grouped(e.sample));
    format!(
        "{from} to {}, most likely {}",
        grouped(began.latest.sample),
        grouped(began.likely.sample)
    )
}

fn carried(alarm: &Alarm) -> String {
    let reasons = alarm.reasons.iter().map(|r| format!("{} ({})", r.name, signed(r.effect)));
    let samples = alarm.carriers.iter().take(3).map(|c| c.name.clone());
    reasons.chain(samples).collect::<Vec<_>>().join("; ")
}

fn flagged(view: &View) -> Section {
    let flagged = &view.flagged;
    let interval = flagged.interval.map_or_else(String::new, |(low, high)| {
        format!(" (95 % interval {} to {})", percent(low), percent(high))
    });
    let mut rows = vec![(
        "flagged one by one".to_owned(),
        format!("{} of {}{interval}", percent(flagged.share), grouped(flagged.samples)),
    )];
    rows.extend(flagged.alpha.map(|a| ("without a shift".to_owned(), percent(a))));
    rows.push(("without a finite score".to_owned(), grouped(view.not_finite)));
    Section::new("Samples by themselves").table(&facts(rows))
}

fn p_values(view: &View) -> Section {
    let mut section = Section::new("Where the last samples lie");
    for stream in &view.streams {
        let all: u64 = stream.p_values_window.iter().sum();
        if all == 0 {
            continue;
        }
        let bins = stream.p_values_window.len() as f64;
        let bars = stream.p_values_window.iter().enumerate().map(|(i, n)| {
            let (from, to) = (i as f64 / bins, (i + 1) as f64 / bins);
            (format!("{from:.2} to {to:.2}"), *n as f64 / all as f64 * 100.0)
        });
        let figure = Bars::new(format!("p-values of {}", stream.kind), bars).label("share (%)");
        let caption = format!(
            "Of the last {} samples; flat without a shift, at {:.0} % a bar. Held against {} calibration samples; shifts \
             of less than {:.2} SD can't be seen.",
            grouped(all),
            100.0 / bins,
            grouped(stream.calibrated as u64),
            stream.smallest_visible
        );
        section = section.figure(&figure, caption);
    }
    section
}

fn worst(view: &View) -> Section {
    let mut table = Table::new(["sample", "name", "score", "p-value"]).right(&[0, 2, 3]);
    for sample in &view.worst {
        table.row([
            grouped(sample.at.sample),
            sample.name.clone(),
            taste_report::number(sample.score),
            super::p_value(sample.p_value),
        ]);
    }
    Section::new("Worst samples since the last restart").table(&table)
}
