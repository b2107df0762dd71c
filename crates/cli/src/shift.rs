//! `taste test`.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use taste_data::Samples;
use taste_detector::{
    Detector, channel_axis,
    shift::{Session, TestSettings, Tested},
};

use crate::{
    Outcome,
    args::TestArgs,
    detect::{Detection, tell_skipped},
    print, print_json,
    progress::Bars,
    table::{Table, count, number},
    tell,
};

#[derive(Serialize)]
struct Report<'a> {
    detector: &'a Path,
    alpha: f64,
    least_effect: f64,
    /// Whether any batch differs.
    shifted: bool,
    batches: Vec<Tested>,
}

pub(crate) fn run(args: &TestArgs) -> Result<Outcome> {
    let with = &args.with;
    let detector = Detector::open(&with.detector)?;
    let defaults = TestSettings::of(&detector);
    let settings = TestSettings {
        alpha: args.alpha.unwrap_or(defaults.alpha),
        least_effect: args.least_effect,
        permutations: usize::try_from(args.permutations)?,
        batch_size: args.batch_size.map(usize::try_from).transpose()?,
        seed: args.seed,
    };
    let mut session = Session::new(&detector, settings.clone())?;
    let detection = Detection::start(&detector, with, detector.has_map())?;
    for path in &args.data {
        let data = detection.open(path)?;
        let bars = Bars::new(with.run.quiet());
        let chunk = detection.chunk();
        session.add(&detection.scorer, &data as &dyn Samples, chunk, &bars.progress())?;
        drop(bars);
        if !with.run.quiet() {
            tell_skipped(&data);
        }
    }
    let batches = session.finish();
    let shifted = batches.iter().any(|b| b.shifted);
    let report = Report {
        detector: &with.detector,
        alpha: settings.alpha,
        least_effect: args.least_effect,
        shifted,
        batches,
    };
    if with.json {
        print_json(&report)?;
    } else {
        print(&render(&report, &detector, args.top))?;
    }
    if !with.run.quiet() {
        warn(&report, &settings);
    }
    Ok(if shifted { Outcome::Found } else { Outcome::Fine })
}

/// Says what the verdicts leave out.
fn warn(report: &Report<'_>, settings: &TestSettings) {
    let batches = report.batches.len();
    let reachable = settings.least_p_value() * batches as f64;
    if reachable > settings.alpha {
        tell(&format!(
            "warning: for {batches} batches, {} permutations give no adjusted p-value below {}: --permutations {} or more \
             can reach alpha = {}",
            settings.permutations,
            p_value(reachable.min(1.0)),
            settings.permutations_for(batches),
            settings.alpha
        ));
    }
    for batch in report.batches.iter().filter(|b| b.shift.not_finite > 0) {
        tell(&format!(
            "warning: {}: {} of {} have no finite score; they are left out of the means",
            batch.data,
            batch.shift.not_finite,
            count(batch.shift.samples, "sample")
        ));
    }
}

fn render(report: &Report<'_>, detector: &Detector, top: usize) -> String {
    if report.batches.len() > 1 {
        return many(report);
    }
    report.batches.iter().map(|b| one(b, report, detector, top)).collect()
}

/// How large an effect is, in words (after Cohen 1988).
fn size(effect: f64) -> &'static str {
    match effect.abs() {
        e if e < 0.1 => "negligible",
        e if e < 0.35 => "small",
        e if e < 0.65 => "medium",
        e if e < 1.2 => "large",
        _ => "very large",
    }
}

/// An effect with its sign; a few digits are enough.
fn deviations(effect: f64) -> String {
    if effect.abs() < 1000.0 { format!("{effect:+.2}") } else { format!("{effect:+.1e}") }
}

fn p_value(p: f64) -> String {
    if p < 0.001 { format!("{p:.4}") } else { format!("{p:.3}") }
}

