//! `taste test`: the verdict first, then how large the effect is and what it rests on.

use std::collections::HashSet;

use taste_detector::{
    Detector,
    shift::{Shift, Tested, Verdict},
};
use taste_report::{Bars, Intervals, Lines, Page, Section, Series, Table, Tone};

use super::{beside_training, facts, file_name, meanings, p_value, percent, signed};
use crate::{
    shift::{Report, one, words},
    table::count,
};

/// More batches than this are drawn as a line.
const ROWS: usize = 40;
/// More batches than this are not listed, but for those that differ.
const LISTED: usize = 200;
/// Terms that are named for a batch.
const NAMED: usize = 2;

/// The page of a test; of columns, pixels and terms, `top` are listed.
pub(crate) fn test(report: &Report<'_>, detector: &Detector, top: usize) -> Page {
    let lead = format!("By the detector {}.", report.detector.display());
    match (&report.tests.batches[..], &report.tests.too_small[..]) {
        ([batch], []) => {
            let title = format!("Test of {}", file_name(batch.data.as_ref()));
            single(Page::new(title).lead(lead), batch, report, detector, top)
        }
        (batches, _) => {
            let noun = if report.by.is_some() { "segment" } else { "batch" };
            let title = format!("Test of {}", count(batches.len(), noun));
            several(Page::new(title).lead(lead), batches, report, detector, noun)
        }
    }
}

fn tone(shift: &Shift) -> Tone {
    match shift.verdict {
        Verdict::Shift => Tone::Alarm,
        Verdict::Negligible => Tone::Warning,
        Verdict::None if words::ordinary(shift).is_some() => Tone::Warning,
        Verdict::None if words::new_data(shift).is_some() => Tone::Warning,
        Verdict::None => Tone::Ok,
    }
}

fn single(
    page: Page,
    batch: &Tested,
    report: &Report<'_>,
    detector: &Detector,
    top: usize,
) -> Page {
    let shift = &batch.shift;
    let detail = format!("The effect is {}.", one::effect(shift));
    let mut page = page
        .verdict(tone(shift), sentence(&one::verdict(shift, report)), detail)
        .section(effect(batch, report, detector));
    if let Some(section) = beside_training(&shift.remarks) {
        page = page.section(section);
    }
    if !shift.reasons.is_empty() {
        page = page.section(reasons(shift, detector));
    }
    let information = one::information(shift, detector, top.max(1));
    if !information.rows().is_empty() {
        let mut table = Table::new(["", "moved by", "", "what it is"]).right(&[1]);
        for row in information.rows() {
            table.row(row.clone());
        }
        let words = "None of this decides; it helps to find out what happened.";
        page = page.section(Section::new("For information").paragraph(words).table(&table));
    }
    page
}

/// With a capital letter.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn effect(batch: &Tested, report: &Report<'_>, detector: &Detector) -> Section {
    let shift = &batch.shift;
    let mut rows = vec![
        ("samples".to_owned(), shift.samples.to_string()),
        (
            "p-value".to_owned(),
            format!(
                "{}: how often chance alone puts a batch so far out ({} permutations; alpha {})",
                p_value(shift.p_value),
                shift.permutations,
                report.alpha
            ),
        ),
        ("flagged".to_owned(), one::flagged(shift, detector)),
    ];
    rows.extend(shift.estimate.iter().map(|e| ("answers".to_owned(), one::answers(e))));
    rows.extend(words::notes(shift).map(|note| ("note".to_owned(), note)));
    let figure = levelled(Intervals::new(""), report).row(
        file_name(batch.data.as_ref()),
        shift.effect,
        shift.interval,
        tone(shift),
    );
    Section::new("How large it is").table(&facts(rows)).figure(
        &figure,
        "How much further out the samples are than calibration samples, in standard deviations of these, with its 95 % \
         interval. Below 0.2 an effect is negligible, from 0.5 on medium, from 0.8 on large.",
    )
}

/// With what effects are measured by.
fn levelled(figure: Intervals, report: &Report<'_>) -> Intervals {
    let figure = figure.label("effect (standard deviations)");
    match report.least_effect {
        least if least > 0.0 => figure.level(0.0, "").level(least, "counts from here on"),
        _ => figure.level(0.0, "no effect"),
    }
}

fn reasons(shift: &Shift, detector: &Detector) -> Section {
    let bars = shift.reasons.iter().map(|r| (r.name.clone(), r.effect));
    let figure = Bars::new("What each term of the score adds to the effect", bars)
        .label("part of the effect (standard deviations)");
    let names: Vec<String> = shift.reasons.iter().map(|r| r.name.clone()).collect();
    Section::new("Reasons").figure(&figure, "").table(&meanings(detector.manifest(), &names))
}

fn several(
    page: Page,
    batches: &[Tested],
    report: &Report<'_>,
    detector: &Detector,
    noun: &str,
) -> Page {
    let found = batches.iter().filter(|b| b.shift.is_shift()).count();
    let negligible = batches.iter().filter(|b| b.shift.verdict == Verdict::Negligible).count();
    let headline = match (found, negligible) {
        (0, 0) => format!("No shift seen in {}", count(batches.len(), noun)),
        (0, n) => format!("No shift that counts in {}, {n} negligible", count(batches.len(), noun)),
        (n, _) => format!("{n} of {} differ", count(batches.len(), noun)),
    };
    let tone = if found > 0 {
        Tone::Alarm
    } else {
        let worst = |b: &Tested| tone(&b.shift) != Tone::Ok;
        if batches.iter().any(worst) { Tone::Warning } else { Tone::Ok }
    };
    let least = match report.least_effect {
        least if least > 0.0 => format!(" and its effect is surely {least} or more"),
        _ => String::new(),
    };
    let detail = format!(
        "One differs if it is further out than the calibration data, its p-value adjusted for their number is at most \
         {}{least}.",
        report.alpha
    );
    let page = page.verdict(tone, headline, detail).section(over_batches(batches, report));
    let page = page.section(list(batches, report, detector));
    match report.tests.too_small.len() {
        0 => page,
        n => page.section(
            Section::new("Not tested")
                .paragraph(format!("{} with fewer than 2 samples.", count(n, noun))),
        ),
    }
}

