//! The figures of a monitor, each with a sentence of what it shows and its numbers.

use taste_detector::Detector;
use taste_monitor::{Span, View};
use taste_report::{Bars, Histogram, Lines, Series};
use taste_stats::binomial::clopper_pearson;

use super::{
    layout::Drawn,
    words::{self, count, percent, signed},
};
use crate::{recent::Effect, time::now};

const WIDE: [f64; 2] = [720.0, 320.0];
const NARROW: [f64; 2] = [340.0, 300.0];
/// Rows of a table beside a figure.
const MOST_ROWS: usize = 40;
const TEN: f64 = std::f64::consts::LN_10;

/// Every so many-th of a list, so that few are left, and the last.
fn thinned<T: Clone>(all: &[T]) -> Vec<T> {
    let step = all.len().div_ceil(MOST_ROWS).max(1);
    let mut kept: Vec<T> = all.iter().step_by(step).cloned().collect();
    if !(all.len().max(1) - 1).is_multiple_of(step) {
        kept.extend(all.last().cloned());
    }
    kept
}

/// Evidence over samples, with the threshold, alarms, restarts and when a change began.
pub(super) fn evidence(view: &View) -> String {
    let peak = view.series.iter().map(|p| p.log.1).fold(f64::NEG_INFINITY, f64::max);
    let build = |[width, height]: [f64; 2]| {
        let points = view.series.iter().flat_map(|p| {
            let x = p.at.sample as f64;
            [(x, p.log.0 / TEN), (x, p.log.1 / TEN)]
        });
        let mut lines = Lines::new("")
            .axes("samples", "evidence, in powers of ten")
            .sized(width, height)
            .series(Series::new("", points))
            .level(view.log_threshold / TEN, "alarm");
        for alarm in &view.alarms {
            lines = lines.moment(alarm.raised.sample as f64, format!("alarm {}", alarm.id));
        }
        if let Some(began) = view.alarms.last().and_then(|alarm| alarm.began) {
            lines = lines.moment(began.likely.sample as f64, "likely start");
        }
        if view.restarted.sample > 0 {
            lines = lines.moment(view.restarted.sample as f64, "anew");
        }
        lines
    };
    let finding = format!(
        "Evidence is {} now and was {} at most; at {} an alarm is raised.",
        words::evidence(view.log_evidence),
        words::evidence(peak),
        words::evidence(view.log_threshold)
    );
    let rows = thinned(&view.series)
        .into_iter()
        .map(|p| vec![count(p.at.sample), words::moment(p.at.time), words::evidence(p.log.1)]);
    Drawn {
        id: "evidence",
        heading: "Evidence by sample",
        wide: &build(WIDE),
        narrow: &build(NARROW),
        finding,
        head: vec!["sample", "time (UTC)", "largest evidence"],
        rows: rows.collect(),
    }
    .html()
}

/// The spans that show the whole life best, and what one is called.
fn spans(view: &View) -> (&[Span], f64, &'static str) {
    let age = view.first_time.map_or(0, |first| now() - first);
    if age < 600_000 {
        (&view.seconds, 1e3, "seconds before now")
    } else if age < 86_400_000 {
        (&view.minutes, 6e4, "minutes before now")
    } else {
        (&view.hours, 3.6e6, "hours before now")
    }
}