fn one(batch: &Tested, report: &Report<'_>, detector: &Detector, top: usize) -> String {
    let Report { alpha, least_effect, .. } = *report;
    let shift = &batch.shift;
    let clearest = &shift.quantities[shift.clearest];
    let verdict = if batch.shifted {
        format!(
            "shift: the batch differs in a way that the model reacts to ({} effect, {} SD of the {})",
            size(clearest.effect),
            deviations(clearest.effect),
            clearest.name
        )
    } else if batch.seen {
        format!(
            "a shift that is let pass: {} SD of the {}, less than the {least_effect} asked for",
            deviations(clearest.effect),
            clearest.name
        )
    } else {
        format!(
            "no shift that the model reacts to is seen (p = {} above alpha = {alpha})",
            p_value(shift.adjusted_p_value)
        )
    };
    let mut facts = Table::default();
    facts.row(["batch".to_owned(), format!("{}: {}", batch.data, count(shift.samples, "sample"))]);
    facts.row(["verdict".to_owned(), verdict]);
    facts.row([
        "p-value".to_owned(),
        format!(
            "{} over all quantities, {} permutations",
            p_value(shift.p_value),
            shift.permutations
        ),
    ]);
    let share = 100.0 * shift.flagged as f64 / shift.samples as f64;
    facts.row([
        "flagged".to_owned(),
        format!("{} of {} samples one by one ({share:.1} %)", shift.flagged, shift.samples),
    ]);
    let mut numbers = Table::default().right(&[1, 2, 3, 4]);
    numbers.row(["", "effect (SD)", "mean shift", "95 % interval", "p"]);
    // Summaries always; of the others those that moved most.
    let mut classes: Vec<usize> = (shift.summaries..shift.quantities.len()).collect();
    classes.sort_by(|&a, &b| {
        shift.quantities[b].effect.abs().total_cmp(&shift.quantities[a].effect.abs())
    });
    for i in (0..shift.summaries).chain(classes.into_iter().take(3)) {
        let q = &shift.quantities[i];
        let interval = q.interval.map_or_else(
            || "-".to_owned(),
            |(low, high)| format!("{} to {}", number(low), number(high)),
        );
        numbers.row([
            q.name.clone(),
            deviations(q.effect),
            number(q.difference),
            interval,
            p_value(q.p_value),
        ]);
    }
    let mut text = format!("{}\n{}", facts.render(0), numbers.render(0));
    if !shift.entries.is_empty() && top > 0 {
        let shape = &detector.manifest().model.sample_shape;
        let mut entries = Table::default().right(&[1, 2, 3]);
        entries.row(["carried by", "effect (SD)", "mean part", "standard errors"]);
        for entry in shift.entries.iter().take(top) {
            let name = entry.name.clone().unwrap_or_else(|| place(&entry.position, shape));
            entries.row([
                name,
                deviations(entry.effect),
                number(entry.mean),
                format!("{:+.1}", entry.statistic),
            ]);
        }
        text.push('\n');
        text += &entries.render(0);
    }
    text
}

/// `row 3, column 5` for images, `entry 3` for vectors.
fn place(position: &[usize], shape: &[usize]) -> String {
    let Some(axis) = channel_axis(shape) else {
        return match position {
            [i] => format!("entry {i}"),
            [y, x] => format!("row {y}, column {x}"),
            all => format!("entry {all:?}"),
        };
    };
    let pixel: Vec<usize> = (0..3).filter(|&a| a != axis).map(|a| position[a]).collect();
    let pixel = format!("row {}, column {}", pixel[0], pixel[1]);
    if shape[axis] > 1 { format!("channel {}, {pixel}", position[axis]) } else { pixel }
}

fn many(report: &Report<'_>) -> String {
    let found = report.batches.iter().filter(|b| b.shifted).count();
    let mut rows = Table::default().right(&[1, 2, 3, 4, 5]);
    rows.row(["batch", "samples", "flagged", "effect (SD)", "p", "adjusted p", "verdict"]);
    for batch in &report.batches {
        let shift = &batch.shift;
        let name = if batch.first > 0
            || report.batches.iter().any(|b| b.data == batch.data && b.first > 0)
        {
            format!("{} from {}", batch.data, batch.first)
        } else {
            batch.data.clone()
        };
        rows.row([
            name,
            shift.samples.to_string(),
            format!("{:.1} %", 100.0 * shift.flagged as f64 / shift.samples as f64),
            deviations(shift.effect()),
            p_value(shift.p_value),
            p_value(shift.adjusted_p_value),
            match (batch.shifted, batch.seen) {
                (true, _) => "shift",
                (false, true) => "small",
                (false, false) => "-",
            }
            .to_owned(),
        ]);
    }
    format!(
        "{found} of {} differ in a way that the model reacts to (Holm-adjusted, alpha = {})\n\n{}",
        count(report.batches.len(), "batch"),
        report.alpha,
        rows.render(0)
    )
}
