//! A look at some outputs, to see what they hold.

use taste_engine::{Draft, Glimpse};

use crate::{
    Error,
    passes::{Gather, Gathered, Watch},
};

const ENTRIES: &str = "entries";
const SUMS: &str = "sums";

/// What is gathered of the output.
pub(super) fn watches(draft: &mut Draft) -> Result<Vec<Watch>, Error> {
    let output = draft.output();
    let sums = draft.build().sum(output, &[1])?;
    Ok(vec![Watch::value(ENTRIES, output, Gather::Range), Watch::value(SUMS, sums, Gather::Range)])
}

/// What it was; nothing if no sample was fit to be looked at.
pub(super) fn glimpse(seen: &Gathered) -> Option<Glimpse> {
    let over = |name: &str| {
        let columns = seen.range(name).ok()?.iter();
        columns
            .map(|(low, high)| (f64::from(*low), f64::from(*high)))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    Some(Glimpse { entries: over(ENTRIES)?, sums: over(SUMS)? })
}