/// Evidence over time.
pub(super) fn evidence_in_time(view: &View) -> String {
    let (spans, unit, label) = spans(view);
    let now = now();
    let at = |span: &Span| (span.start - now) as f64 / unit;
    let build = |[width, height]: [f64; 2]| {
        let points = spans.iter().map(|s| (at(s), s.log.max(-10.0) / TEN));
        let mut lines = Lines::new("")
            .axes(label, "largest evidence, in powers of ten")
            .sized(width, height)
            .series(Series::new("", points))
            .level(view.log_threshold / TEN, "alarm");
        for alarm in &view.alarms {
            let x = (alarm.raised.time - now) as f64 / unit;
            if spans.first().is_some_and(|first| x >= at(first)) {
                lines = lines.moment(x, format!("alarm {}", alarm.id));
            }
        }
        lines
    };
    let busiest = spans.iter().map(|s| s.samples).max().unwrap_or(0);
    let finding = format!(
        "{} with samples, at most {} samples in one.",
        match spans.len() {
            1 => "One span of time".to_owned(),
            n => format!("{} spans of time", count(n as u64)),
        },
        count(busiest)
    );
    let rows = thinned(spans)
        .into_iter()
        .map(|s| vec![words::moment(s.start), count(s.samples), words::evidence(s.log)]);
    Drawn {
        id: "time",
        heading: "Evidence in time",
        wide: &build(WIDE),
        narrow: &build(NARROW),
        finding,
        head: vec!["from (UTC)", "samples", "largest evidence"],
        rows: rows.collect(),
    }
    .html()
}

/// The share that is flagged, with its interval, against what is expected.
pub(super) fn flagged(view: &View) -> String {
    const SHOWN: usize = 40;
    let (spans, unit, label) = spans(view);
    let now = now();
    let step = spans.len().div_ceil(SHOWN).max(1);
    let joined: Vec<(f64, u64, u64)> = spans
        .chunks(step)
        .map(|part| {
            let samples = part.iter().map(|s| s.samples).sum();
            let flagged = part.iter().map(|s| s.flagged).sum();
            ((part[0].start - now) as f64 / unit, flagged, samples)
        })
        .collect();
    let share = |flagged: u64, samples: u64| 100.0 * flagged as f64 / samples.max(1) as f64;
    let interval = |flagged: u64, samples: u64| {
        clopper_pearson(flagged, samples, 0.95)
            .map_or((0.0, 100.0), |i| (100.0 * i.low, 100.0 * i.high))
    };
    let build = |[width, height]: [f64; 2]| {
        let points = joined.iter().map(|(x, f, n)| (*x, share(*f, *n)));
        let bands = joined.iter().map(|(_, f, n)| interval(*f, *n));
        let series = Series::new("", points).band(bands).markers();
        let lines = Lines::new("").axes(label, "flagged, in %").sized(width, height).series(series);
        match view.flagged.alpha {
            Some(alpha) => lines.level(100.0 * alpha, format!("{} expected", percent(alpha))),
            None => lines,
        }
    };
    let all = &view.flagged;
    let within = all.interval.map_or(String::new(), |(low, high)| {
        format!(" (95 % interval {} to {})", percent(low), percent(high))
    });
    let expected = all.alpha.map_or(String::new(), |alpha| {
        format!("; {} are expected without a shift", percent(alpha))
    });
    let finding = format!(
        "{} of {} samples are flagged one by one, {}{within}{expected}.",
        count(all.count),
        count(all.samples),
        percent(all.share)
    );
    let rows = joined.iter().map(|(x, f, n)| {
        vec![format!("{x:.0}"), count(*n), count(*f), format!("{:.1} %", share(*f, *n))]
    });
    Drawn {
        id: "flagged",
        heading: "Flagged samples",
        wide: &build(WIDE),
        narrow: &build(NARROW),
        finding,
        head: vec![label, "samples", "flagged", "share"],
        rows: rows.collect(),
    }
    .html()
}

