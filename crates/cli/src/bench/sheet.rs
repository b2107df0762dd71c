//! The table of every metric, a row for each method and set.

use std::path::Path;

use anyhow::Result;
use taste_data::{Column, Kind, TableWriter, Value};
use taste_zoo::benchmark::Benchmarked;

use crate::evaluate::sheet::{columns, row};

pub(super) fn write(path: &Path, found: &Benchmarked) -> Result<()> {
    let mut all = columns("method");
    all.extend(["fit_seconds", "seconds_per_sample"].map(|name| Column::new(name, Kind::Float)));
    let mut writer = TableWriter::create(path, &all)?;
    for judged in &found.methods {
        for score in &judged.found.scores {
            for set in std::iter::once(&score.id).chain(&score.sets) {
                let mut cells = row(&judged.method, &score.score, set);
                cells.extend([judged.fit_seconds, judged.seconds_per_sample].map(Value::Double));
                writer.write(&cells)?;
            }
        }
    }
    Ok(writer.finish()?)
}
