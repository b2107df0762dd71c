//! What goes wrong with the columns of tables.

use super::{Act, Columns, Corruption, RowChange, Suite, TableAct};

macro_rules! table_corruption {
    ($name:literal, $usage:literal, $about:literal, $start:expr) => {
        Corruption {
            choice: taste_choice::Choice { name: $name, usage: $usage, about: $about },
            suite: Suite::Tables,
            act: Act::Table(TableAct { start: $start }),
        }
    };
}

pub(super) const NOISE: Corruption = table_corruption!(
    "table-noise",
    "table-noise[:SEVERITY][,column=NAME]",
    "for tables: normal noise of 0.1 to 1 standard deviations of its column on every cell",
    noise
);

pub(super) const MISSING: Corruption = table_corruption!(
    "missing-values",
    "missing-values[:SEVERITY][,column=NAME]",
    "for tables: 2 to 40 % of the cells are empty",
    missing
);

pub(super) const UNITS: Corruption = table_corruption!(
    "unit-change",
    "unit-change[:SEVERITY][,column=NAME]",
    "for tables: a column in another unit, 1.1 to 1000 times as large; the one with the largest spread if none is named",
    units
);

pub(super) const SWAPPED: Corruption = table_corruption!(
    "swapped-columns",
    "swapped-columns[:SEVERITY][,column=NAME,with=NAME]",
    "for tables: one to five pairs of columns that changed places, as the seed draws them, or the two that are named",
    swapped
);

pub(super) const DRIFT: Corruption = table_corruption!(
    "category-drift",
    "category-drift[:SEVERITY][,column=NAME]",
    "for tables: 10 to 80 % of the cells of columns with few whole numbers become the rarest of them",
    drift
);

#[expect(clippy::unnecessary_wraps, reason = "others may refuse")]
fn noise(columns: &Columns, level: usize) -> Result<RowChange, String> {
    let scale = [0.1, 0.2, 0.4, 0.7, 1.0][level];
    let deviations: Vec<(usize, f64)> =
        columns.chosen().map(|c| (c, scale * columns.deviation(c))).collect();
    Ok(Box::new(move |row, random| {
        for &(column, deviation) in &deviations {
            #[expect(clippy::cast_possible_truncation, reason = "cells have single precision")]
            let noise = (deviation * random.normal()) as f32;
            row[column] += noise;
        }
    }))
}

#[expect(clippy::unnecessary_wraps, reason = "others may refuse")]
fn missing(columns: &Columns, level: usize) -> Result<RowChange, String> {
    let share = [0.02, 0.05, 0.1, 0.2, 0.4][level];
    let chosen: Vec<usize> = columns.chosen().collect();
    Ok(Box::new(move |row, random| {
        for &column in &chosen {
            if random.uniform() < share {
                row[column] = f32::NAN;
            }
        }
    }))
}

fn units(columns: &Columns, level: usize) -> Result<RowChange, String> {
    let factor: f32 = [1.1, 2.54, 10.0, 100.0, 1000.0][level];
    let widest = |a: &usize, b: &usize| columns.deviation(*a).total_cmp(&columns.deviation(*b));
    let column = columns.chosen().max_by(widest).ok_or("there are no columns")?;
    Ok(Box::new(move |row, _| row[column] *= factor))
}

fn swapped(columns: &Columns, level: usize) -> Result<RowChange, String> {
    let count = columns.count();
    if count < 2 {
        return Err(format!("{count} column can't change places: there must be two"));
    }
    let order = columns.random().shuffled(count);
    let drawn = order.chunks_exact(2).take(level + 1).map(|pair| (pair[0], pair[1]));
    let pairs: Vec<(usize, usize)> = match columns.named_pair()? {
        Some(pair) => vec![pair],
        None => drawn.collect(),
    };
    Ok(Box::new(move |row, _| {
        for &(a, b) in &pairs {
            row.swap(a, b);
        }
    }))
}

fn drift(columns: &Columns, level: usize) -> Result<RowChange, String> {
    let share = [0.1, 0.2, 0.3, 0.5, 0.8][level];
    let rarest: Vec<(usize, f32)> =
        columns.chosen().filter_map(|c| Some((c, columns.rarest_category(c)?))).collect();
    if rarest.is_empty() {
        return Err(format!(
            "no column has categories: 2 to {} different whole numbers",
            Columns::MOST_CATEGORIES
        ));
    }
    Ok(Box::new(move |row, random| {
        for &(column, value) in &rarest {
            if random.uniform() < share {
                row[column] = value;
            }
        }
    }))
}
