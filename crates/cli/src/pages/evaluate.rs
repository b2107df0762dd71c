//! `taste evaluate`: how well each detector tells shifted samples from clean ones.

use taste_report::{Histogram, Intervals, Lines, Page, Section, Series, Table, Tone};
use taste_stats::rank::Ranked;
use taste_zoo::evaluation::{ScoreReport, SetReport};

use super::{file_name, percent};
use crate::{
    evaluate::{Judged, Report, text},
    table::{self, count},
};

/// AUROCs from which a set counts as told apart, and as told apart well.
const FAIR: f64 = 0.6;
const GOOD: f64 = 0.8;
/// Groups of shifted samples that a figure shows beside clean ones.
const GROUPS: usize = 5;

/// The page of an evaluation.
pub(crate) fn evaluate(report: &Report<'_>) -> Page {
    let (tone, headline, detail) = verdict(report);
    let title = match &report.detectors[..] {
        [one] => format!("How good {} is", one.name()),
        several => format!("How good {} are", count(several.len(), "detector")),
    };
    let mut page = Page::new(title)
        .lead(format!("Clean samples: {}.", report.id.display()))
        .verdict(tone, headline, detail);
    if report.detectors.len() > 1 {
        page = page.section(beside(report));
    }
    for judged in &report.detectors {
        for score in &judged.found.scores {
            page = page.section(section(report, judged, score));
        }
    }
    page.section(Section::new("What the numbers are").list(legend(report)))
}

fn mean(score: &ScoreReport) -> Option<f64> {
    score.all.means.get("auroc").copied()
}

fn tone(auroc: f64) -> Tone {
    match auroc {
        a if a >= GOOD => Tone::Ok,
        a if a >= FAIR => Tone::Warning,
        _ => Tone::Alarm,
    }
}

/// The best detector by the mean over sets, and what it flags of clean samples.
fn verdict(report: &Report<'_>) -> (Tone, String, String) {
    let scores = report.detectors.iter().filter_map(|j| Some((j, j.found.scores.first()?)));
    let best = scores.max_by(|a, b| {
        mean(a.1).unwrap_or(f64::NEG_INFINITY).total_cmp(&mean(b.1).unwrap_or(f64::NEG_INFINITY))
    });
    let Some((judged, score, auroc)) = best.and_then(|(j, s)| Some((j, s, mean(s)?))) else {
        return (Tone::Warning, "No AUROC could be computed".to_owned(), String::new());
    };
    let name = if report.detectors.len() > 1 {
        format!("Best: {}, ", judged.name())
    } else {
        String::new()
    };
    let sets = count(score.all.sets, "shifted set");
    let headline = match score.all.sets {
        1 => format!("{name}AUROC {auroc:.3}"),
        _ if name.is_empty() => format!("Mean AUROC {auroc:.3} over {sets}"),
        _ => format!("{name}mean AUROC {auroc:.3} over {sets}"),
    };
    let flagged = score.id.value("flagged").zip(judged.found.alpha);
    let detail = flagged.map_or_else(String::new, |(flagged, alpha)| {
        format!(
            "A shifted sample has a larger score than a clean one in {} of cases. Of clean samples {} are flagged; {} were \
             asked for.",
            percent(auroc),
            percent(flagged),
            percent(alpha)
        )
    });
    (tone(auroc), headline, detail)
}

/// Means of all detectors in one table.
fn beside(report: &Report<'_>) -> Section {
    let columns: Vec<(String, &ScoreReport)> = report
        .detectors
        .iter()
        .flat_map(|j| j.found.scores.iter().map(move |s| (heading(j, s), s)))
        .collect();
    let right: Vec<usize> = (1..=columns.len()).collect();
    let head = std::iter::once("AUROC".to_owned()).chain(columns.iter().map(|c| c.0.clone()));
    let mut table = Table::new(head).right(&right);
    let decimal = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), |v| format!("{v:.3}"));
    let mut row = |name: &str, of: &dyn Fn(&ScoreReport) -> Option<f64>| {
        let cells = columns.iter().map(|c| decimal(of(c.1)));
        table.row(std::iter::once(name.to_owned()).chain(cells));
    };
    row("mean of all sets", &mean);
    let first = columns[0].1;
    for (i, group) in first.groups.iter().enumerate().filter(|(_, group)| group.sets > 1) {
        let name = format!("mean of group {} ({})", group.name, count(group.sets, "set"));
        row(&name, &|s| s.groups.get(i)?.means.get("auroc").copied());
    }
    for (i, set) in first.sets.iter().enumerate() {
        row(&set.name, &|s| s.sets.get(i)?.value("auroc"));
    }
    let clean = columns.iter().map(|c| c.1.id.value("flagged").map_or("–".to_owned(), percent));
    table.row(std::iter::once("flagged of clean samples".to_owned()).chain(clean));
    let curves = columns.iter().map(|(name, s)| (name.clone(), &s.id, s.sets.iter().collect()));
    Section::new("Side by side").table(&table).figure(
        &roc(curves),
        "All shifted samples together: for every threshold, how many clean samples and how many shifted ones lie above \
         it. The area below a line is its AUROC.",
    )
}

fn heading(judged: &Judged<'_>, score: &ScoreReport) -> String {
    match score.score.as_str() {
        "score" => judged.name(),
        other => format!("{}: {other}", judged.name()),
    }
}

