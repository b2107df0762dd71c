//! What was found, for the terminal.

use taste_detector::{Estimate, Measure};
use taste_zoo::{
    evaluation::{Evaluated, GroupReport, ScoreReport, SetReport, Task},
    metrics::Measured,
};

use super::{Judged, Report};
use crate::table::{Table, count, number, percent};

pub(super) fn render(report: &Report<'_>) -> String {
    let tables = match &report.detectors[..] {
        [one] => {
            let scores = one.found.scores.iter();
            scores.map(|s| alone(report, one, s)).collect::<Vec<_>>().join("\n")
        }
        several => beside(report, several),
    };
    format!("{tables}\n{}", legend(report))
}

/// One score of one detector, with everything that is known.
fn alone(report: &Report<'_>, judged: &Judged<'_>, score: &ScoreReport) -> String {
    let found = &judged.found;
    let mut head = Table::default();
    let alpha = found.alpha.map_or_else(String::new, |a| format!(", alpha {a}"));
    let name = if score.score == "score" { String::new() } else { format!(", {}", score.score) };
    head.row([
        "detector",
        &format!("{}: {}{name}{alpha}", judged.detector.display(), found.method),
    ]);
    head.row(["id", &format!("{}: {}", report.id.display(), clean(found, &score.id))]);
    let pooled = pooled(score).map_or_else(String::new, |(rows, aware)| {
        let aware = if aware.is_empty() { aware } else { format!("\n{aware}\n") };
        format!("\n{}{aware}", rows.render(0))
    });
    format!("{}\n{}{pooled}", head.render(0), by_set(found, score).render(0))
}

/// Clean samples in words, the flagged share first.
pub(crate) fn clean(found: &Evaluated, id: &SetReport) -> String {
    let mut words = vec![count(id.samples, "sample")];
    if let Some(flagged) = id.metrics.get("flagged") {
        let expected =
            found.alpha.map_or_else(String::new, |a| format!(", {} % expected", percent(a)));
        let range = range(flagged, |v| format!("{:.1}", 100.0 * v));
        words.push(format!("{} flagged ({range} %{expected})", share(flagged.value)));
    }
    words.extend(id.value("accuracy").map(|a| format!("accuracy {}", share(a))));
    words.extend(id.mean_absolute_error.map(|e| format!("mean absolute error {}", number(e))));
    words.extend(id.value("failure").map(|f| format!("failures {f:.3}")));
    words.join(", ")
}

