//! The tables on the terminal.

use std::path::Path;

use super::{
    commands,
    glyphs::Found,
    judge::{Answer, Harm, Tally, reason},
    plane::{LENGTH, Plane},
};
use crate::table::Table;

pub(super) fn render(plane: &Plane, found: &Found, folder: &Path) -> String {
    let report = folder.join("report.html");
    let next: Vec<String> = commands::next(folder)
        .iter()
        .map(|command| format!("  # {}\n  {}\n", command.purpose, command.line))
        .collect();
    format!(
        "The plane: 2-D normal data, a network that learnt x2 - x1, data moved by {LENGTH} in 36 directions\n\n{}\n\
         Glyphs: a classifier of six drawn shapes, and what happens to its images (accuracy needs labels, the rest does not)\n\n\
         {}\nThe main reasons\n\n{}\n\
         {}.\n\n\
         The whole story with figures: {}\n\n\
         Go on with\n\n{}",
        moved(plane).render(2),
        shifts(found).render(2),
        reasons(found).render(2),
        Tally::of(found).headline(),
        report.display(),
        next.join("\n")
    )
}

fn moved(plane: &Plane) -> Table {
    let mut table = Table::default().right(&[1, 2, 3, 4, 5]);
    table.row(["", "error", "Stein signal", "95 % interval", "log-likelihood", "flagged"]);
    let quarter = plane.turns.len() / 4;
    let rows = [
        ("not moved", &plane.rest),
        ("along (1, 1), harmless", &plane.turns[0]),
        ("along (-1, 1), harmful", &plane.turns[quarter]),
        ("along (-1, -1), harmless", &plane.turns[2 * quarter]),
        ("along (1, -1), harmful", &plane.turns[3 * quarter]),
    ];
    for (name, moved) in rows {
        let (low, high) = moved.interval;
        table.row([
            name.to_owned(),
            format!("{:.2}", moved.error),
            format!("{:+.2}", moved.signal),
            format!("{low:+.2} to {high:+.2}"),
            format!("{:+.2}", moved.log_likelihood),
            format!("{:.1} %", 100.0 * moved.flagged),
        ]);
    }
    table
}

/// Numbers of every batch, and which of the four it is.
fn shifts(found: &Found) -> Table {
    let mut table = Table::default().right(&[1, 3, 4, 5]);
    table.row(["", "accuracy", "", "estimated", "harm (SD)", "novelty (SD)", "the detector says"]);
    for row in &found.rows {
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
        };
        table.row([
            row.change.name().to_owned(),
            percent(row.accuracy),
            Harm::of(row, found.usual()).words().to_owned(),
            percent(row.estimated()),
            format!("{:+.2}", row.shift().effect),
            format!("{:+.2}", row.novelty.effect),
            Answer::of(row).words().to_owned(),
        ]);
    }
    table
}

/// Why, for batches that are new or harmful.
fn reasons(found: &Found) -> Table {
    let mut table = Table::default();
    for row in &found.rows {
        if let Some(reason) = reason(row, &found.detector) {
            table.row([row.change.name().to_owned(), reason]);
        }
    }
    table
}
