//! `taste test`.

use std::path::Path;

use anyhow::{Result, bail};
use ndarray::{Axis, Slice};
use serde::Serialize;
use taste_data::Samples;
use taste_stein::{
    Detector, Scores, channel_axis,
    shift::{Batch, Shift},
    stats::multiple::holm,
};

use crate::{
    Outcome,
    args::TestArgs,
    detect::Detection,
    print, print_json,
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

#[derive(Serialize)]
struct Tested {
    data: String,
    /// The number of the first sample, where a data set is cut into batches.
    first: usize,
    /// Whether it differs by more than chance explains.
    seen: bool,
    /// Whether it differs by as much as was asked for, too.
    shifted: bool,
    #[serde(flatten)]
    shift: Shift,
}

pub(crate) fn run(args: &TestArgs) -> Result<Outcome> {
    let with = &args.with;
    let detector = Detector::open(&with.detector)?;
    let alpha = args.alpha.or(detector.manifest().decision.alpha).unwrap_or(0.05);
    if !(alpha > 0.0 && alpha < 1.0) {
        bail!("--alpha {alpha}: it lies between 0 and 1");
    }
    if args.least_effect.is_nan() || args.least_effect < 0.0 {
        bail!(
            "--least-effect {}: it is a number of standard deviations from 0 on",
            args.least_effect
        );
    }
    let least = 1.0 / f64::from(args.permutations + 1);
    if least > alpha {
        bail!(
            "{} permutations give no p-value below {least:.3}: --permutations {} or more can reach alpha = {alpha}",
            args.permutations,
            (1.0 / alpha - 1e-9).ceil() - 1.0
        );
    }
    let mut detection = Detection::start(&detector, with, detector.has_map())?;
    let mut batches = Vec::new();
    for path in &args.data {
        gather(args, &detector, &mut detection, path, &mut batches)?;
    }
    let raw: Vec<f64> = batches.iter().map(|b| b.shift.p_value).collect();
    for (batch, adjusted) in batches.iter_mut().zip(holm(&raw)) {
        batch.shift.adjusted_p_value = adjusted;
        batch.seen = adjusted <= alpha;
        batch.shifted = batch.seen && batch.shift.effect().abs() >= args.least_effect;
    }
    let shifted = batches.iter().any(|b| b.shifted);
    let report = Report {
        detector: &with.detector,
        alpha,
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
        let reachable = least * report.batches.len() as f64;
        if reachable > alpha {
            tell(&format!(
                "warning: for {} batches, {} permutations give no adjusted p-value below {}: --permutations {:.0} or \
                 more can reach alpha = {alpha}",
                report.batches.len(),
                args.permutations,
                p_value(reachable.min(1.0)),
                (report.batches.len() as f64 / alpha - 1e-9).ceil() - 1.0
            ));
        }
        for batch in report.batches.iter().filter(|b| b.shift.not_finite > 0) {
            tell(&format!(
                "warning: {}: {} of {} have no finite residual; they are left out of the means",
                batch.data,
                batch.shift.not_finite,
                count(batch.shift.samples, "sample")
            ));
        }
    }
    Ok(if shifted { Outcome::Found } else { Outcome::Fine })
}

/// Scores a data set and tests it, whole or in batches.
fn gather(
    args: &TestArgs,
    detector: &Detector,
    detection: &mut Detection<'_>,
    path: &Path,
    batches: &mut Vec<Tested>,
) -> Result<()> {
    let data = detection.open(path)?;
    let size = args.batch_size.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let permutations = usize::try_from(args.permutations)?;
    let mut current = Batch::new(detector, args.seed);
    let mut first = 0;
    let name = data.name().to_owned();
    let mut finish = |batch: &Batch<'_>, first: usize| -> Result<()> {
        let shift = batch.test(permutations).map_err(|e| anyhow::anyhow!("{name}: {e}"))?;
        batches.push(Tested { data: name.clone(), first, seen: false, shifted: false, shift });
        Ok(())
    };
    detection.each(&data, |chunk, scores| {
        let mut start = 0;
        while start < chunk.len() {
            let end = chunk.len().min(start.saturating_add(size - current.len()));
            current.add(&rows(scores, start, end))?;
            if current.len() >= size {
                finish(&current, first)?;
                first += current.len();
                current = Batch::new(detector, args.seed);
            }
            start = end;
        }
        Ok(())
    })?;
    if !current.is_empty() {
        finish(&current, first)?;
    }
    Ok(())
}

/// Scores `start..end` of some.
fn rows(scores: &Scores, start: usize, end: usize) -> Scores {
    let span = || Slice::from(start..end);
    Scores {
        residual: scores.residual[start..end].to_vec(),
        score: scores.score[start..end].to_vec(),
        p_value: scores.p_value[start..end].to_vec(),
        flag: scores.flag[start..end].to_vec(),
        residuals: scores.residuals.as_ref().map(|r| r.slice_axis(Axis(0), span()).to_owned()),
        map: scores.map.as_ref().map(|m| m.slice_axis(Axis(0), span()).to_owned()),
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
    // Residual, score and rank always; of the classes those that moved most.
    let mut classes: Vec<usize> = (3..shift.quantities.len()).collect();
    classes.sort_by(|&a, &b| {
        shift.quantities[b].effect.abs().total_cmp(&shift.quantities[a].effect.abs())
    });
    for &i in
        (0..3.min(shift.quantities.len())).collect::<Vec<_>>().iter().chain(classes.iter().take(3))
    {
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

/// `row 3, column 5` for pictures, `entry 3` for vectors.
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
