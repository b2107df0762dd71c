//! A look at some samples and outputs: what outputs hold, and what is typical where entries may be missing.

use taste_engine::{Draft, Glimpse};

use super::fitting::LOOKED;
use crate::{
    Error,
    passes::{Gather, Gathered, Watch},
};

const ENTRIES: &str = "entries";
const SUMS: &str = "sums";
const SAMPLES: &str = "samples";

/// What is gathered of the output and, where entries of samples may be missing to the model, of the samples.
pub(super) fn watches(draft: &mut Draft, seed: u64) -> Result<Vec<Watch>, Error> {
    let output = draft.output();
    let sums = draft.build().sum(output, &[1])?;
    let mut watches =
        vec![Watch::value(ENTRIES, output, Gather::Range), Watch::value(SUMS, sums, Gather::Range)];
    if draft.wants_fill() {
        let gather = Gather::Rows { most: LOOKED, seed, whole: true };
        watches.push(Watch::sample(SAMPLES, gather));
    }
    Ok(watches)
}

/// The median of every entry over the samples that have it; zero where none has.
pub(super) fn typical(seen: &Gathered) -> Result<Vec<f64>, Error> {
    let columns = seen.rows(SAMPLES)?.values.columns();
    let median = |column: ndarray::ArrayView1<'_, f32>| {
        let mut own: Vec<f64> =
            column.iter().filter(|v| v.is_finite()).map(|v| f64::from(*v)).collect();
        own.sort_by(f64::total_cmp);
        own.get(own.len() / 2).copied().unwrap_or(0.0)
    };
    Ok(columns.into_iter().map(median).collect())
}

/// What it was; nothing if no sample was fit to be looked at.
pub(super) fn glimpse(seen: &Gathered) -> Option<Glimpse> {
    let over = |name: &str| {
        let columns = seen.range(name).ok()?.iter();
        columns
            // Of no sample, the smallest is infinite.
            .filter(|(low, high)| low <= high)
            .map(|(low, high)| (f64::from(*low), f64::from(*high)))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    Some(Glimpse { entries: over(ENTRIES)?, sums: over(SUMS)? })
}