/// Sets, then means of groups.
pub(crate) fn by_set(found: &Evaluated, score: &ScoreReport) -> Table {
    let labelled = score.all.labelled > 0;
    let mut rows = Table::default().right(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut head = vec!["set", "samples", "AUROC", "95 % interval", "FPR95", "flagged"];
    let quality = match found.model {
        Task::Classifier { .. } | Task::Binary { .. } => "accuracy",
        Task::Regressor | Task::Several { .. } => "mean abs. error",
    };
    head.extend([quality, "failures"].into_iter().filter(|_| labelled));
    let estimated = score.sets.iter().any(|set| set.estimate.is_some());
    let estimates = format!("{quality}, estimated");
    head.extend(estimated.then_some(estimates.as_str()));
    rows.row(head);
    for set in &score.sets {
        let value = |metric: &str| set.value(metric);
        let interval =
            set.metrics.get("auroc").map_or_else(none, |m| range(m, |v| format!("{v:.3}")));
        let mut row = vec![set.name.clone(), set.samples.to_string()];
        row.extend([
            decimal(value("auroc")),
            interval,
            decimal(value("fpr95")),
            percents(value("flagged")),
        ]);
        let quality = quality_of(found, value("accuracy"), set.mean_absolute_error);
        row.extend([quality, decimal(value("failure"))].into_iter().filter(|_| labelled));
        row.extend(estimated.then(|| set.estimate.as_ref().map_or_else(none, estimate)));
        rows.row(row);
    }
    for group in score.groups.iter().chain([&score.all]).filter(|group| group.sets > 1) {
        let value = |metric: &str| group.means.get(metric).copied();
        let mut row = vec![mean_of(group), String::new(), decimal(value("auroc")), String::new()];
        row.extend([decimal(value("fpr95")), percents(value("flagged"))]);
        let quality = quality_of(found, value("accuracy"), group.mean_absolute_error);
        row.extend([quality, decimal(value("failure"))].into_iter().filter(|_| labelled));
        rows.row(row);
    }
    rows
}

/// Failure prediction over all samples of several sets, and whether harmful shifts are the ones that are seen.
pub(crate) fn pooled(score: &ScoreReport) -> Option<(Table, String)> {
    if score.all.labelled == 0 {
        return None;
    }
    let mut rows = Table::default().right(&[1, 2, 3, 4, 5]);
    rows.row(["labelled samples of", "samples", "failures", "95 % interval", "AURC", "AUGRC"]);
    for group in score.groups.iter().chain([&score.all]).filter(|g| g.labelled > 0) {
        let value = |metric: &str| group.pooled.get(metric).map(|m| m.value);
        let interval =
            group.pooled.get("failure").map_or_else(none, |m| range(m, |v| format!("{v:.3}")));
        rows.row([
            group.name.clone(),
            group.labelled.to_string(),
            decimal(value("failure")),
            interval,
            decimal(value("aurc")),
            decimal(value("augrc")),
        ]);
    }
    let aware = score.all.pooled.get("task-awareness").map_or_else(String::new, |found| {
        let range = range(found, |v| format!("{v:.2}"));
        format!(
            "task-awareness {:.2} ({range}): rank correlation of AUROC with what the shift costs, over labelled sets",
            found.value
        )
    });
    Some((rows, aware))
}

/// Several detectors side by side, a table for every metric.
fn beside(report: &Report<'_>, judged: &[Judged<'_>]) -> String {
    let shown: Vec<(String, &Judged<'_>, &ScoreReport)> = judged
        .iter()
        .flat_map(|j| j.found.scores.iter().map(move |s| (heading(judged, j, s), j, s)))
        .collect();
    let mut head = Table::default();
    for (name, judged, score) in &shown {
        head.row([name.clone(), judged.found.method.clone(), clean(&judged.found, &score.id)]);
    }
    let mut text = format!("id {}\n{}", report.id.display(), head.render(0));
    for (title, metric) in [
        ("AUROC", "auroc"),
        ("FPR95", "fpr95"),
        ("flagged", "flagged"),
        ("accuracy", "accuracy"),
        ("failures", "failure"),
    ] {
        if shown.iter().all(|(_, _, s)| s.all.means.contains_key(metric)) {
            text.push('\n');
            text += &metric_table(title, metric, &shown);
        }
    }
    text
}

fn metric_table(
    title: &str,
    metric: &str,
    shown: &[(String, &Judged<'_>, &ScoreReport)],
) -> String {
    let right: Vec<usize> = (1..=shown.len()).collect();
    let mut rows = Table::default().right(&right);
    rows.row(std::iter::once(title.to_owned()).chain(shown.iter().map(|(name, ..)| name.clone())));
    let cells = |name: String, of: &dyn Fn(&ScoreReport) -> Option<f64>| {
        let cell = |score: &ScoreReport| match metric {
            "flagged" | "accuracy" => percents(of(score)),
            _ => decimal(of(score)),
        };
        let cells: Vec<String> = shown.iter().map(|(_, _, score)| cell(score)).collect();
        [vec![name], cells].concat()
    };
    let first = shown[0].2;
    for (i, set) in first.sets.iter().enumerate() {
        rows.row(cells(set.name.clone(), &|score| score.sets[i].value(metric)));
    }
    let mean = |group: &GroupReport| group.means.get(metric).copied();
    for (i, group) in first.groups.iter().enumerate().filter(|(_, group)| group.sets > 1) {
        rows.row(cells(mean_of(group), &|score| mean(&score.groups[i])));
    }
    if first.sets.len() > 1 {
        rows.row(cells(mean_of(&first.all), &|score| mean(&score.all)));
    }
    if metric == "failure" {
        let over = |group: &GroupReport| group.pooled.get(metric).map(|m| m.value);
        for (i, group) in first.groups.iter().enumerate().filter(|(_, g)| g.labelled > 0) {
            let name = format!("samples of {}", group.name);
            rows.row(cells(name, &|score| over(&score.groups[i])));
        }
        rows.row(cells("all labelled samples".to_owned(), &|score| over(&score.all)));
        let aware = |s: &ScoreReport| s.all.pooled.get("task-awareness").map(|m| m.value);
        rows.row(cells("task-awareness".to_owned(), &aware));
    }
    rows.render(0)
}

/// What a score is called above its column.
fn heading(all: &[Judged<'_>], judged: &Judged<'_>, score: &ScoreReport) -> String {
    let stem =
        |j: &Judged<'_>| j.detector.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let alone = all.iter().filter(|other| stem(other) == stem(judged)).count() == 1;
    let name = if alone { stem(judged) } else { judged.detector.display().to_string() };
    if score.score == "score" { name } else { format!("{name} {}", score.score) }
}

/// What the numbers are.
fn legend(report: &Report<'_>) -> String {
    let failures = failures(report).map_or_else(String::new, |line| format!("{line}\n"));
    format!("FPR95, {}.\n{failures}", report.fpr95)
}

/// What failures are, where labels are known.
pub(crate) fn failures(report: &Report<'_>) -> Option<String> {
    let labelled = |s: &ScoreReport| s.all.labelled + s.id.labelled > 0;
    let labelled = |j: &&Judged<'_>| j.found.scores.iter().any(labelled);
    report.detectors.iter().find(labelled).map(|judged| {
        let rest = match (judged.found.model, judged.found.mistake_above) {
            (Task::Classifier { .. } | Task::Binary { .. } | Task::Several { .. }, _) => {
                String::new()
            }
            (Task::Regressor, Some(limit)) => {
                format!(": an error above {}, which a tenth of clean samples have", number(limit))
            }
            (Task::Regressor, None) => {
                "; for a regressor this needs the labels of clean samples (--id-labels)".to_owned()
            }
        };
        format!("failures: AUROC of the score for the samples that the model is wrong about{rest}.")
    })
}

/// An estimate with its interval.
fn estimate(found: &Estimate) -> String {
    match found.measure {
        _ if found.is_guess() => "not known".to_owned(),
        Measure::Accuracy => {
            let [value, low, high] = [found.value, found.low, found.high].map(|v| 100.0 * v);
            format!("{value:.1} % ({low:.1} to {high:.1})")
        }
        Measure::AbsoluteError => {
            format!("{} ({} to {})", number(found.value), number(found.low), number(found.high))
        }
    }
}

fn mean_of(group: &GroupReport) -> String {
    match group.name.as_str() {
        "all" => format!("mean of {}", count(group.sets, "set")),
        name => format!("mean of {name} ({})", group.sets),
    }
}

fn quality_of(found: &Evaluated, accuracy: Option<f64>, error: Option<f64>) -> String {
    match found.model {
        Task::Classifier { .. } | Task::Binary { .. } => percents(accuracy),
        Task::Regressor | Task::Several { .. } => error.map_or_else(none, number),
    }
}

fn none() -> String {
    "-".to_owned()
}

fn decimal(value: Option<f64>) -> String {
    value.map_or_else(none, |v| format!("{v:.3}"))
}

fn percents(value: Option<f64>) -> String {
    value.map_or_else(none, share)
}

fn share(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

fn range(found: &Measured, shown: impl Fn(f64) -> String) -> String {
    match found.low.zip(found.high) {
        Some((low, high)) => format!("{} to {}", shown(low), shown(high)),
        None => none(),
    }
}
