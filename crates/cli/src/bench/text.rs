//! The tables of a benchmark for the terminal.

use taste_zoo::{
    benchmark::{Benchmarked, Judged},
    evaluation::ScoreReport,
};

use crate::table::{Table, count};

/// Methods with their means, then every set.
pub(super) fn render(found: &Benchmarked) -> String {
    if found.methods.is_empty() {
        return String::new();
    }
    let mut parts = vec![means(found).render(0)];
    for (title, metric) in [("AUROC", "auroc"), ("FPR95", "fpr95")] {
        parts.push(format!("{title}\n{}", by_set(found, metric).render(0)));
    }
    parts.extend(accuracies(found).map(|a| format!("accuracy of the model\n{}", a.render(0))));
    parts.push(
        "FPR95, ID positive: the share of shifted samples accepted where 95 % of clean ones are\n"
            .to_owned(),
    );
    parts.join("\n")
}

/// Scores of methods, named.
pub(crate) fn scores(found: &Benchmarked) -> Vec<(String, &Judged, &ScoreReport)> {
    let all = found.methods.iter().flat_map(|judged| {
        judged.found.scores.iter().map(move |score| {
            let name = match score.score.as_str() {
                "score" => judged.method.clone(),
                other => format!("{} ({other})", judged.method),
            };
            (name, judged, score)
        })
    });
    all.collect()
}

/// A line for every method.
pub(crate) fn means(found: &Benchmarked) -> Table {
    let scores = scores(found);
    let groups: Vec<&str> = match scores.first() {
        Some((_, _, first)) => first.groups.iter().map(|g| g.name.as_str()).collect(),
        None => Vec::new(),
    };
    let right: Vec<usize> = (1..groups.len() + 9).collect();
    let mut table = Table::default().right(&right);
    let mut head = vec!["method".to_owned(), "AUROC".to_owned()];
    head.extend(groups.iter().map(|g| format!("in {g}")));
    head.extend(["FPR95", "flagged", "task-awareness", "fit", "per sample"].map(str::to_owned));
    table.row(head);
    for (name, judged, score) in &scores {
        let mut row = vec![name.clone(), decimal(score.all.means.get("auroc").copied())];
        for group in &groups {
            let own = score.groups.iter().find(|g| g.name == *group);
            row.push(decimal(own.and_then(|g| g.means.get("auroc").copied())));
        }
        row.push(decimal(score.all.means.get("fpr95").copied()));
        row.push(decimal(score.id.value("flagged")));
        row.push(decimal(score.all.pooled.get("task-awareness").map(|m| m.value)));
        let is_first = score.score == "score";
        row.extend(
            [seconds(judged.fit_seconds), seconds(judged.seconds_per_sample)]
                .map(|s| if is_first { s } else { String::new() }),
        );
        table.row(row);
    }
    table
}

/// Sets by methods.
pub(crate) fn by_set(found: &Benchmarked, metric: &str) -> Table {
    let scores = scores(found);
    let right: Vec<usize> = (1..=scores.len()).collect();
    let mut table = Table::default().right(&right);
    table.row(std::iter::once("set".to_owned()).chain(scores.iter().map(|s| s.0.clone())));
    let Some((_, _, first)) = scores.first() else { return table };
    for (i, set) in first.sets.iter().enumerate() {
        let cells =
            scores.iter().map(|(_, _, s)| decimal(s.sets.get(i).and_then(|s| s.value(metric))));
        table.row(std::iter::once(set.name.clone()).chain(cells));
    }
    for (i, group) in first.groups.iter().enumerate().filter(|(_, g)| g.sets > 1) {
        let cells = scores
            .iter()
            .map(|(_, _, s)| decimal(s.groups.get(i).and_then(|g| g.means.get(metric).copied())));
        let name = format!("mean of {} ({})", group.name, count(group.sets, "set"));
        table.row(std::iter::once(name).chain(cells));
    }
    let cells = scores.iter().map(|(_, _, s)| decimal(s.all.means.get(metric).copied()));
    table.row(std::iter::once("mean of all".to_owned()).chain(cells));
    table
}

/// What the shifts cost the model, where labels are known.
pub(crate) fn accuracies(found: &Benchmarked) -> Option<Table> {
    let score = found.methods.first()?.found.scores.first()?;
    let clean = score.id.value("accuracy")?;
    let mut table = Table::default().right(&[1, 2]);
    table.row(["set", "accuracy", "lost"]);
    table.row(["clean", &decimal(Some(clean)), ""]);
    for set in &score.sets {
        if let Some(accuracy) = set.value("accuracy") {
            table.row([set.name.clone(), decimal(Some(accuracy)), decimal(Some(clean - accuracy))]);
        }
    }
    Some(table)
}

fn decimal(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |v| format!("{v:.3}"))
}

/// A time in the unit that suits it.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.1} s"),
        s if s >= 1e-3 => format!("{:.1} ms", 1e3 * s),
        s => format!("{:.0} µs", 1e6 * s),
    }
}
