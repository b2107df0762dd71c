//! The table of every metric, a row for each score and set.

use std::path::Path;

use anyhow::{Result, bail};
use taste_data::{Column, Kind, TableWriter, Value};
use taste_zoo::{
    METRICS,
    evaluation::SetReport,
    metrics::{Measure, Metric},
};

use super::Report;

pub(super) fn write(path: &Path, report: &Report<'_>) -> Result<()> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy")) {
        bail!("-o {}: the table has names in it: .csv, .jsonl or .parquet", path.display());
    }
    let mut writer = TableWriter::create(path, &columns("detector"))?;
    for judged in &report.detectors {
        let detector = judged.detector.display().to_string();
        for score in &judged.found.scores {
            for set in std::iter::once(&score.id).chain(&score.sets) {
                writer.write(&row(&detector, &score.score, set))?;
            }
        }
    }
    Ok(writer.finish()?)
}

/// The columns; the first says whose scores they are.
pub(crate) fn columns(whose: &str) -> Vec<Column> {
    let mut columns: Vec<Column> =
        [whose, "score", "set", "group"].map(|name| Column::new(name, Kind::Text)).to_vec();
    columns.extend(["samples", "not_finite", "labelled"].map(|name| Column::new(name, Kind::Int)));
    columns.push(Column::new("mean_absolute_error", Kind::Float));
    for metric in in_sets() {
        let name = metric.replace('-', "_");
        columns.push(Column::new(&name, Kind::Float));
        columns.push(Column::new(format!("{name}_low"), Kind::Float));
        columns.push(Column::new(format!("{name}_high"), Kind::Float));
    }
    columns
}

/// The metrics that a set can have.
fn in_sets() -> impl Iterator<Item = &'static str> {
    let of_sets = |m: &&Metric| !matches!(m.measure, Measure::Correlation | Measure::Pixels(_));
    METRICS.iter().filter(of_sets).map(|metric| metric.choice.name)
}

/// A set's row for [`columns`].
pub(crate) fn row<'a>(detector: &'a str, score: &'a str, set: &'a SetReport) -> Vec<Value<'a>> {
    let int = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let number = |v: Option<f64>| v.map_or(Value::Missing, Value::Double);
    let mut row = vec![Value::Text(detector), Value::Text(score), Value::Text(&set.name)];
    row.push(set.group.as_deref().map_or(Value::Missing, Value::Text));
    row.extend([int(set.samples), int(set.not_finite), int(set.labelled)]);
    row.push(number(set.mean_absolute_error));
    for metric in in_sets() {
        let found = set.metrics.get(metric);
        row.push(number(found.map(|m| m.value)));
        row.push(number(found.and_then(|m| m.low)));
        row.push(number(found.and_then(|m| m.high)));
    }
    row
}
