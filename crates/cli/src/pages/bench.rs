//! `taste bench`: how methods do beside each other.

use std::path::Path;

use taste_report::{Histogram, Intervals, Lines, Matrix, Page, Scale, Section, Series, Tone};
use taste_zoo::{
    benchmark::Benchmarked,
    evaluation::{ScoreReport, SetReport},
};

use super::evaluate::{histogram, shown};
use crate::{bench::text, table::count};

/// Methods whose curves are drawn one upon the other.
const CURVES: usize = 6;
/// Points of a curve.
const POINTS: usize = 200;

/// The page of a benchmark.
pub(crate) fn bench(found: &Benchmarked, id: &Path) -> Page {
    let scores = text::scores(found);
    let mut ranked: Vec<(&str, &ScoreReport, f64)> = scores
        .iter()
        .filter_map(|(name, _, score)| {
            Some((name.as_str(), *score, *score.all.means.get("auroc")?))
        })
        .collect();
    ranked.sort_by(|a, b| b.2.total_cmp(&a.2));
    let sets = scores.first().map_or(0, |s| s.2.sets.len());
    let title =
        format!("{} on {}", count(found.methods.len(), "method"), count(sets, "shifted set"));
    let lead = format!(
        "Clean samples: {}. Every method was fitted once on training data, calibrated on held-out samples, and scores all \
         sets with one tail.",
        id.display()
    );
    let mut page = Page::new(title).lead(lead);
    let Some(&(best, score, auroc)) = ranked.first() else {
        return page.section(left_out(found));
    };
    page = page
        .verdict(Tone::Ok, format!("Best: {best}, mean AUROC {auroc:.3}"), runners_up(&ranked))
        .section(overview(found, &ranked))
        .section(heat(found));
    if let Some(section) = costs(found) {
        page = page.section(section);
    }
    page = page.section(curves(&ranked, score)).section(distributions(&ranked)).section(
        Section::new("Numbers")
            .paragraph("AUROC: how often a shifted sample has a larger score than a clean one.")
            .table(&shown(&text::by_set(found, "auroc")))
            .paragraph(
                "FPR95, ID positive: the share of shifted samples accepted where 95 % of clean ones are.",
            )
            .table(&shown(&text::by_set(found, "fpr95"))),
    );
    if found.failed.is_empty() { page } else { page.section(left_out(found)) }
}

fn runners_up(ranked: &[(&str, &ScoreReport, f64)]) -> String {
    let next: Vec<String> = ranked
        .iter()
        .skip(1)
        .take(3)
        .map(|(name, _, auroc)| format!("{name} {auroc:.3}"))
        .collect();
    if next.is_empty() { String::new() } else { format!("Then {}.", next.join(", ")) }
}

/// Means of every method, and what each costs.
fn overview(found: &Benchmarked, ranked: &[(&str, &ScoreReport, f64)]) -> Section {
    let chart = ranked.iter().fold(
        Intervals::new("Mean AUROC, and the range over groups of sets")
            .label("AUROC")
            .level(0.5, "chance"),
        |chart, (name, score, auroc)| {
            let means = score.groups.iter().filter_map(|g| g.means.get("auroc").copied());
            let (low, high) =
                means.fold((*auroc, *auroc), |(low, high), m| (low.min(m), high.max(m)));
            chart.row(*name, *auroc, Some((low, high)), Tone::Ok)
        },
    );
    Section::new("Methods")
        .figure(&chart, "From the best mean over all sets on.")
        .table(&shown(&text::means(found)))
}

/// All sets by all methods.
fn heat(found: &Benchmarked) -> Section {
    let scores = text::scores(found);
    let columns = scores.iter().map(|s| s.0.clone());
    let mut matrix = Matrix::new("AUROC of methods by sets", columns, Scale::sequential(0.5, 1.0));
    if let Some((_, _, first)) = scores.first() {
        for (i, set) in first.sets.iter().enumerate() {
            let of = |s: &ScoreReport| s.sets.get(i).and_then(|s| s.value("auroc"));
            let cells = scores.iter().map(|(_, _, s)| of(s).unwrap_or(f64::NAN));
            matrix = matrix.row(set.name.clone(), cells);
        }
    }
    Section::new("Methods by sets").figure(
        &matrix,
        "0.5 and below is what chance gives, 1 tells all samples apart. Below 0.5, shifted samples look more ordinary than \
         clean ones.",
    )
}

