//! The columns of a table, one by one, against those of the calibration data.

use ndarray::ArrayView1;
use serde::Serialize;
use taste_stats::{binomial, kolmogorov, multiple::holm};

use crate::{Detector, Margins};

/// A column, and how far its values moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MovedColumn {
    /// Its name.
    pub name: String,
    /// The distance of Kolmogorov and Smirnov between batch and calibration data, from 0 to 1. Missing values count as
    /// larger than all numbers, so that it is never less than what their share changed by.
    pub distance: f64,
    /// The share of the batch that lacks the column.
    pub missing: f64,
    /// The share of the calibration data that lacks it.
    pub usual_missing: f64,
    /// The p-value of that distance.
    pub p_value: f64,
    /// The same, adjusted for the number of columns (Holm).
    pub adjusted_p_value: f64,
}

/// A column in which one value is far more common than in the calibration data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StuckColumn {
    /// Its name.
    pub name: String,
    /// The value; NaN for missing ones.
    pub value: f32,
    /// Its share of the batch.
    pub share: f64,
    /// Its share of the calibration data.
    pub usual_share: f64,
}

/// Columns that are told of, those first that moved most.
const TOLD: usize = 20;
/// The fewest samples in which a value can be told to be stuck.
const LEAST_FOR_STUCK: usize = 5;
/// By how much the share of a value must have grown, and how rare chance must make that.
const GROWN: f64 = 0.25;
const RARE: f64 = 0.001;

/// Compares the columns of some rows of the batch.
pub(super) fn compare(
    detector: &Detector,
    margins: &Margins,
    rows: &[&[f32]],
) -> (Vec<MovedColumn>, Vec<StuckColumn>) {
    let names = detector.manifest().data.columns.as_ref();
    let name = |i: usize| {
        let named = names.and_then(|names| names.get(i).cloned());
        named.unwrap_or_else(|| format!("entry {i}"))
    };
    let (mut moved, mut stuck) = (Vec::new(), Vec::new());
    for (i, usual) in margins.sorted.outer_iter().enumerate() {
        let values: Vec<f32> = rows.iter().filter_map(|row| row.get(i).copied()).collect();
        let found = kolmogorov::two_sample(&ascending(usual.iter()), &ascending(values.iter()));
        let Some(found) = found else { continue };
        moved.push(MovedColumn {
            name: name(i),
            distance: found.distance,
            missing: missing(values.iter()),
            usual_missing: missing(usual.iter()),
            p_value: found.p_value,
            adjusted_p_value: 1.0,
        });
        stuck.extend(
            commonest(&values, &usual)
                .map(|(column, p)| (StuckColumn { name: name(i), ..column }, p)),
        );
    }
    let adjusted = holm(&moved.iter().map(|c| c.p_value).collect::<Vec<_>>());
    for (column, p) in moved.iter_mut().zip(adjusted) {
        column.adjusted_p_value = p;
    }
    moved.sort_by(|a, b| b.distance.total_cmp(&a.distance));
    moved.truncate(TOLD);
    let rare = RARE / margins.sorted.nrows().max(1) as f64;
    (moved, stuck.into_iter().filter(|(_, p)| *p <= rare).map(|(column, _)| column).collect())
}

fn missing<'a>(values: impl ExactSizeIterator<Item = &'a f32>) -> f64 {
    let count = values.len().max(1) as f64;
    values.filter(|v| v.is_nan()).count() as f64 / count
}

/// In order, with missing values at the end.
fn ascending<'a>(values: impl Iterator<Item = &'a f32>) -> Vec<f64> {
    let far = |v: &f32| if v.is_nan() { f64::INFINITY } else { f64::from(*v) };
    let mut values: Vec<f64> = values.map(far).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The value that most samples of a batch have, and how rare that is, if it is much more common than in the calibration
/// data, where the column varies.
fn commonest(values: &[f32], usual: &ArrayView1<'_, f32>) -> Option<(StuckColumn, f64)> {
    if values.len() < LEAST_FOR_STUCK {
        return None;
    }
    // −0 plus 0 is 0.
    let same =
        |a: f32, b: f32| (a + 0.0).to_bits() == (b + 0.0).to_bits() || (a.is_nan() && b.is_nan());
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let longest = sorted.chunk_by(|a, b| same(*a, *b)).max_by_key(|run| run.len())?;
    let value = longest[0];
    let (n, known) = (usual.len(), usual.iter().filter(|&&v| same(v, value)).count());
    let share = longest.len() as f64 / values.len() as f64;
    let usual_share = known as f64 / n as f64;
    if known == n || share < usual_share + GROWN {
        return None;
    }
    // With the largest share that the calibration data leave open.
    let open = binomial::clopper_pearson(known as u64, n as u64, 0.98).ok()?.high;
    let below = binomial::cdf(longest.len() as u64 - 1, values.len() as u64, open);
    let column = StuckColumn { name: String::new(), value, share, usual_share };
    Some((column, (1.0 - below).max(0.0)))
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;

    #[test]
    fn a_value_is_stuck_where_it_was_rare() {
        let usual: Array1<f32> = (0..200).map(|i| (i / 20) as f32).collect();
        let found = commonest(&[3.0; 30], &usual.view()).expect("stuck");
        assert!(found.1 < 1e-9 && (found.0.usual_share - 0.1).abs() < 1e-12, "{found:?}");
        assert!((found.0.share - 1.0).abs() < 1e-12);
        let missing = commonest(&[f32::NAN; 30], &usual.view()).expect("stuck");
        assert!(missing.0.value.is_nan() && missing.0.usual_share == 0.0);
        let spread: Vec<f32> = (0..30).map(|i| (i % 10) as f32).collect();
        assert!(commonest(&spread, &usual.view()).is_none());
        assert!(commonest(&[3.0; 4], &usual.view()).is_none());
        let constant = Array1::from_elem(200, 3.0);
        assert!(commonest(&[3.0; 30], &constant.view()).is_none());
        assert!(commonest(&[4.0; 30], &constant.view()).is_some());
        // Few samples with a value that is not rare are no surprise.
        let often: Array1<f32> = (0..200).map(|i| f32::from(i % 2 == 0)).collect();
        assert!(commonest(&[1.0; 5], &often.view()).is_some_and(|(_, p)| p > 0.01));
    }
}