/// Scores of the last samples over those of the calibration.
pub(super) fn scores(detector: &Detector, recent: &[f64]) -> String {
    let calibration: Vec<f64> = detector.calibration().iter().map(|&s| f64::from(s)).collect();
    let threshold = detector.manifest().decision.threshold;
    let build = |[width, height]: [f64; 2]| {
        let mut histogram = Histogram::new("")
            .axis("score: further right is further out")
            .sized(width, height)
            .group("calibration", calibration.iter().copied());
        if !recent.is_empty() {
            histogram = histogram.group("last samples", recent.iter().copied());
        }
        match threshold {
            Some(threshold) => histogram.threshold(threshold, "flagged beyond"),
            None => histogram,
        }
    };
    let median = |values: &[f64]| {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let finding = if recent.is_empty() {
        "No samples have come since the service started.".to_owned()
    } else {
        format!(
            "The median of the last {} scores is {:.3}; on calibration samples it is {:.3}.",
            count(recent.len() as u64),
            median(recent),
            median(&calibration)
        )
    };
    let quantile = |values: &[f64], share: f64| {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        let place = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
        sorted.get(place).map_or("–".to_owned(), |v| format!("{v:.3}"))
    };
    let rows = [0.05, 0.25, 0.5, 0.75, 0.95]
        .map(|share| vec![percent(share), quantile(&calibration, share), quantile(recent, share)]);
    Drawn {
        id: "scores",
        heading: "Scores",
        wide: &build(WIDE),
        narrow: &build(NARROW),
        finding,
        head: vec!["quantile", "calibration", "last samples"],
        rows: rows.into(),
    }
    .html()
}

/// P-values of the last samples, which are flat without a shift.
pub(super) fn p_values(view: &View) -> Option<String> {
    let stream = view.streams.first()?;
    let counts = stream.p_values_window;
    let bins = counts.len();
    let total: u64 = counts.iter().sum();
    let middle = |bin: usize| (bin as f64 + 0.5) / bins as f64;
    let values: Vec<f64> = counts
        .iter()
        .enumerate()
        .flat_map(|(bin, n)| std::iter::repeat_n(middle(bin), usize::try_from(*n).unwrap_or(0)))
        .collect();
    let build = |[width, height]: [f64; 2]| {
        Histogram::new("")
            .axis("p-value: small is far out")
            .sized(width, height)
            .bins(bins)
            .ends(0.0, 1.0)
            .group("last samples", values.iter().copied())
    };
    let low = counts[0] as f64 / total.max(1) as f64;
    let finding = format!(
        "{} of the last {} p-values are at most 0.05; without a shift all bins hold about {} each.",
        percent(low),
        count(total),
        percent(1.0 / bins as f64)
    );
    let rows = counts.iter().enumerate().map(|(bin, n)| {
        let (from, to) = (bin as f64 / bins as f64, (bin + 1) as f64 / bins as f64);
        vec![format!("{from:.2} to {to:.2}"), count(*n)]
    });
    Some(
        Drawn {
            id: "p-values",
            heading: "P-values",
            wide: &build(WIDE),
            narrow: &build(NARROW),
            finding,
            head: vec!["p-value", "samples"],
            rows: rows.collect(),
        }
        .html(),
    )
}

/// How far each of some things moved.
pub(super) fn effects(
    id: &str,
    heading: &str,
    what: &str,
    effects: &[Effect],
    most: usize,
) -> Option<String> {
    let mut shown: Vec<&Effect> = effects.iter().filter(|e| e.samples > 0).collect();
    shown.sort_by(|a, b| b.deviations.abs().total_cmp(&a.deviations.abs()));
    let first = shown.first()?;
    let finding = format!("{what}: {} moved most, by {} SD.", first.name, signed(first.deviations));
    let bars = |width: f64| {
        let bars = shown.iter().map(|e| (e.name.clone(), e.deviations));
        Bars::new("", bars).label("standard deviations from calibration").ranked(most).sized(width)
    };
    let rows = shown
        .iter()
        .take(MOST_ROWS)
        .map(|e| vec![e.name.clone(), signed(e.deviations), count(e.samples as u64)]);
    Some(
        Drawn {
            id,
            heading,
            wide: &bars(WIDE[0]),
            narrow: &bars(NARROW[0]),
            finding,
            head: vec!["what", "effect (SD)", "samples"],
            rows: rows.collect(),
        }
        .html(),
    )
}