fn over_batches(batches: &[Tested], report: &Report<'_>) -> Section {
    let caption = "In standard deviations of calibration samples, with 95 % intervals.";
    let section = Section::new("Effects");
    if batches.len() > ROWS {
        let points = batches.iter().enumerate().map(|(i, b)| (i as f64, b.shift.effect));
        let band =
            batches.iter().map(|b| b.shift.interval.unwrap_or((b.shift.effect, b.shift.effect)));
        let found = batches.iter().enumerate().filter(|(_, b)| b.shift.is_shift());
        let found = found.map(|(i, b)| (i as f64, b.shift.effect));
        let found: Vec<(f64, f64)> = found.collect();
        let mut figure = Lines::new("Effect by batch")
            .axes("batch", "effect (standard deviations)")
            .series(Series::new("effect", points).band(band))
            .level(report.least_effect, "counts from here on");
        if !found.is_empty() {
            figure = figure.series(Series::new("shift", found).dots());
        }
        return section.figure(&figure, caption);
    }
    let start = levelled(Intervals::new("Effect by batch"), report)
        .tone(Tone::Alarm, "shift")
        .tone(Tone::Warning, "negligible, or more ordinary")
        .tone(Tone::Ok, "no shift seen");
    let figure = batches.iter().zip(names(batches)).fold(start, |figure, (batch, name)| {
        let shift = &batch.shift;
        figure.row(name, shift.effect, shift.interval, tone(shift))
    });
    section.figure(&figure, caption)
}

fn list(batches: &[Tested], report: &Report<'_>, detector: &Detector) -> Section {
    let first = report.by.as_deref().unwrap_or("batch");
    let estimated = batches.iter().any(|b| b.shift.estimate.is_some());
    let mut head = vec![first, "flagged", "effect (95 % interval)", "adjusted p", "verdict"];
    head.extend(estimated.then_some("answers, estimated"));
    let reasoned = batches.iter().any(|b| !b.shift.reasons.is_empty());
    head.extend(reasoned.then_some("largest reasons (SD)"));
    let last = head.len() - usize::from(reasoned);
    let mut table = Table::new(head).right(&[1, 2, 3, last]);
    let mut left_out = 0;
    for (i, (batch, name)) in batches.iter().zip(names(batches)).enumerate() {
        if i >= LISTED && !batch.shift.is_shift() {
            left_out += 1;
            continue;
        }
        table.row(row(name, batch, estimated));
    }
    let mut section = Section::new("Batches").table(&table);
    let mut terms: Vec<String> = Vec::new();
    for reason in batches.iter().flat_map(|b| b.shift.reasons.iter().take(NAMED)) {
        if !terms.contains(&reason.name) {
            terms.push(reason.name.clone());
        }
    }
    if !terms.is_empty() {
        section = section.table(&meanings(detector.manifest(), &terms));
    }
    match left_out {
        0 => section,
        n => section.paragraph(format!("And {} without a shift.", count(n, "other"))),
    }
}

/// What batches are called, without folders where that tells them apart.
fn names(batches: &[Tested]) -> Vec<String> {
    let long: Vec<String> = batches.iter().map(|b| words::named(b, batches)).collect();
    let short =
        long.iter().zip(batches).map(|(name, batch)| match name.strip_prefix(&batch.data) {
            Some(rest) => format!("{}{rest}", file_name(batch.data.as_ref())),
            None => name.clone(),
        });
    let short: Vec<String> = short.collect();
    let distinct: HashSet<&String> = short.iter().collect();
    if distinct.len() == short.len() { short } else { long }
}

fn row(name: String, batch: &Tested, estimated: bool) -> Vec<String> {
    let shift = &batch.shift;
    let verdict = match shift.verdict {
        Verdict::Shift => "shift",
        Verdict::Negligible => "negligible",
        Verdict::None if words::ordinary(shift).is_some() => "more ordinary",
        Verdict::None if words::new_data(shift).is_some() => "new data",
        Verdict::None => "–",
    };
    let interval = shift
        .interval
        .map_or_else(String::new, |(low, high)| format!(" ({} to {})", signed(low), signed(high)));
    let mut row = vec![
        name,
        format!(
            "{} of {}",
            percent(shift.flagged as f64 / shift.samples.max(1) as f64),
            shift.samples
        ),
        format!("{}{interval}", signed(shift.effect)),
        p_value(shift.adjusted_p_value),
        verdict.to_owned(),
    ];
    let answers = shift.estimate.as_ref().map_or_else(|| "–".to_owned(), one::short_answers);
    row.extend(estimated.then_some(answers));
    let reasons = shift.reasons.iter().take(NAMED);
    let reasons = reasons.map(|r| format!("{} {}", r.name, signed(r.effect)));
    row.push(reasons.collect::<Vec<_>>().join(", "));
    row
}