fn section(report: &Report<'_>, judged: &Judged<'_>, score: &ScoreReport) -> Section {
    let found = &judged.found;
    let several = report.detectors.len() > 1;
    let what = if score.score == "novelty" {
        "Novelty: is it new?"
    } else {
        "Score: does it matter to the model?"
    };
    let title = if several { heading(judged, score) } else { what.to_owned() };
    let mut section = Section::new(title)
        .paragraph(format!("Method {}. Clean: {}.", found.method, text::clean(found, &score.id)))
        .figure(
            &aurocs(score),
            "How often a shifted sample has a larger score than a clean one, with 95 % intervals. 0.5 is what chance gives, \
             1 tells all of them apart.",
        )
        .figure(&histogram(score), "The less they overlap, the better shifted samples are told apart.")
        .figure(
            &roc(groups(score).into_iter().map(|(name, sets)| (name, &score.id, sets))),
            "For every threshold, how many clean samples and how many shifted ones lie above it. The area below a line is \
             its AUROC; the diagonal is what chance gives.",
        )
        .table(&shown(&text::by_set(found, score)));
    if let Some((pooled, aware)) = text::pooled(score) {
        section = section.table(&shown(&pooled));
        if !aware.is_empty() {
            section = section.paragraph(aware);
        }
    }
    section
}

/// A table of the terminal, its first row as head.
pub(super) fn shown(table: &table::Table) -> Table {
    let Some((head, rows)) = table.rows().split_first() else { return Table::default() };
    let right: Vec<usize> = (1..head.len()).collect();
    let mut shown = Table::new(head.clone()).right(&right);
    for row in rows {
        shown.row(row.clone());
    }
    shown
}

fn aurocs(score: &ScoreReport) -> Intervals {
    let start = Intervals::new("AUROC by set")
        .label("AUROC")
        .level(0.5, "chance")
        .tone(Tone::Ok, format!("at least {GOOD}"))
        .tone(Tone::Warning, format!("at least {FAIR}"))
        .tone(Tone::Alarm, "hardly told apart");
    score.sets.iter().fold(start, |figure, set| match set.metrics.get("auroc") {
        Some(m) => figure.row(set.name.clone(), m.value, m.low.zip(m.high), tone(m.value)),
        None => figure,
    })
}

/// Shifted sets by name, by group where there are many, or all in one.
fn groups(score: &ScoreReport) -> Vec<(String, Vec<&SetReport>)> {
    if score.sets.len() <= GROUPS {
        return score.sets.iter().map(|set| (set.name.clone(), vec![set])).collect();
    }
    if (1..=GROUPS).contains(&score.groups.len()) {
        let named = score.groups.iter().map(|group| {
            let own = |s: &&SetReport| s.group.as_deref() == Some(&group.name);
            let sets: Vec<&SetReport> = score.sets.iter().filter(own).collect();
            (format!("group {} ({})", group.name, count(sets.len(), "set")), sets)
        });
        return named.collect();
    }
    vec![(format!("all {}", count(score.sets.len(), "set")), score.sets.iter().collect())]
}

/// ROC curves by name, each of clean samples and of shifted sets.
fn roc<'a>(curves: impl Iterator<Item = (String, &'a SetReport, Vec<&'a SetReport>)>) -> Lines {
    // Chance first, where histograms have clean samples: sets have the same colours in both.
    let start = Lines::new("ROC curves")
        .axes("false-positive rate (clean)", "true-positive rate (shifted)")
        .series(Series::new("chance", [(0.0, 0.0), (1.0, 1.0)]).dashed());
    curves.fold(start, |figure, (name, clean, sets)| {
        let negative: Vec<f64> = clean.kept().collect();
        let positive: Vec<f64> = sets.iter().flat_map(|set| set.kept()).collect();
        figure.series(Series::new(name, Ranked::new(&negative, &positive).roc()))
    })
}

/// Scores of clean samples and of shifted ones.
pub(super) fn histogram(score: &ScoreReport) -> Histogram {
    let all: Vec<&SetReport> = std::iter::once(&score.id).chain(&score.sets).collect();
    let positive = all.iter().flat_map(|s| &s.quantiles).all(|v| *v > 0.0);
    let upper = |s: &SetReport, share: f64| s.quantile(share).unwrap_or(0.0);
    let far = all.iter().any(|s| upper(s, 0.9) > 10.0 * upper(&score.id, 0.95));
    let value = |v: f64| if far && positive { v.log10() } else { v };
    let label = if far && positive { ", logarithm (base 10)" } else { "" };
    let start = Histogram::new("Scores of clean and of shifted samples")
        .axis(format!("{}{label}", score.score))
        .without_counts()
        .group("clean", score.id.quantiles.iter().map(|&v| value(v)));
    groups(score).into_iter().fold(start, |figure, (name, sets)| {
        figure.group(name, sets.iter().flat_map(|s| &s.quantiles).map(|&v| value(v)))
    })
}

fn legend(report: &Report<'_>) -> Vec<String> {
    let mut lines = vec![
        "AUROC: how often a shifted sample has a larger score than a clean one.".to_owned(),
        format!("FPR95, {}.", report.fpr95),
        "Flagged: the share of samples beyond the threshold.".to_owned(),
    ];
    lines.extend(text::failures(report));
    lines
}

impl Judged<'_> {
    /// The name of its file.
    fn name(&self) -> String {
        file_name(self.detector)
    }
}