/// What shifts cost the model, and whether detection follows it.
fn costs(found: &Benchmarked) -> Option<Section> {
    let table = text::accuracies(found)?;
    let score = found.methods.first()?.found.scores.first()?;
    let clean = score.id.value("accuracy")?;
    let start = Intervals::new("Accuracy of the model under every set")
        .label("accuracy")
        .level(clean, "clean");
    let chart = score.sets.iter().fold(start, |chart, set| match set.metrics.get("accuracy") {
        Some(m) => chart.row(set.name.clone(), m.value, m.low.zip(m.high), Tone::Ok),
        None => chart,
    });
    Some(
        Section::new("What the shifts cost")
            .figure(
                &chart,
                "The share of samples that the model is right about, with 95 % intervals.",
            )
            .table(&shown(&table)),
    )
}

/// ROC curves of the best methods on the hardest, a middling and the easiest set for the best of them.
fn curves(ranked: &[(&str, &ScoreReport, f64)], best: &ScoreReport) -> Section {
    let mut order: Vec<usize> =
        (0..best.sets.len()).filter(|&i| best.sets[i].value("auroc").is_some()).collect();
    order.sort_by(|&a, &b| {
        let of = |i: usize| best.sets[i].value("auroc").unwrap_or(0.0);
        of(a).total_cmp(&of(b))
    });
    let mut chosen: Vec<usize> = match order[..] {
        [] => Vec::new(),
        [.., last] if order.len() < 4 => {
            order[..order.len() - 1].iter().copied().chain([last]).collect()
        }
        _ => vec![
            order[0],
            order[order.len() / 3],
            order[2 * order.len() / 3],
            order[order.len() - 1],
        ],
    };
    chosen.dedup();
    let figures: Vec<(Lines, String)> = chosen
        .into_iter()
        .map(|i| {
            let name = &best.sets[i].name;
            let start = Lines::new(format!("ROC, {name}"))
                .axes("share of clean samples above the threshold", "share of shifted ones")
                .series(Series::new("chance", [(0.0, 0.0), (1.0, 1.0)]).dashed());
            let figure = ranked.iter().take(CURVES).fold(start, |figure, (name, score, _)| {
                match score.sets.get(i) {
                    Some(set) => figure.series(Series::new(*name, roc(&score.id, set))),
                    None => figure,
                }
            });
            (figure, format!("{name}: {}", count(best.sets[i].samples, "sample")))
        })
        .collect();
    let shown: Vec<(&dyn taste_report::Figure, &str)> =
        figures.iter().map(|(f, c)| (f as &dyn taste_report::Figure, c.as_str())).collect();
    Section::new("ROC curves")
        .paragraph(format!(
            "The {} with the best means, on sets from the hardest to the easiest for the first of them.",
            count(ranked.len().min(CURVES), "method")
        ))
        .figures(&shown)
}

/// The curve from the largest score on.
fn roc(clean: &SetReport, shifted: &SetReport) -> Vec<(f64, f64)> {
    let above = |scores: &[f64], t: f64| {
        let below = scores.partition_point(|s| *s < t);
        (scores.len() - below) as f64 / scores.len().max(1) as f64
    };
    let mut thresholds: Vec<f64> = (0..=POINTS)
        .flat_map(|i| {
            let share = i as f64 / POINTS as f64;
            [clean.quantile(share), shifted.quantile(share)]
        })
        .flatten()
        .collect();
    thresholds.sort_by(|a, b| b.total_cmp(a));
    thresholds.dedup();
    let point = |t: f64| (above(&clean.quantiles, t), above(&shifted.quantiles, t));
    std::iter::once((0.0, 0.0)).chain(thresholds.into_iter().map(point)).collect()
}

/// Scores of the best methods.
fn distributions(ranked: &[(&str, &ScoreReport, f64)]) -> Section {
    let figures: Vec<(Histogram, String)> = ranked
        .iter()
        .take(CURVES)
        .map(|(name, score, _)| (histogram(score), (*name).to_owned()))
        .collect();
    let shown: Vec<(&dyn taste_report::Figure, &str)> =
        figures.iter().map(|(f, c)| (f as &dyn taste_report::Figure, c.as_str())).collect();
    Section::new("Scores").paragraph("The less they overlap, the better.").figures(&shown)
}

fn left_out(found: &Benchmarked) -> Section {
    let reasons = found.failed.iter().map(|f| format!("{}: {}", f.method, f.reason));
    Section::new("Methods that do not apply").list(reasons)
}
